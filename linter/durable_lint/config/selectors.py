"""Turns what people write for rules (`LDC101`, `LDC1`, `ALL`, a rule's name) into prefixes of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX = "LDC"
ALL = "ALL"


class RuleInfo(Protocol):
    """What a front has to know of a rule."""

    @property
    def code(self) -> str:
        """The rule's code, `LDC` and three digits."""

    @property
    def name(self) -> str:
        """The rule's name, words joined by hyphens."""

    @property
    def summary(self) -> str:
        """One line that says what the rule reports."""

    @property
    def default(self) -> bool:
        """Whether the rule runs when nothing is selected."""

    @property
    def fixable(self) -> bool:
        """Whether the rule can offer fixes."""


class UnknownRule(ValueError):
    """A word that names no rule; the message says so and names the nearest one."""


def rules() -> Mapping[str, RuleInfo]:
    """Return what is known of each rule, by code. Cheap: it loads no rule's own code."""
    from durable_lint.rules import RULES

    return RULES


def to_prefix(word: str) -> str:
    """Return the prefix of codes that a selector means, or `ALL`. Raises `UnknownRule`."""
    wanted = word.strip()
    upper = wanted.upper()
    if upper == ALL:
        return ALL
    known = rules()
    if upper.startswith(PREFIX) and any(code.startswith(upper) for code in known):
        return upper
    for code, rule in known.items():
        if rule.name == wanted.lower():
            return code
    raise UnknownRule(
        f"unknown rule `{word}`{did_you_mean(word, [*known, *(rule.name for rule in known.values())])}"
    )


def to_prefixes(words: Iterable[str]) -> tuple[str, ...]:
    """Return the prefixes for several selectors. Raises `UnknownRule`."""
    return tuple(to_prefix(word) for word in words)


def find_rule(word: str) -> RuleInfo:
    """Return the one rule with this code or name. Raises `UnknownRule`."""
    known = rules()
    prefix = to_prefix(word)
    if prefix not in known:
        raise UnknownRule(
            f"`{word}` is not one rule: {', '.join(code for code in known if code.startswith(prefix))}"
        )
    return known[prefix]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` for the nearest known word, or nothing when none is near."""
    import difflib

    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(word.strip().lower(), by_lower, n=1, cutoff=0.6)
    return f"; did you mean `{by_lower[near[0]]}`?" if near else ""


def strength(code: str, prefixes: tuple[str, ...]) -> int:
    """Return how strongly selectors name a rule: the length of the longest prefix, 0 for `ALL`, -1 for not at
    all.
    """
    return max(
        (0 if prefix == ALL else len(prefix) for prefix in prefixes if covers(prefix, code)), default=-1
    )


def covers(wide: str, narrow: str) -> bool:
    """Return whether every rule that the prefix `narrow` means is one of those that `wide` means."""
    return wide == ALL or narrow.startswith(wide) or (narrow == ALL and wide == PREFIX)
