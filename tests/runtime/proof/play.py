"""Plays a program: makes it a handler that uses `durable_runtime` as a user would, and notes what happens.

Notes: `enter` a scope, `left` (its body ended by a value or an `Exception`), `run` a terminal action, `exit`
(the scope is over), `effect` of a body's step. `data` says which scope, action, attempt, outcome, error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_durable_execution_sdk_python.config import (
    ChildConfig,
    CompletionConfig,
    Duration,
    JitterStrategy,
    MapConfig,
    NestingType,
    ParallelConfig,
    StepConfig,
)
from aws_durable_execution_sdk_python.lambda_service import ErrorObject
from aws_durable_execution_sdk_python.retries import RetryStrategyConfig, create_retry_strategy
from durable_runtime import ScopeCancelled, TerminalScopeConfig, terminal_scope

from tests.runtime.proof.programs import (
    ATTEMPTS,
    Acquire,
    Block,
    Branches,
    Callback,
    Cancel,
    Child,
    Fail,
    Guard,
    Hide,
    Node,
    Register,
    Scope,
    Step,
    Wait,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import BatchResult, DurableContext, StepContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Answers, Handler, Life

_RETRIES = StepConfig(
    retry_strategy=create_retry_strategy(
        RetryStrategyConfig(
            max_attempts=ATTEMPTS,
            initial_delay=Duration.from_seconds(1),
            jitter_strategy=JitterStrategy.NONE,
        )
    )
)


class ProgramFailed(Exception):
    """The exception that programs raise."""


def builder(program: Block) -> Callable[[Life], Handler]:
    """What `crash.execute` takes, for a program."""

    def build(life: Life) -> Handler:
        def handler(_event: Any, context: DurableContext) -> list[str]:
            return _Player(life).block(program, context, None)

        return handler

    return build


def answers(program: Block) -> Answers:
    """The answers to the callbacks of a program."""
    fails = {node.name: node.fails for node in walk(program) if isinstance(node, Callback)}

    def answer(name: str) -> bytes | ErrorObject:
        if fails[name]:
            return ErrorObject.from_message("the other side failed")
        return json.dumps(name).encode()

    return answer


@dataclass(frozen=True)
class _Inside:
    """The scope whose body is played: its name, and what takes its registrations."""

    name: str
    terminal: DurableTerminalActions


class _Player:
    def __init__(self, life: Life) -> None:
        self._life = life

    def block(self, block: Block, context: DurableContext, inside: _Inside | None) -> list[str]:
        values: list[str] = []
        for node in block:
            values += self._node(node, context, inside)
        return values

    def _node(self, node: Node, context: DurableContext, inside: _Inside | None) -> list[str]:
        match node:
            case Step(name=name):
                return [context.step(self._step(node), name=name, config=_RETRIES)]
            case Wait(name=name):
                context.wait(Duration.from_seconds(1), name=name)
                return [name]
            case Callback(name=name):
                context.create_callback(name=name).result()
                return [name]
            case Child(body=body, virtual=virtual, name=name):
                return context.run_in_child_context(
                    lambda child: self.block(body, child, None),
                    name=name,
                    config=ChildConfig(is_virtual=virtual),
                )
            case Branches():
                return self._branches(node, context)
            case Guard(body=body):
                try:
                    return self.block(body, context, inside)
                except Exception as error:
                    return [f"caught {type(error).__name__}"]
            case Hide(body=body):
                try:
                    return self.block(body, context, inside)
                except BaseException as error:
                    return [f"caught {type(error).__name__}"]
            case Fail(name=name):
                raise ProgramFailed(name)
            case Cancel(name=name):
                raise ScopeCancelled(name)
            case Register():
                assert inside is not None
                self._register(node, inside)
                return []
            case Acquire():
                assert inside is not None
                return [self._acquire(node, inside)]
            case Scope():
                return self._scope(node, context)

    def _step(self, node: Step | Acquire) -> Callable[[StepContext], str]:
        def run(step_context: StepContext) -> str:
            self._life.note("effect", step=node.name, attempt=step_context.attempt)
            if (step_context.attempt or 1) <= node.failures:
                raise ProgramFailed(node.name)
            return node.name

        return run

    def _branches(self, node: Branches, context: DurableContext) -> list[str]:
        nesting = NestingType.FLAT if node.flat else NestingType.NESTED
        at_once = 1 if node.in_turn else None
        completion = CompletionConfig.all_completed()  # type: ignore[no-untyped-call]
        batch: BatchResult[list[str]]
        if node.mapped:
            batch = context.map(
                list(range(len(node.blocks))),
                lambda branch, _item, index, _items: self.block(node.blocks[index], branch, None),
                name=node.name,
                config=MapConfig(at_once, completion_config=completion, nesting_type=nesting),
            )
        else:
            batch = context.parallel(
                [self._branch(block) for block in node.blocks],
                name=node.name,
                config=ParallelConfig(at_once, completion_config=completion, nesting_type=nesting),
            )
        if not node.tolerant:
            batch.throw_if_error()
        values: list[str] = []
        for item in batch.all:
            values += ["failed"] if item.error is not None else item.result or []
        return values

    def _branch(self, block: Block) -> Callable[[DurableContext], list[str]]:
        return lambda branch: self.block(block, branch, None)

    def _scope(self, node: Scope, context: DurableContext) -> list[str]:
        config = TerminalScopeConfig(
            compensate_on_cancellation=node.compensate_on_cancellation,
            cleanup_on_cancellation=node.cleanup_on_cancellation,
            stop_on_compensation_failure=node.stop_on_compensation_failure,
            fail_on_cleanup_failure=node.fail_on_cleanup_failure,
        )

        def body(scope_context: DurableContext, terminal: DurableTerminalActions) -> list[str]:
            self._life.note("enter", scope=node.name)
            try:
                values = self.block(node.body, scope_context, _Inside(node.name, terminal))
            except Exception:
                self._life.note("left", scope=node.name)
                raise
            self._life.note("left", scope=node.name)
            return values

        try:
            if node.isolated:
                values = terminal_scope(context, body, name=node.name, config=config)
            else:
                with terminal_scope(context, name=node.name, config=config) as terminal:
                    values = body(context, terminal)
        except Exception as error:
            failures = getattr(error, "terminal_failures", ())
            self._life.note(
                "exit",
                scope=node.name,
                error=type(error).__name__,
                error_type=str(getattr(error, "error_type", None) or type(error).__name__).rpartition(".")[2],
                failures=tuple(failure.name for failure in failures),
                skipped=tuple(failure.name for failure in failures if failure.skipped),
            )
            raise
        self._life.note("exit", scope=node.name, error="", error_type="", failures=(), skipped=())
        return values

    def _register(self, node: Register, inside: _Inside) -> None:
        terminal = inside.terminal
        if node.body is None:
            register = terminal.compensate if node.compensation else terminal.cleanup
            register(self._action(node, node.failures, inside), name=node.name, config=_RETRIES)
            return
        body = node.body

        def run(action_context: DurableContext) -> list[str]:
            self._note_run(node.name, 1, inside)
            values = self.block(body, action_context, None)
            if node.failures:
                raise ProgramFailed(node.name)
            return values

        register_in_context = (
            terminal.compensate_in_context if node.compensation else terminal.cleanup_in_context
        )
        register_in_context(run, name=node.name)

    def _acquire(self, node: Acquire, inside: _Inside) -> str:
        def release(value: str, step_context: StepContext) -> None:
            assert value == node.name, "the release got another value than the step returned"
            self._action(Register(name=f"release-{node.name}"), node.release_failures, inside)(step_context)

        return inside.terminal.acquire(self._step(node), release=release, name=node.name, config=_RETRIES)

    def _action(self, node: Register, failures: int, inside: _Inside) -> Callable[[StepContext], object]:
        def run(step_context: StepContext) -> object:
            attempt = step_context.attempt or 1
            self._note_run(node.name, attempt, inside)
            if attempt <= failures:
                raise ProgramFailed(node.name)
            # A value that no SerDes takes: an action's value is dropped.
            return object()

        return run

    def _note_run(self, action: str, attempt: int, inside: _Inside) -> None:
        outcome = inside.terminal.outcome
        status = getattr(outcome, "status", None)
        self._life.note(
            "run",
            scope=inside.name,
            action=action,
            attempt=attempt,
            outcome=str(getattr(status, "value", status)),
        )
