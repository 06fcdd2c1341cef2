"""What LDC201 to LDC204 share: which handlers a suspension reaches, and how it leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from durable_lint.rules.view import suspension_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.facts import model as m
    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Suspension
    from durable_lint.project.unwinding import Effect
    from durable_lint.rules.view import ModuleView


class Caught(NamedTuple):
    """A handler around a durable call that a suspension reaches.

    `lost`: there is a path on which the suspension is not raised again. `effect`: what runs before it is.
    `named`: the control-flow exception of the SDK that it names, or "".
    """

    statement: m.Try
    handler: m.Handler
    frame: Frame
    suspension: Suspension
    lost: bool
    effect: Effect | None
    named: str


def caught(view: ModuleView) -> Iterator[Caught]:
    """Yield each handler that a suspension reaches, or that names the SDK's control flow, once."""
    for statement in view.tries:
        done: set[m.Handler] = set()
        for frame in view.frames(statement) if statement.handlers else ():
            suspension = view.suspension(frame, statement.body)
            if suspension is None:
                continue
            for handler in statement.handlers:
                if handler in done:
                    continue
                found = _judge(view, statement, handler, frame, suspension)
                if found is not None and (found.lost or found.effect is not None or found.named):
                    done.add(handler)
                    yield found


def _judge(
    view: ModuleView, statement: m.Try, handler: m.Handler, frame: Frame, suspension: Suspension
) -> Caught | None:
    unwinding = view.unwinding
    named = unwinding.control_flow_named(frame, handler.type)
    lost = False
    effect = None
    reached = False
    for kind in suspension_kinds():
        if unwinding.handler_of(frame, statement, kind) is not handler:
            continue
        reached = True
        about = view.about_handler(frame, statement, kind, handler.name)
        outcome = unwinding.block(frame, handler.body, about)
        lost = lost or outcome.exits != {"reraise"}
        effect = effect or outcome.effect
    if not reached and not named:
        return None
    return Caught(statement, handler, frame, suspension, lost, effect, named)
