"""Evaluates calls of what is not the project's: the standard library's helpers, and everything unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project import calls, operations, statements
from durable_lint.project.frames import Record
from durable_lint.project.values import (
    NOTHING,
    OPERATION_KINDS,
    Arguments,
    Contents,
    Context,
    ContextMethod,
    External,
    FunctionValue,
    Instance,
    Manager,
    Partial,
    Running,
    TupleValue,
    Unseen,
    Values,
    inner,
    one,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver

NEVER_RUN = frozenset(
    "submit register callback add_done_callback add_callback push push_async_callback Thread Process Timer partial "
    "call_soon call_later call_soon_threadsafe signal finalize ref append add put put_nowait insert extend setdefault "
    "update appendleft defer connect subscribe wraps update_wrapper isinstance issubclass id repr str type hasattr "
    "getattr setattr callable len hash format print cast warn info debug warning error exception critical log bind "
    "set_logger partialmethod singledispatch lru_cache cache copy deepcopy replace patch MagicMock Mock "
    "assert_called_with "
    "get setattr remove discard index count field ThreadPoolExecutor dir vars bool".split()
)
"""Names of functions and methods that keep what they are given, or look at it, and do not run it."""

GIVEN_AWAY = "it is given a durable context and its source cannot be seen"
"""Why a call is assumed to suspend that could not be resolved."""

_NEVER_ASSUMED = (
    "builtins.",
    "logging.",
    "typing.",
    "functools.",
    "structlog.",
    "copy.",
    "dataclasses.",
    "inspect.",
)

_LAZY_BUILTINS = frozenset({"builtins.map", "builtins.filter"})

_TRANSPARENT = frozenset({"typing.cast", "copy.copy", "copy.deepcopy", "dataclasses.replace"})

_FIELDS = frozenset({"dataclasses.field", "attr.field", "attr.ib", "attrs.field", "pydantic.Field"})
_FACTORIES = frozenset({"attr.Factory", "attrs.Factory"})

_KEY_CALLS = frozenset({"builtins.sorted", "builtins.min", "builtins.max", "functools.reduce"})

_STACKS = ("contextlib.ExitStack.", "contextlib.AsyncExitStack.")

STACK_REGISTRATIONS = frozenset(
    "callback push enter_context push_async_callback push_async_exit enter_async_context".split()
)


def external_call(
    solver: Solver, frame: Frame, value: External, arguments: Arguments, record: Record, call: m.Call | None
) -> Values:
    """Evaluate a call of something outside the project, known by its qualified name."""
    name = value.name
    if name in aws.HANDLER_DECORATORS:
        functions = arguments.get(0, "func")
        operations.handler(solver, functions)
        return functions or one(External(name, called=True))
    kind = statements.DECORATED_KIND.get(name)
    if kind is not None and (functions := arguments.get(0, "func")):
        return statements.of_kind(solver, functions, kind)
    if name == "builtins.getattr" and call is not None and len(call.arguments) > 1:
        wanted = call.arguments[1]
        owners = arguments.get(0, "object")
        if isinstance(wanted, m.Constant) and any(isinstance(owner, Context) for owner in owners):
            return solver.attribute(owners, str(wanted.value), frame)
    special = operations.sdk_call(solver, frame, name, arguments, record, call)
    if special is None:
        special = library_call(solver, frame, name, arguments, record)
    if special is not None:
        return special
    if solver.names.suspends(name):
        record.durable = name.rpartition(".")[2]
        return one(External(name, called=True))
    held: Values = hand_over(solver, frame, name, name.rpartition(".")[2], arguments, record)
    return held.union((External(name, called=True),))


def library_call(
    solver: Solver, frame: Frame, name: str, arguments: Arguments, record: Record
) -> Values | None:
    """Return what the standard library's own helpers give, None for any other name."""
    if name.startswith(_STACKS) and name.rpartition(".")[2] in STACK_REGISTRATIONS:
        return stack_registration(solver, frame, name.rpartition(".")[2], arguments, record)
    if name in {"functools.partial", "functools.partialmethod"}:
        rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.rest)
        return frozenset(Partial(target, rest) for target in arguments.get(0, "func"))
    if name in _TRANSPARENT:
        return arguments.get(1 if name == "typing.cast" else 0, "")
    if name in _FIELDS or name in _FACTORIES:
        return field_default(solver, frame, name, arguments)
    if name in {"typing.TypeVar", "typing.NewType"}:
        return arguments.get(1 if name == "typing.NewType" else -1, "bound")
    if name in _LAZY_BUILTINS and arguments.positional:
        items = tuple(solver.elements(values) for values in arguments.positional[1:])
        results = calls.call_values(solver, frame, arguments.positional[0], Arguments(items), record)
        return one(Contents(results if name == "builtins.map" else items[0] if items else NOTHING))
    if name in _KEY_CALLS:
        key = arguments.get(0 if name == "functools.reduce" else -1, "key")
        calls.call_values(solver, frame, key, Arguments(), record)
    if name == "builtins.enumerate":
        held = solver.elements(arguments.get(0, "iterable"))
        return one(Contents(one(TupleValue((NOTHING, held))))) if held else NOTHING
    if name == "builtins.zip":
        parts = tuple(solver.elements(values) for values in arguments.positional)
        return one(Contents(one(TupleValue(parts)))) if any(parts) else NOTHING
    if name == "builtins.getattr":
        return NOTHING
    if name.startswith(("builtins.", "asyncio.", "itertools.", "anyio.", "collections.")):
        run_arguments(arguments, record)
        if name in {"builtins.next", "builtins.min", "builtins.max"}:
            return solver.elements(arguments.all())
        if name.startswith("asyncio."):
            held = arguments.all()
            returned = [solver.returned(v.frame) for v in held if isinstance(v, Running)]
            if returned:
                return frozenset().union(*returned)
            return None
        held = solver.elements(arguments.all())
        if name.startswith("builtins.") and not held:
            return one(External(name, called=True))
        return one(Contents(held)) if held else None
    return None


def field_default(solver: Solver, frame: Frame, name: str, arguments: Arguments) -> Values:
    """Return what a field of a dataclass (or of attrs, or pydantic) is where nobody gives it."""
    if name in _FACTORIES:
        factory = arguments.get(0, "factory")
    else:
        factory = arguments.get(-1, "default_factory") | arguments.get(-1, "factory")
    return arguments.get(-1, "default") | calls.call_values(solver, frame, factory, Arguments(), Record())


def stack_registration(
    solver: Solver, frame: Frame, method: str, arguments: Arguments, record: Record
) -> Values:
    """Evaluate what is put on an `ExitStack`, as it will be called, without counting it as run here."""
    later = Record()
    held = arguments.get(0, "callback")
    record.held = held
    if "callback" in method:
        rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.rest)
        calls.call_values(solver, frame, held, rest, later)
    else:
        for value in held:
            if isinstance(value, (FunctionValue, Partial)):
                calls.call_value(solver, frame, value, Arguments((NOTHING, NOTHING, NOTHING)), later, None)
            elif isinstance(value, (Manager, Instance)):
                entered = statements.enter(solver, frame, value, later, None)
                record.actions.update(later.targets)
                return entered
    record.actions.update(later.targets)
    return held


def decorated_registration(
    solver: Solver, frame: Frame, decorator: m.Expression, decorators: Values, values: Values
) -> None:
    """Record `@stack.callback` and `@stack.push`, which put what they decorate on an `ExitStack`."""
    method = m.last_name(decorator)
    if method not in STACK_REGISTRATIONS or not isinstance(decorator, m.Attribute):
        return
    if any(isinstance(v, External) and v.name.startswith(_STACKS) for v in decorators):
        record = Record(callee=decorators)
        stack_registration(solver, frame, method, Arguments((values,)), record)
        frame.records[decorator] = record


def run_arguments(arguments: Arguments, record: Record) -> None:
    """Record that generators and coroutines among the arguments are run."""
    for value in arguments.all():
        if isinstance(value, Running):
            record.targets[value.frame] = None


def hand_over(
    solver: Solver,
    frame: Frame,
    name: str,
    last: str,
    arguments: Arguments,
    record: Record,
) -> Values:
    """What follows from handing arguments to something whose source is not there."""
    held = inner(arguments.all())
    if not held or last in NEVER_RUN or name.startswith(_NEVER_ASSUMED):
        return NOTHING
    contexts = any(isinstance(v, (Context, ContextMethod)) for v in held)
    if last[:1].isupper() or last.lstrip("_")[:1].isupper():
        return one(Unseen()) if contexts else NOTHING
    for value in held:
        if isinstance(value, Running):
            record.targets[value.frame] = None
        elif isinstance(value, FunctionValue) and value.kind not in OPERATION_KINDS:
            record.targets[solver.frame_for(value, Arguments(), frame.mode)] = None
        elif isinstance(value, Instance) and holds_context(solver, value):
            contexts = True
    if contexts:
        record.assumed = GIVEN_AWAY
    return NOTHING


def holds_context(solver: Solver, value: Instance) -> bool:
    """Whether an instance has a durable context in one of its attributes."""
    return any(isinstance(stored, Context) for stored in solver.stored_in(value))
