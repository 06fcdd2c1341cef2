"""Executions that are left while they are suspended, to be taken up by another process with another SDK.

    python -m tests.runtime.proof.handover DIRECTORY

writes a JSON file for each place, form and ending: what the service has stored of an execution that the
installed SDK started, and what its user code had noted by then. `test_handover.py` goes on with them.
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from durable_runtime import terminal_scope

from tests.runtime.support.crash import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life

PLACES = ("before", "inside", "compensating", "cleaning", "after")
"""Where the execution is suspended: around the scope, in its body, or in one of its terminal actions."""

ROOT = Path(__file__).parents[3]
FORMS = ("in place", "isolated")
ENDINGS = ("succeeds", "fails")


@dataclass(frozen=True)
class Left:
    """An execution that was left, and the notes of its user code so far."""

    sdk: str
    stored: Mapping[str, Any]
    notes: list[str]


def builder(form: str, ending: str) -> Callable[[Life], Handler]:
    """A handler that waits for a callback at each of the places."""

    def build(life: Life) -> Handler:
        def effect(name: str) -> Callable[[object], str]:
            def run(_context: object) -> str:
                life.note(name)
                return name

            return run

        def waiting(place: str) -> Callable[[DurableContext], None]:
            def action(context: DurableContext) -> None:
                context.step(effect(f"{place}-1"), name=f"{place}-1")
                context.create_callback(name=place).result()
                context.step(effect(f"{place}-2"), name=f"{place}-2")

            return action

        def body(context: DurableContext, terminal: DurableTerminalActions) -> list[str]:
            values = [
                terminal.acquire(effect("acquire"), release=lambda _value, _: life.note("release"), name="it")
            ]
            terminal.compensate(lambda _: life.note("undo"), name="undo")
            terminal.compensate_in_context(waiting("compensating"), name="compensating")
            terminal.cleanup_in_context(waiting("cleaning"), name="cleaning")
            terminal.cleanup(lambda _: life.note("first"), name="first")
            context.create_callback(name="inside").result()
            values.append(context.step(effect("work"), name="work"))
            if ending == "fails":
                raise ValueError("the body failed")
            return values

        def scope(context: DurableContext) -> list[str]:
            if form == "isolated":
                return terminal_scope(context, body, name="scope")
            with terminal_scope(context, name="scope") as terminal:
                return body(context, terminal)

        def handler(_event: Any, context: DurableContext) -> list[str]:
            context.create_callback(name="before").result()
            try:
                values = scope(context)
            except Exception as error:
                values = [
                    type(error).__name__,
                    *(str(each) for each in getattr(error, "terminal_failures", ())),
                ]
            context.create_callback(name="after").result()
            return [*values, context.step(effect("end"), name="end")]

        return handler

    return build


def leave(place: str, form: str, ending: str) -> Left:
    """Start an execution and leave it at a place."""
    places = PLACES[: PLACES.index(place)]
    run = execute(
        builder(form, ending), answers=lambda name: b"1" if name in places else None, leave_at=place
    )
    assert run.stored is not None
    return Left(version("aws-durable-execution-sdk-python"), run.stored, run.notes())


def cases() -> list[tuple[str, str, str]]:
    """Every place, form and ending. A scope that succeeds does not compensate."""
    return [
        (place, form, ending)
        for place in PLACES
        for form in FORMS
        for ending in ENDINGS
        if (place, ending) != ("compensating", "succeeds")
    ]


def file_name(place: str, form: str, ending: str) -> str:
    return f"{place}-{form.replace(' ', '-')}-{ending}.json"


def without_paths(text: str) -> str:
    """Stack traces name files: leave of their paths what does not depend on the machine."""
    return text.replace(f"{ROOT}/", "")


def read(path: Path) -> Left:
    content = json.loads(path.read_text("utf-8"))
    return Left(content["sdk"], content["stored"], content["notes"])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.proof.handover")
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args(arguments).directory
    logging.disable(logging.CRITICAL)
    directory.mkdir(parents=True, exist_ok=True)
    for case in cases():
        left = leave(*case)
        content = {"sdk": left.sdk, "notes": left.notes, "stored": left.stored}
        text = without_paths(json.dumps(content, separators=(",", ":")))
        (directory / file_name(*case)).write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
