"""Runs the programs of docs/rfc/terminal-scope.cases.json on `durable_runtime`, in either form."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any  # programs are JSON

from aws_durable_execution_sdk_python import (
    DurableContext,
    InvocationError,
    WithRetryConfig,
    durable_execution,
    with_retry,
)
from aws_durable_execution_sdk_python.config import Duration, StepConfig
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python.waits import WaitForConditionConfig, WaitForConditionDecision
from durable_runtime import DurableTerminalActions, ScopeCancelled, TerminalScopeConfig, terminal_scope
from stage import LOST, SUSPENDED, Played, Rejection, play

CASES = Path(__file__).parents[2] / "docs" / "rfc" / "terminal-scope.cases.json"
FORMS = ("in place", "isolated")
SCOPE = "S"
SECOND = Duration.from_seconds(1)
Program = list[list[Any]]


class Oops(Exception):
    """What a program raises."""


@dataclass
class Run:
    """One execution of a program: what the outside world saw, and the error that left the handler."""

    form: str
    config: TerminalScopeConfig
    effects: list[str] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    error: BaseException | None = None
    attempt: int = 0

    def first(self, key: str, times: int = 1) -> bool:
        """Whether the program comes by here for the first time (or one of the first `times`)."""
        self.passed[key] += 1
        return self.passed[key] <= times


def cases() -> list[dict[str, Any]]:
    """The conformance cases, as the file has them."""
    loaded: list[dict[str, Any]] = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return loaded


def perform(case: dict[str, Any], form: str) -> tuple[Run, Played]:
    """Run a case in a form until its execution is complete."""
    run = Run(form, TerminalScopeConfig(**case.get("config", {})))

    @durable_execution
    def handler(_event: object, context: DurableContext) -> None:
        try:
            _scope(run, context, SCOPE, case["program"], "", run.config)
        except Exception as error:
            run.error = error
            raise

    answers = {
        name: Rejection(answer["error"]) if isinstance(answer, dict) else answer
        for name, answer in case.get("answers", {}).items()
    }
    lose = dict(case.get("lose", {}))

    def fault(updates: Any) -> str | None:
        hit = any(u.name == lose.get("operation") and u.action.value == lose.get("action") for u in updates)
        if not hit:
            return None
        lost: str = lose.pop("lost")
        lose.clear()
        return lost

    invoked = [rest[0] for verb, *rest in case["program"] if verb == "invoke"]
    functions = {name: lambda _event, _context: "done" for name in invoked}
    return run, play(handler, {}, log=run.effects, answers=answers, functions=functions, fault=fault)


def effects(run: Run) -> list[str]:
    """The effects in the notation of the cases."""
    return [{SUSPENDED: "‖", LOST: "⚡"}.get(effect, effect) for effect in run.effects]


def history(played: Played) -> list[str]:
    """The history in the notation of the cases: no CONTEXT of a scope, no branch of a map."""
    marks = {"SUCCEEDED": "✓", "FAILED": "✗"}
    scopes = {SCOPE, "inner", "T"}
    return [
        f"{operation.path[-1]} {marks.get(operation.status, '…')}"
        for operation in played.operations
        if not (
            operation.type == "CONTEXT"
            and (operation.path[-1] in scopes or operation.path[-1].startswith("map-item"))
        )
    ]


def _scope(
    run: Run,
    context: DurableContext,
    name: str,
    program: Program,
    item: str,
    config: TerminalScopeConfig | None = None,
) -> None:
    if run.form == "isolated":

        def body(scope_context: DurableContext, terminal: DurableTerminalActions) -> None:
            _statements(run, scope_context, terminal, program, item)

        terminal_scope(context, body, name=name, config=config)
    else:
        with terminal_scope(context, name=name, config=config) as terminal:
            _statements(run, context, terminal, program, item)


def _statements(
    run: Run, context: DurableContext, terminal: DurableTerminalActions, program: Program, item: str
) -> None:
    for verb, *rest in program:
        name = rest[0] if rest and isinstance(rest[0], str) else ""
        options = rest[-1] if rest and isinstance(rest[-1], dict) else {}
        if verb in ("step", "cleanup", "compensate", "cleanup_once"):
            if verb == "cleanup_once" and not run.first(verb):
                continue
            _durable(run, context, terminal, verb.removesuffix("_once"), name, options, item)
        elif verb == "wait":
            context.wait(SECOND, name=name)
        elif verb == "callback":
            context.create_callback(name=name).result()
        elif verb == "invoke":
            context.invoke(name, {}, name=name)
        elif verb == "poll":
            _poll(run, context, name)
        elif verb == "child":

            def part(child: DurableContext, p: Program = rest[1]) -> None:
                _statements(run, child, terminal, p, item)

            context.run_in_child_context(part, name=name)
        elif verb == "map":

            def branch(child: DurableContext, item: str, *_: object, p: Program = rest[2]) -> None:
                _statements(run, child, terminal, p, item)

            context.map(rest[1], branch, name=name)
        elif verb == "retried":
            # Any: the SDK types this context as its protocol, and is given the class
            def attempted(child: Any, attempt: int, p: Program = rest[1]) -> None:
                run.attempt = attempt
                _statements(run, child, terminal, p, item)

            strategy = WithRetryConfig[None](retry_strategy=lambda *_: RetryDecision(True, SECOND))
            with_retry(context, attempted, strategy, name=name)
        elif verb == "fail_attempts" and run.attempt <= rest[0]:
            raise Oops(f"attempt {run.attempt}")
        elif verb == "scope":
            _scope(run, context, name, rest[1], item)
        elif verb == "swallow":
            with contextlib.suppress(BaseException):
                _statements(run, context, terminal, rest[0], item)
        elif (
            verb == "raise"
            or (verb == "raise_once" and run.first(verb))
            or (verb == "raise_later" and not run.first(verb))
        ):
            raise Oops(name)
        elif verb == "cancel":
            raise ScopeCancelled("stopped")
        elif verb == "exit" and run.first(verb, rest[0]):
            raise SystemExit
        elif verb == "retryable" and run.first(verb, rest[0]):
            raise InvocationError("try again")


def _durable(
    run: Run,
    context: DurableContext,
    terminal: DurableTerminalActions,
    verb: str,
    name: str,
    options: dict[str, Any],
    item: str,
) -> None:
    failures = options.get("fails", 0)

    def work(_: object) -> None:
        run.effects.append(f"{name} {item}".strip())
        if failures == "always" or (failures and run.first(f"{verb} {name} {item}", failures)):
            raise Oops(name)

    def retry(_error: Exception, _attempt: int) -> RetryDecision:
        return RetryDecision(should_retry=failures != "always", delay=SECOND)

    def drain(action_context: DurableContext) -> None:
        action_context.wait(SECOND, name=options["waits"])
        work(action_context)

    config = StepConfig(retry_strategy=retry)
    if verb == "step":
        context.step(work, name=name, config=config)
    elif "waits" in options:
        terminal.cleanup_in_context(drain, name=name)
    elif verb == "cleanup":
        terminal.cleanup(work, name=name, config=config)
    else:
        terminal.compensate(work, name=name, config=config)


def _poll(run: Run, context: DurableContext, name: str) -> None:
    def check(state: int, _: object) -> int:
        run.effects.append(name)
        return state + 1

    def strategy(state: int, _attempts: int) -> WaitForConditionDecision:
        if state >= 2:
            return WaitForConditionDecision.stop_polling()
        return WaitForConditionDecision.continue_waiting(SECOND)

    context.wait_for_condition(
        check, WaitForConditionConfig(wait_strategy=strategy, initial_state=0), name=name
    )
