"""Each rule's fault, run on the SDK's test runner: what it does to an execution. No rule is an opinion."""

from __future__ import annotations

import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # the names of a handler's module are known at run time only

import pytest

from tests.linter.truth.execution import SUSPENDED, Ending, play

PREAMBLE = """\
import contextlib

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from aws_durable_execution_sdk_python.exceptions import SuspendExecution

from desk import effect

"""


@dataclass(frozen=True)
class Fault:
    """A handler's body with one fault. `effect(text)` is its outside world, and writes the log."""

    code: str
    body: str
    before: str = ""

    @property
    def source(self) -> str:
        handler = "@durable_execution\ndef handler(event, context: DurableContext):\n"
        body = textwrap.indent(textwrap.dedent(self.body), "    ")
        return PREAMBLE + textwrap.dedent(self.before) + "\n\n" + handler + body

    def run(self, monkeypatch: pytest.MonkeyPatch) -> Ending:
        log: list[str] = []
        desk = types.ModuleType("desk")
        desk.__dict__["effect"] = log.append
        monkeypatch.setitem(sys.modules, "desk", desk)
        names: dict[str, Any] = {"__name__": "handler_module"}
        exec(compile(self.source, "<handler>", "exec", dont_inherit=True), names)
        return play(names["handler"], log)


FINALLY_AROUND_STEP = Fault(
    "LDC101",
    """
    context.step(lambda _: effect("launch"), name="launch")
    try:
        context.wait(Duration.from_minutes(5), name="boot")
        context.step(lambda _: effect("use"), name="use")
    finally:
        context.step(lambda _: effect("terminate"), name="terminate")
    """,
)

FINALLY_BEFORE_THE_USE = Fault(
    "LDC101",
    """
    context.step(lambda _: effect("launch"), name="launch")
    try:
        context.wait(Duration.from_minutes(5), name="boot")
        effect("use")
    finally:
        context.step(lambda _: effect("terminate"), name="terminate")
    """,
)

FINALLY_AROUND_CALL = Fault(
    "LDC101",
    """
    try:
        context.wait(Duration.from_minutes(5), name="first")
        context.wait(Duration.from_minutes(5), name="second")
        context.step(lambda _: effect("use"), name="use")
    finally:
        effect("terminate")
    """,
)

WITH = Fault(
    "LDC102",
    """
    with lease():
        context.wait(Duration.from_minutes(5), name="approval")
        context.step(lambda _: effect("write under the lease"), name="write")
    """,
    """
    @contextlib.contextmanager
    def lease():
        effect("acquire")
        try:
            yield
        finally:
            effect("release")
    """,
)

EXIT_STACK = Fault(
    "LDC103",
    """
    with contextlib.ExitStack() as stack:
        for name in ("a", "b"):
            context.step(lambda _, n=name: effect(f"reserve {n}"), name=f"reserve-{name}")
            stack.callback(effect, f"free {name}")
        context.wait(Duration.from_minutes(5), name="assemble")
        context.step(lambda _: effect("ship"), name="ship")
    """,
)

FINALLY_RETURNS = Fault(
    "LDC104",
    """
    try:
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    finally:
        return "charged"
    """,
)

FINALLY_BREAKS = Fault(
    "LDC104",
    """
    for attempt in (1, 2):
        try:
            context.wait(Duration.from_minutes(5), name=f"cool-off-{attempt}")
            context.step(lambda _: effect("charge"), name="charge")
        finally:
            break
    return "charged"
    """,
)

SUPPRESS = Fault(
    "LDC105",
    """
    with contextlib.suppress(BaseException):
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    return "charged"
    """,
)

DEAF_MANAGER = Fault(
    "LDC105",
    """
    with BestEffort():
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    return "charged"
    """,
    """
    class BestEffort:
        def __enter__(self):
            return self

        def __exit__(self, *exc_info):
            return True
    """,
)

CATCHES_BASE_EXCEPTION = Fault(
    "LDC201",
    """
    try:
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    except BaseException as error:
        return f"failed: {type(error).__name__}"
    return "charged"
    """,
)

TURNS_INTO_AN_ERROR = Fault(
    "LDC201",
    """
    try:
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    except BaseException as error:
        raise RuntimeError("cannot charge") from error
    """,
)

BARE_EXCEPT = Fault(
    "LDC202",
    """
    try:
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    except:
        return "failed"
    return "charged"
    """,
)

CATCHES_CONTROL_FLOW = Fault(
    "LDC203",
    """
    try:
        context.wait(Duration.from_minutes(5), name="cool-off")
        context.step(lambda _: effect("charge"), name="charge")
    except SuspendExecution:
        return "later"
    return "charged"
    """,
)

UNDOES_BEFORE_IT_RAISES = Fault(
    "LDC204",
    """
    context.step(lambda _: effect("reserve"), name="reserve")
    try:
        context.wait(Duration.from_minutes(5), name="payment")
        context.step(lambda _: effect("ship the reserved item"), name="ship")
    except BaseException:
        effect("cancel the reservation")
        raise
    """,
)

FAULTS = {name: fault for name, fault in list(globals().items()) if isinstance(fault, Fault)}


def test_a_step_in_finally_cleans_up_before_the_use_and_never_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = FINALLY_BEFORE_THE_USE.run(monkeypatch)
    assert played.log == ["launch", "terminate", SUSPENDED, "use"]
    assert played.status == "SUCCEEDED"


def test_a_step_in_finally_takes_the_place_of_the_next_operation_and_the_replay_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = FINALLY_AROUND_STEP.run(monkeypatch)
    assert played.log[:3] == ["launch", "terminate", SUSPENDED]
    assert "use" not in played.log
    assert played.status == "FAILED"
    assert (played.error or "").endswith(".NonDeterministicExecutionError")


def test_a_call_in_finally_runs_once_for_each_suspension_and_again_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = FINALLY_AROUND_CALL.run(monkeypatch)
    assert played.log == ["terminate", SUSPENDED, "terminate", SUSPENDED, "use", "terminate"]


def test_a_manager_gives_its_lease_back_while_the_execution_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    played = WITH.run(monkeypatch)
    assert played.log[:3] == ["acquire", "release", SUSPENDED]


def test_an_exit_stack_frees_what_the_execution_still_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    played = EXIT_STACK.run(monkeypatch)
    assert played.log == [
        *("reserve a", "reserve b", "free b", "free a", SUSPENDED),
        *("ship", "free b", "free a"),
    ]


@pytest.mark.parametrize(
    "fault", [FINALLY_RETURNS, FINALLY_BREAKS, SUPPRESS, DEAF_MANAGER], ids=lambda f: f.code
)
def test_a_lost_suspension_succeeds_without_its_work_and_with_its_wait_open(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = fault.run(monkeypatch)
    assert (played.status, played.result) == ("SUCCEEDED", "charged")
    assert "charge" not in played.log
    assert played.waits == ["STARTED"]


@pytest.mark.parametrize(
    ("fault", "result"),
    [
        (CATCHES_BASE_EXCEPTION, "failed: TimedSuspendExecution"),
        (BARE_EXCEPT, "failed"),
        (CATCHES_CONTROL_FLOW, "later"),
    ],
    ids=["LDC201", "LDC202", "LDC203"],
)
def test_a_caught_suspension_ends_the_execution_as_if_its_work_had_failed(
    fault: Fault, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = fault.run(monkeypatch)
    assert (played.status, played.result) == ("SUCCEEDED", result)
    assert played.log == []
    assert played.waits == ["STARTED"]


def test_a_suspension_turned_into_an_error_fails_the_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    played = TURNS_INTO_AN_ERROR.run(monkeypatch)
    assert (played.status, played.error) == ("FAILED", "RuntimeError")
    assert played.waits == ["STARTED"]


def test_what_is_undone_before_the_raise_is_undone_at_the_suspension_and_used_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = UNDOES_BEFORE_IT_RAISES.run(monkeypatch)
    assert played.log == ["reserve", "cancel the reservation", SUSPENDED, "ship the reserved item"]
    assert played.status == "SUCCEEDED"


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_the_linter_reports_the_fault_that_was_run(name: str, tmp_path: Path) -> None:
    from durable_lint import lint

    fault = FAULTS[name]
    assert [finding.code for finding in lint(fault.source.encode(), tmp_path / "handler.py")] == [fault.code]
