"""Rewrites unsafe cleanup into terminal scopes (see docs/fixes.md), or says in one clause why it does not.

A fix is worked out on the text as it is now, for one finding; who applies it lints the result again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from durable_lint.config.settings import Settings
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


def propose(
    view: ModuleView, findings: list[Finding], settings: Settings, tree: ast.Module | None = None
) -> list[Finding]:
    """Return the findings of a module, each with a fix or the reason why there is none.

    `tree` is the module's tree where one is at hand.
    """
    from durable_lint.fixes.dispatch import Proposer
    from durable_lint.fixes.tree import Refused

    proposer = Proposer(view, settings, tree)
    proposed: list[Finding] = []
    for finding in findings:
        if finding.fix is not None or finding.no_fix:
            proposed.append(finding)
            continue
        try:
            fix = proposer.fix(finding)
        except Refused as refused:
            proposed.append(replace(finding, no_fix=str(refused)))
        except RecursionError:
            proposed.append(replace(finding, no_fix="the code is nested too deeply"))
        except Exception as error:  # a fault of a rewrite must not take the finding with it
            reason = f"working it out failed ({type(error).__name__}); please report this"
            proposed.append(replace(finding, no_fix=reason))
        else:
            proposed.append(finding if fix is None else replace(finding, fix=fix))
    return proposed
