"""Compares what a run did with what the model foretells, and says each difference in a sentence."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from aws_durable_execution_sdk_python.serdes import deserialize

from tests.runtime.proof.model import foretell
from tests.runtime.proof.programs import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.runtime.proof.model import Action, Fate, ScopeFate
    from tests.runtime.proof.programs import Block
    from tests.runtime.support.crash import Run


def judge(program: Block, run: Run, fate: Fate | None = None) -> None:
    """Raise AssertionError with every difference between the run and the program's fate."""
    fate = fate or foretell(program)
    differences = list(_differences(run, fate))
    if differences:
        lines = [
            "the program",
            f"    {show(program)}",
            *(f"- {each}" for each in differences),
            "journal:",
            run.story(),
        ]
        raise AssertionError("\n".join(lines))


def _differences(run: Run, fate: Fate) -> Iterator[str]:
    yield from _result(run, fate)
    yield from _strange_actions(run, fate)
    yield from _actions_on_suspension(run)
    yield from _repeated_actions(run)
    for scope in fate.scopes.values():
        yield from _outcome(run, scope)
        yield from _history(run, scope)
        yield from _order(run, scope)
        yield from _attempts(run, scope)
        yield from _exit(run, scope)


def _result(run: Run, fate: Fate) -> Iterator[str]:
    if fate.error:
        ended = (run.error.type or "") if run.error else ""
        if run.status != "FAILED" or ended.rpartition(".")[2] != fate.error:
            yield f"the execution should fail with {fate.error}, but ended {run.status} {run.error}"
    elif run.status != "SUCCEEDED" or run.result != fate.values:
        yield f"the execution should return {fate.values}, but ended {run.status} {run.result} {run.error}"


def _operation(scope: ScopeFate, action: Action) -> str:
    return f"{scope.name}.{action.kind}.{action.name}"


def _strange_actions(run: Run, fate: Fate) -> Iterator[str]:
    """An operation of a terminal phase that should not exist."""
    expected: Counter[str] = Counter()
    for scope in fate.scopes.values():
        if scope.registered:
            expected[f"{scope.name}.outcome"] += 1
        for action in scope.actions:
            if action.attempts:
                expected[_operation(scope, action)] += 1
    found = Counter(name for name in run.names() if "." in name)
    for name in found - expected:
        yield f"{name} is in the history {found[name]} times, it should be {expected[name]} times"


def _actions_on_suspension(run: Run) -> Iterator[str]:
    """An action runs only after its scope's body, entered in the same invocation, has come to its end."""
    left: dict[str, bool] = {}
    invocation = 0
    for entry in run.journal:
        if entry.invocation != invocation:
            invocation = entry.invocation
            left = {}
        if entry.kind != "note":
            continue
        scope = entry.data.get("scope", "")
        if entry.text == "enter":
            left[scope] = False
        elif entry.text == "left":
            left[scope] = True
        elif entry.text == "run" and not left.get(scope):
            yield f"{scope} ran {entry.data['action']} in invocation {invocation} before its body had ended"


def _repeated_actions(run: Run) -> Iterator[str]:
    """An action whose end the service had accepted ran again, or was recorded again."""
    done: Counter[str] = Counter()
    for entry in run.journal:
        if entry.kind == "accepted" and entry.data["action"] in ("SUCCEED", "FAIL"):
            done[entry.text] += 1
            if "." in entry.text and done[entry.text] > 1:
                yield f"{entry.text} was recorded {done[entry.text]} times"
        elif entry.kind == "note" and entry.text == "run":
            for kind in ("cleanup", "compensate"):
                if done[f"{entry.data['scope']}.{kind}.{entry.data['action']}"]:
                    yield f"{entry.data['action']} ran in invocation {entry.invocation} although completed"


def _outcome(run: Run, scope: ScopeFate) -> Iterator[str]:
    """The recorded outcome, and the one that actions saw."""
    if scope.registered:
        recorded = [op for op in run.operations if op.name == f"{scope.name}.outcome"]
        if len(recorded) != 1 or recorded[0].status.value != "SUCCEEDED":
            yield f"{scope.name} should have recorded its outcome {scope.outcome}, but has {recorded}"
        else:
            details = recorded[0].step_details
            record = _record((details and details.result) or "null")
            if not isinstance(record, dict) or record.get("outcome") != scope.outcome:
                yield f"{scope.name} should have recorded {scope.outcome}, but recorded {record}"
    for entry in run.journal:
        ran = entry.kind == "note" and entry.text == "run" and entry.data["scope"] == scope.name
        if ran and entry.data["outcome"] != scope.outcome:
            yield f"an action of {scope.name} saw {entry.data['outcome']} instead of {scope.outcome}"


def _record(payload: str) -> object:
    """The recorded outcome, whether it was written as plain JSON or in the SDK's own encoding."""
    plain = json.loads(payload)
    if isinstance(plain, dict) and "outcome" in plain:
        return plain
    return deserialize(None, payload, "", "")


def _history(run: Run, scope: ScopeFate) -> Iterator[str]:
    """Each action is in the history once, with its end."""
    statuses: dict[str, list[str]] = defaultdict(list)
    for operation in run.operations:
        statuses[operation.name or ""].append(operation.status.value)
    for action in scope.actions:
        expected = [] if not action.attempts else ["SUCCEEDED" if action.succeeds else "FAILED"]
        found = statuses[_operation(scope, action)]
        if found != expected:
            yield f"{_operation(scope, action)} should be {expected} in the history, but is {found}"


def _order(run: Run, scope: ScopeFate) -> Iterator[str]:
    """The outcome, then compensations and cleanups in order, one after the other."""
    expected: list[tuple[str, str]] = []
    if scope.registered:
        expected += [(f"{scope.name}.outcome", "START"), (f"{scope.name}.outcome", "SUCCEED")]
    for action in scope.actions:
        if action.attempts:
            name = _operation(scope, action)
            expected += [(name, "START"), (name, "SUCCEED" if action.succeeds else "FAIL")]
    names = {name for name, _ in expected}
    found: list[tuple[str, str]] = []
    for entry in run.journal:
        if entry.kind == "accepted" and entry.text in names and entry.data["action"] != "RETRY":
            event = (entry.text, entry.data["action"])
            if event not in found:
                found.append(event)
    if found != expected:
        yield f"the terminal phase of {scope.name} should be {expected}, but was {found}"


def _attempts(run: Run, scope: ScopeFate) -> Iterator[str]:
    """Each action ran as often as its retries want; once more for each invocation that died."""
    ran: Counter[str] = Counter()
    for entry in run.journal:
        if entry.kind == "note" and entry.text == "run" and entry.data["scope"] == scope.name:
            ran[entry.data["action"]] += 1
    for action in scope.actions:
        # An action in a context starts again after each of its own suspensions: its steps are what runs once.
        in_context = any(
            op.name == _operation(scope, action) and op.operation_type.value == "CONTEXT"
            for op in run.operations
        )
        most = run.invocations if in_context else action.attempts + run.deaths
        if not action.attempts <= ran[action.name] <= max(most, action.attempts):
            yield f"{action.name} should run {action.attempts} times, but ran {ran[action.name]} times"
    for name in set(ran) - {action.name for action in scope.actions}:
        yield f"{name} of {scope.name} should not run, but ran {ran[name]} times"


def _exit(run: Run, scope: ScopeFate) -> Iterator[str]:
    """However often it is replayed, the scope ends in the same way."""
    exits = [
        entry.data
        for entry in run.journal
        if entry.kind == "note" and entry.text == "exit" and entry.data["scope"] == scope.name
    ]
    if not exits:
        yield f"{scope.name} never came to its end"
    skipped = [action.name for action in scope.actions if not action.attempts]
    for data in exits:
        if data["error"] != scope.error:
            yield f"{scope.name} should end with {scope.error or 'a value'}, but ended with {data['error']}"
        elif (
            scope.error
            and data["error"] == "TerminalScopeError"
            and data["error_type"]
            not in (
                scope.error_type,
                "TerminalScopeError",
            )
        ):
            yield f"{scope.name} should name {scope.error_type}, but names {data['error_type']}"
        elif scope.error and not set(scope.failed_actions) <= set(data["failures"]):
            yield f"{scope.name} should list {scope.failed_actions} as failed, but lists {data['failures']}"
        elif scope.error and not set(skipped) <= set(data["skipped"]):
            yield f"{scope.name} should list {skipped} as skipped, but lists {data['skipped']}"
