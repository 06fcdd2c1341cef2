"""What a type checker sees: the body's result comes through, and a wrong body or action is rejected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from mypy import api

if TYPE_CHECKING:
    from pathlib import Path

HEADER = """
from typing import assert_type

from aws_durable_execution_sdk_python import DurableContext, StepContext
from aws_durable_execution_sdk_python.config import ChildConfig, StepConfig
from aws_durable_execution_sdk_python.types import DurableContext as DurableContextProtocol

from durable_runtime import (
    DurableTerminalActions,
    InPlaceScope,
    ScopeEvent,
    ScopeOutcome,
    ScopeStatus,
    TerminalFailure,
    TerminalScopeConfig,
    TerminalScopeError,
    abandoned,
    on_scope_event,
    terminal_scope,
)
from aws_durable_execution_sdk_python.concurrency.models import BatchItem, BatchResult


class Review:
    ok: bool


def review(context: DurableContext, terminal: DurableTerminalActions) -> Review: raise NotImplementedError
def terminate(context: StepContext) -> None: ...
def terminate_slowly(context: DurableContext) -> None: ...
def launch(context: StepContext) -> dict[str, str]: raise NotImplementedError

"""

ACCEPTED = {
    "the isolated body's result": """
def handler(context: DurableContext) -> bool:
    result = terminal_scope(context, review, name="review", config=TerminalScopeConfig())
    assert_type(result, Review)
    return result.ok
""",
    "a generic result": """
def handler(context: DurableContext) -> dict[str, list[int]]:
    return terminal_scope(context, lambda c, t: c.step(lambda _: {"a": [1]}), name="review")
""",
    "a block that returns": """
def handler(context: DurableContext) -> int:
    with terminal_scope(context, name="review") as terminal:
        assert_type(terminal, DurableTerminalActions)
        return 1
""",
    "a block that returns in a branch": """
def handler(context: DurableContext, flag: bool) -> int:
    with terminal_scope(context, name="review"):
        if flag:
            return 1
    return 2
""",
    "a context of with_retry": """
def attempt(context: DurableContextProtocol, number: int) -> Review:
    return terminal_scope(context, review)
""",
    "actions": """
def body(terminal: DurableTerminalActions) -> None:
    terminal.cleanup(terminate)
    terminal.cleanup(lambda step_context: step_context.attempt, name="n", config=StepConfig())
    terminal.compensate(launch, name="n")
    terminal.cleanup_in_context(terminate_slowly, name="n", config=ChildConfig())
    terminal.compensate_in_context(lambda context: context.step(launch), name="n")
""",
    "an acquired value": """
def body(terminal: DurableTerminalActions) -> None:
    vm = terminal.acquire(launch, release=lambda value, _: value["id"], name="vm", config=StepConfig())
    assert_type(vm, dict[str, str])
""",
    "the outcome, errors and events": """
def look(terminal: DurableTerminalActions, error: TerminalScopeError, batch: BatchResult[int]) -> None:
    if terminal.outcome is not None:
        assert_type(terminal.outcome, ScopeOutcome)
        assert_type(terminal.outcome.status, ScopeStatus)
    assert_type(error.terminal_failures, tuple[TerminalFailure, ...])
    assert_type(abandoned(batch), list[BatchItem[int]])
    remove = on_scope_event(lambda event: print(event.kind, event.scope))
    assert_type(remove(), None)
""",
}

REJECTED = {
    "a result of another type": """
def handler(context: DurableContext) -> str:
    return terminal_scope(context, review)  # E: return-value
""",
    "a body that takes no terminal actions": """
def body(context: DurableContext) -> None: ...
def handler(context: DurableContext) -> None:
    terminal_scope(context, body)  # E: arg-type
""",
    "a step action that takes a durable context": """
def body(terminal: DurableTerminalActions) -> None:
    terminal.cleanup(terminate_slowly)  # E: arg-type
    terminal.compensate(terminate_slowly)  # E: arg-type
""",
    "a context action that takes a step context": """
def body(terminal: DurableTerminalActions) -> None:
    terminal.cleanup_in_context(terminate)  # E: arg-type
    terminal.compensate_in_context(terminate)  # E: arg-type
""",
    "an action that takes nothing": """
def nothing() -> None: ...
def body(terminal: DurableTerminalActions) -> None:
    terminal.cleanup(nothing)  # E: arg-type
""",
    "a configuration of the other kind": """
def body(terminal: DurableTerminalActions) -> None:
    terminal.cleanup(terminate, config=ChildConfig())  # E: arg-type
    terminal.cleanup_in_context(terminate_slowly, config=StepConfig())  # E: arg-type
""",
    "a release of another value": """
def release(value: int, context: StepContext) -> None: ...
def body(terminal: DurableTerminalActions) -> None:
    terminal.acquire(launch, release=release)  # E: misc
""",
    "an acquisition without a release": """
def body(terminal: DurableTerminalActions) -> None:
    terminal.acquire(launch)  # E: call-arg
""",
    "a context that is none": """
def handler() -> None:
    terminal_scope("context")  # E: call-overload
""",
    "an instance where an exception class is due": """
TerminalScopeConfig(cancelled_by=(ValueError(),))  # E: arg-type
""",
}


def check(folder: Path, snippets: dict[str, str]) -> dict[str, tuple[set[str], set[str]]]:
    """For each snippet the errors that mypy --strict finds, and those that its comments expect."""
    files = {}
    for number, (title, snippet) in enumerate(snippets.items()):
        file = folder / f"snippet_{number}.py"
        file.write_text(HEADER + snippet, encoding="utf-8")
        files[title] = file
    output, problems, _ = api.run(
        [
            "--strict",
            "--config-file=",
            f"--cache-dir={folder / 'cache'}",
            "--hide-error-context",
            "--no-pretty",
        ]
        + [str(file) for file in files.values()]
    )
    assert not problems
    result = {}
    for title, file in files.items():
        found = re.findall(rf"{file.name}:(\d+): error: .*\[([\w-]+)\]", output)
        lines = file.read_text(encoding="utf-8").splitlines()
        expected = {
            f"{i}: {line.partition('# E: ')[2]}" for i, line in enumerate(lines, 1) if "# E: " in line
        }
        result[title] = ({f"{line}: {code}" for line, code in found}, expected)
    return result


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[set[str], set[str]]]:
    return check(tmp_path_factory.mktemp("typing"), ACCEPTED | REJECTED)


@pytest.mark.parametrize("title", list(ACCEPTED))
def test_it_passes_the_type_checker(checked: dict[str, tuple[set[str], set[str]]], title: str) -> None:
    assert checked[title][0] == set()


@pytest.mark.parametrize("title", list(REJECTED))
def test_it_is_rejected_by_the_type_checker(
    checked: dict[str, tuple[set[str], set[str]]], title: str
) -> None:
    found, expected = checked[title]
    assert expected
    assert found == expected
