"""Turns what was seen into findings that read like the linter's. It knows nothing of how it was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from durable_lint.config.load import absolute
from durable_lint.observed.model import Cause, Kind, Part, Place, Suspension
from durable_lint.rules import RULES
from durable_lint.rules.finding import Finding, Related

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from durable_lint.observed.model import Effect

_SCOPE = "register it in a `terminal_scope`"
_RELEASE = "register the release in a `terminal_scope`"
_HELP = {
    "LDC101": _SCOPE,
    "LDC102": _RELEASE,
    "LDC103": "register it in a `terminal_scope` instead of on the stack",
    "LDC104": "leave the `finally` at its end, so that the suspension goes on",
    "LDC105": "let a `BaseException` that is no `Exception` through: `suppress(Exception)`",
    "LDC201": "catch `Exception`, which lets a suspension through",
    "LDC202": "catch `Exception`, which lets a suspension through",
    "LDC203": "remove the handler: the SDK's control flow is not an error",
    "LDC204": "register it as a compensation in a `terminal_scope`, or catch `Exception`",
}


class Fault(NamedTuple):
    """One rule that one part broke at one suspension."""

    code: str
    place: Place
    part: Part
    suspension: Suspension


def faults(suspension: Suspension, counts: Callable[[Path, str], bool]) -> Iterator[Fault]:
    """Yield what is wrong with one suspension. `counts(path, function)` says what is not ignored.

    A branch that was abandoned has really ended, so its cleanup is none of the rules' business; but it must
    not be kept from ending.
    """
    for part in suspension.parts:
        if not counts(part.place.path, part.place.function):
            continue
        if part.lost_rule and part.lost is not None:
            where = part.lost if part.lost_rule == "LDC104" else part.place
            yield Fault(part.lost_rule, where, part, suspension)
        seen = [effect for effect in part.effects if counts(effect.place.path, effect.place.function)]
        acted = seen or part.rule == "LDC203"
        if part.rule and acted and suspension.cause is Cause.SUSPENSION:
            yield Fault(part.rule, part.place, part, suspension)


def finding(group: list[Fault], counts: Callable[[Path, str], bool]) -> Finding:
    """Return one finding for faults of one rule at one place."""
    code, place, part, suspension = group[0]
    effects = _distinct(
        effect
        for fault in group
        for effect in fault.part.effects
        if counts(effect.place.path, effect.place.function)
    )
    calls = {fault.suspension.call.place: fault.suspension.call for fault in group}
    related = [_related(call.place, _suspended(len(calls)), call.text) for call in list(calls.values())[:3]]
    if code not in {"LDC104", "LDC105", "LDC201", "LDC202"}:
        for effect in effects[:3]:
            if not _within(effect.place, place):
                related.append(_related(effect.place, f"ran `{effect.label}`", effect.label))
    return Finding(
        code=code,
        name=RULES[code].name,
        path=absolute(place.path),
        start=place.start,
        end=place.end,
        message=_message(code, part, suspension, effects, len(calls)),
        help=_help(code, effects),
        related=tuple(related),
        noqa_rows=frozenset((place.row, *part.header)),
    )


def _message(code: str, part: Part, suspension: Suspension, effects: list[Effect], calls: int) -> str:
    ran = _listed(effects)
    at = _at(suspension, part, calls)
    match code:
        case "LDC101" if part.kind is Kind.CLOSING:
            return f"this generator was closed, and ran {ran} while the execution was only suspended {at}"
        case "LDC101" | "LDC103" if part.kind is Kind.FINALLY:
            return f"`finally` ran {ran} while the execution was only suspended {at}"
        case "LDC101" | "LDC102" | "LDC103":
            return f"leaving this `with` ran {ran} while the execution was only suspended {at}"
        case "LDC104":
            return f"leaving the `finally` here discarded the suspension {at}"
        case "LDC105":
            return f"leaving this `with` discarded the suspension {at}"
        case "LDC204":
            return f"the handler ran {ran} while the execution was only suspended {at}"
        case "LDC203":
            return f"the handler handled what the SDK raises to control the execution, {at}"
    if part.kind is Kind.EXCEPT:
        return f"the handler discarded the suspension {at}"
    return f"what is called here discarded the suspension {at}"


def _at(suspension: Suspension, part: Part, calls: int) -> str:
    call = suspension.call
    other = call.place.path != part.place.path
    where = f"{call.place.path.name}:{call.place.row}" if other else f"line {call.place.row}"
    more = f" and {calls - 1} more" if calls > 1 else ""
    return f"at `{call.text}` ({where}){more}"


def _listed(effects: list[Effect]) -> str:
    labels = list(dict.fromkeys(f"`{effect.label}`" for effect in effects))
    if len(labels) > 3:
        labels = [*labels[:2], f"{len(labels) - 2} more"]
    return (
        labels[0]
        if len(labels) == 1
        else f"{', '.join(labels[:-1])} and {labels[-1]}"
        if labels
        else "nothing"
    )


def _help(code: str, effects: list[Effect]) -> str:
    if code in {"LDC101", "LDC102", "LDC103", "LDC204"} and any(effect.unseen for effect in effects):
        return f"{_HELP[code]}, or name it in `process-local` if it belongs to this process"
    return _HELP[code]


def _distinct(effects: Iterable[Effect]) -> list[Effect]:
    return list({(effect.place, effect.label): effect for effect in effects}.values())


def _suspended(count: int) -> str:
    return "suspended here" if count == 1 else "suspended here, among others"


def _within(inner: Place, outer: Place) -> bool:
    return inner.path == outer.path and outer.start <= inner.start and inner.end <= outer.end


def _related(place: Place, message: str, call: str) -> Related:
    return Related(absolute(place.path), place.start, place.end, message, call)
