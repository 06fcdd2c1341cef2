"""The rules: what there is (`RULES`), and `check`, which applies them to one module.

Importing this package is cheap: facts, project and the rules' own modules are imported only when something
is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as people know it. `module` is where its `check` is; "" for the ones that need no facts.

    `default` tells whether it runs when nothing is selected, `fixable` whether it can ever offer a fix.
    """

    code: str
    name: str
    summary: str
    module: str = ""
    default: bool = True
    fixable: bool = False

    def check(self, view: ModuleView) -> Iterator[Finding]:
        """Yield the findings of this rule in one module, in no particular order, suppressed ones included."""
        if self.module:
            check: Callable[[ModuleView], Iterator[Finding]] = import_module(
                f"durable_lint.rules.{self.module}"
            ).check
            yield from check(view)


RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        Rule(
            "LDC101",
            "finally-around-suspension",
            "A `finally` with an effect runs at every suspension, in the middle of the work",
            "ldc101",
            fixable=True,
        ),
        Rule(
            "LDC102",
            "with-around-suspension",
            "A manager's exit with an effect runs at every suspension, in the middle of the work",
            "ldc102",
            fixable=True,
        ),
        Rule(
            "LDC103",
            "exit-stack-around-suspension",
            "What is registered on an `ExitStack` runs at every suspension, in the middle of the work",
            "ldc103",
            fixable=True,
        ),
        Rule(
            "LDC104",
            "finally-discards-suspension",
            "A `finally` that returns, breaks, continues or raises discards a suspension",
            "ldc104",
            fixable=True,
        ),
        Rule(
            "LDC105",
            "manager-discards-suspension",
            "A manager that swallows every `BaseException` discards a suspension",
            "ldc105",
            fixable=True,
        ),
        Rule(
            "LDC201",
            "catches-base-exception",
            "`except BaseException` swallows a suspension or turns it into an error",
            "ldc201",
            fixable=True,
        ),
        Rule(
            "LDC202",
            "bare-except",
            "A bare `except` swallows a suspension or turns it into an error",
            "ldc202",
            fixable=True,
        ),
        Rule(
            "LDC203",
            "catches-sdk-control-flow",
            "An `except` names an exception by which the SDK controls the execution, and does more than raise it",
            "ldc203",
            fixable=True,
        ),
        Rule(
            "LDC204",
            "cleanup-on-base-exception",
            "A handler for every `BaseException` has an effect before it lets a suspension through",
            "ldc204",
            fixable=True,
        ),
        Rule(
            "LDC205",
            "repeated-terminal-cleanup",
            "The same cleanup is written after the success path and in `except Exception`",
            "ldc205",
            default=False,
            fixable=True,
        ),
        Rule(
            "LDC301",
            "plugin-attach-without-release",
            "A plugin attaches something when a user function starts, and no hook releases it",
            "ldc301",
            fixable=True,
        ),
        Rule(
            "LDC302",
            "plugin-release-misses-suspension",
            "A plugin releases only in a hook that the SDK in use does not call for a suspension",
            "ldc302",
            fixable=True,
        ),
        Rule(
            "LDC303",
            "plugin-release-skips-incomplete",
            "A plugin's end hook can leave before it releases, when the user function is incomplete",
            "ldc303",
            fixable=True,
        ),
        Rule(
            "LDC304",
            "plugin-release-on-other-thread",
            "A plugin releases thread-bound state in a hook that can run on another thread",
            "ldc304",
            fixable=True,
        ),
        Rule(
            "LDC305",
            "plugin-incomplete-as-success",
            "A plugin ends a span or counts a success for a function that is incomplete",
            "ldc305",
        ),
        Rule(
            "LDC401",
            "scope-uses-outer-context",
            "The body of an operation makes durable calls on a context of a function around it",
            "ldc401",
            fixable=True,
        ),
        Rule(
            "LDC402",
            "terminal-action-uses-context",
            "A terminal action that runs as a step makes a durable call",
            "ldc402",
            fixable=True,
        ),
        Rule(
            "LDC403",
            "terminal-action-captures-loop-variable",
            "A terminal action closes over a name that the loop around its registration rebinds",
            "ldc403",
            fixable=True,
        ),
        Rule(
            "LDC404",
            "registration-after-suspension",
            "A durable call stands between acquiring a resource and registering its cleanup",
            "ldc404",
            fixable=True,
        ),
        Rule(
            "LDC405",
            "scope-can-be-abandoned",
            "A terminal scope stands in a branch that an early completion can abandon",
            "ldc405",
        ),
        Rule(
            "LDC406",
            "registration-inside-operation",
            "A terminal action is registered inside an operation, where replay would lose it",
            "ldc406",
        ),
        Rule(
            "LDC407",
            "scope-not-entered",
            "A terminal scope without a body is not entered by `with` at once",
            "ldc407",
        ),
        Rule("LDC900", "syntax-error", "The file cannot be parsed"),
        Rule(
            "LDC901",
            "unused-suppression",
            "A suppression comment suppresses nothing",
            default=False,
            fixable=True,
        ),
    )
}


def check(view: ModuleView, codes: Iterable[str]) -> list[Finding]:
    """Return the findings of the rules `codes` in one module, suppressed ones included, in order of place."""
    found = [finding for code in codes for finding in RULES[code].check(view)]
    return sorted(found, key=lambda finding: finding.sort_key)
