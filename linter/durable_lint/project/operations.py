"""Evaluates what the SDK and the runtime offer: operations and what is handed to them, scopes and
registrations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.frames import Mode, Record
from durable_lint.project.values import (
    NOTHING,
    OPERATION_KINDS,
    Arguments,
    Callback,
    Completion,
    Contents,
    Context,
    ContextMethod,
    Deferred,
    FunctionValue,
    Instance,
    Operation,
    OperationContext,
    Partial,
    Running,
    Scope,
    Terminal,
    TerminalMethod,
    TupleValue,
    Value,
    Values,
    one,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterable

    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver


def start(solver: Solver, value: FunctionValue, kind: str, arguments: Arguments, mode: Mode) -> Frame:
    """Return the frame of an SDK-decorated function as the operation that it is."""
    function = value.function
    plain = FunctionValue(function, value.module, value.closure, value.receiver)
    if kind == "submitter":
        first: tuple[Values, ...] = (NOTHING, one(OperationContext()))
    else:
        first = (one(OperationContext() if kind == "step" else Context(function)),)
    given = Arguments(first + arguments.positional, arguments.keywords, arguments.rest)
    entered = mode.enter(function, attempt=kind in {"step", "submitter"})
    return solver.frame_for(plain, given, entered)


def handler(solver: Solver, values: Values) -> None:
    """Evaluate functions as handlers: their second parameter is a durable context."""
    for value in values:
        if isinstance(value, FunctionValue):
            context = one(Context(value.function))
            raw_handler(solver, value)
            solver.frame_for(value, Arguments((NOTHING, context)), Mode().enter(value.function))


def raw_handler(solver: Solver, value: FunctionValue) -> None:
    """A wrapper around a handler is a handler; so is what it wraps, even if that can't be followed."""
    closure = value.closure
    if closure is None or closure.function is None:
        return
    for parameter in closure.function.parameters[:1]:
        for wrapped in solver.read(closure, parameter.name):
            if isinstance(wrapped, FunctionValue) and wrapped.function not in solver.frames_of:
                handler(solver, one(wrapped))


def context_call(
    solver: Solver,
    frame: Frame,
    method: ContextMethod,
    arguments: Arguments,
    record: Record,
    call: m.Call | None,
) -> Values:
    """Evaluate a call of a durable context's method, and what it is handed as operations."""
    name = method.name
    record.durable = name
    record.contexts |= one(method.context)
    record.suspends = record.suspends and name != aws.CREATE_CALLBACK
    positions = aws.POSITIONS[name]

    def given(parameter: str) -> Values:
        return arguments.get(positions.index(parameter), parameter)

    if name == aws.CREATE_CALLBACK:
        return one(Callback())
    if name == "step":
        return operations(solver, frame, given("func"), "step", (one(OperationContext()),), record)
    if name == "run_in_child_context":
        return operations(solver, frame, given("func"), "child", (), record)
    if name == "wait_for_callback":
        submitter = (NOTHING, one(OperationContext()))
        operations(solver, frame, given("submitter"), "submitter", submitter, record)
    elif name == "wait_for_condition":
        operations(solver, frame, given("check"), "submitter", (NOTHING, one(OperationContext())), record)
    elif name == "map":
        early = call if completes_early(given("config"), arguments, positions, call) else None
        items = solver.elements(given("inputs"))
        extra = (items, NOTHING, given("inputs"))
        return operations(solver, frame, given("func"), "branch", extra, record, early)
    elif name == "parallel":
        early = call if completes_early(given("config"), arguments, positions, call) else None
        return operations(solver, frame, solver.elements(given("functions")), "branch", (), record, early)
    return NOTHING


def completes_early(
    config: Values, arguments: Arguments, positions: tuple[str, ...], call: m.Call | None
) -> bool:
    """Whether a map or parallel with this configuration can complete while branches are still open."""
    if arguments.rest or (call is not None and not config and _unpacks(call)):
        return False  # the configuration may be among what is unpacked
    if not arguments.has("config") and len(arguments.positional) <= positions.index("config"):
        return True  # the default: the first failure completes it
    return any(isinstance(value, Completion) and value.early for value in config)


def _unpacks(call: m.Call) -> bool:
    return any(keyword.name is None for keyword in call.keywords) or any(
        isinstance(argument, m.Starred) for argument in call.arguments
    )


def operations(
    solver: Solver,
    frame: Frame,
    functions: Values,
    kind: str,
    arguments: tuple[Values, ...],
    record: Record,
    early: m.Call | None = None,
) -> Values:
    """Evaluate what is handed to an operation, as that operation, and return what it returns."""
    found: set[Value] = set()
    for value in solver.resolved(functions):
        for target in operation(solver, frame, value, kind, Arguments(arguments), early):
            record.actions[target] = None
            found |= solver.returned(target)
    return frozenset(v for v in found if not isinstance(v, (Context, Running)))


def operation(
    solver: Solver, frame: Frame, value: Value, kind: str, arguments: Arguments, early: m.Call | None
) -> Iterable[Frame]:
    """Return the frames of one value that is handed to an operation of this kind."""
    attempt = kind in {"step", "submitter"}
    match value:
        case FunctionValue():
            function = value.function
            given = arguments
            if not attempt and value.kind not in OPERATION_KINDS:
                context = one(Context(function))
                given = Arguments((context, *arguments.positional), arguments.keywords)
            plain = FunctionValue(function, value.module, value.closure, value.receiver)
            mode = frame.mode.enter(function, attempt=attempt, abandonable=early)
            return [solver.frame_for(plain, given, mode)]
        case Operation():
            mode = Mode(frame.mode.attempt, frame.mode.operations, early or frame.mode.abandonable)
            return [start(solver, value.function, value.function.kind, value.arguments, mode)]
        case Partial():
            if attempt:
                return operation(solver, frame, value.target, kind, arguments.after(value.arguments), early)
            return partial_operation(solver, frame, value, arguments, early)
        case ContextMethod():
            return []
        case Contents() | TupleValue() | Deferred():
            targets: list[Frame] = []
            inside = (
                solver.resolved(one(value)) if isinstance(value, Deferred) else solver.elements(one(value))
            )
            for item in inside:
                targets += operation(solver, frame, item, kind, arguments, early)
            return targets
        case Instance():
            targets = []
            for method in solver.attribute(one(value), "__call__", frame):
                targets += operation(solver, frame, method, kind, arguments, early)
            return targets
    return []


def partial_operation(
    solver: Solver, frame: Frame, value: Partial, arguments: Arguments, early: m.Call | None
) -> Iterable[Frame]:
    """`partial(f, a)` as a child or branch: the context comes after what was bound by position."""
    if not isinstance(value.target, FunctionValue):
        return []
    function = value.target.function
    given = Arguments((one(Context(function)), *arguments.positional), arguments.keywords)
    mode = frame.mode.enter(function, abandonable=early)
    return [solver.frame_for(value.target, given.after(value.arguments), mode)]


def registration(
    solver: Solver, frame: Frame, method: TerminalMethod, arguments: Arguments, record: Record
) -> Values:
    """Evaluate a registration: the terminal action is evaluated as the operation it will be."""
    name = method.name
    record.registers |= one(method.terminal)
    function = arguments.get(0, "func")
    step = (one(OperationContext()),)
    if name in aws.STEP_REGISTRATIONS:
        record.registration = name
        operations(solver, frame, function, "step", step, record)
    elif name in aws.CONTEXT_REGISTRATIONS:
        record.registration = name
        operations(solver, frame, function, "child", (), record)
    elif name == aws.ACQUIRE:
        record.registration = name
        record.durable = "acquire"
        acquired = operations(solver, frame, function, "step", step, Record())
        release = (acquired, *step)
        operations(solver, frame, arguments.get(1, "release"), "step", release, record)
        return acquired
    else:
        record.registers = NOTHING
    return NOTHING


def sdk_call(
    solver: Solver, frame: Frame, name: str, arguments: Arguments, record: Record, call: m.Call | None
) -> Values | None:
    """Evaluate a call of a function or class of the SDK or the runtime, None for any other."""
    if name == aws.WITH_RETRY:
        record.durable = "with_retry"
        record.contexts |= _contexts(arguments.get(0, "context"))
        return operations(solver, frame, arguments.get(1, "func"), "child", (NOTHING,), record)
    if name == aws.TERMINAL_SCOPE and call is not None:
        return scope(solver, frame, arguments, record, call)
    if name == aws.PARALLEL_BRANCH:
        return one(Contents(arguments.get(0, "func")))
    if name == aws.COMPLETION_CONFIG or name.startswith(aws.COMPLETION_CONFIG + "."):
        return completion(name, call)
    if name in aws.BATCH_CONFIGS:
        if arguments.rest:
            return NOTHING
        if not arguments.has("completion_config"):
            return one(Completion(early=True))
        return arguments.get(-1, "completion_config")
    return None


def scope(solver: Solver, frame: Frame, arguments: Arguments, record: Record, call: m.Call) -> Values:
    """Evaluate `terminal_scope`, in either form."""
    record.durable = "terminal_scope"
    record.contexts |= _contexts(arguments.get(0, "context"))
    record.abandonable = frame.mode.abandonable
    functions = arguments.get(1, "func")
    if len(arguments.positional) < 2 and not arguments.has("func"):
        record.suspends = False
        return one(Scope(call, frame.mode.operation))
    found: set[Value] = set()
    for value in functions:
        target_function = _underlying(value)
        if target_function is None:
            continue
        terminal = Terminal(target_function, target_function)
        for target in operation(solver, frame, value, "child", Arguments((one(terminal),)), None):
            record.actions[target] = None
            found |= solver.returned(target)
    return frozenset(found)


def completion(name: str, call: m.Call | None) -> Values:
    """Whether a `CompletionConfig` lets branches be abandoned, as far as it can be seen."""
    method = name.rpartition(".")[2]
    if method == "all_completed":
        return one(Completion(early=False))
    if method in {"first_successful", "all_successful"}:
        return one(Completion(early=True))
    if call is None:
        return NOTHING
    tolerance: object = None
    for index, parameter in enumerate(
        ("min_successful", "tolerated_failure_count", "tolerated_failure_percentage")
    ):
        given = _argument(call, index, parameter)
        if given is None:
            continue
        if not isinstance(given, m.Constant):
            return NOTHING
        if given.kind == "none":
            continue
        if parameter == "tolerated_failure_percentage" and given.value in (100, 100.0):
            tolerance = 100
        else:
            return one(Completion(early=True))
    return one(Completion(early=tolerance is None))


def _argument(call: m.Call, position: int, name: str) -> m.Expression | None:
    if position < len(call.arguments):
        return call.arguments[position]
    return next((keyword.value for keyword in call.keywords if keyword.name == name), None)


def _contexts(values: Values) -> Values:
    return frozenset(value for value in values if isinstance(value, Context))


def _underlying(value: Value) -> m.Function | None:
    match value:
        case FunctionValue():
            return value.function
        case Operation():
            return value.function.function
        case Partial():
            return _underlying(value.target)
    return None
