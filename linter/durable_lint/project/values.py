"""What an expression can be, as far as it matters to a suspension: the values of the abstract evaluation.

Values are small, frozen and compared by what they say. A set of them over-approximates what an expression
can be; the empty set means "nothing known that matters".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from durable_lint.facts import model as m
    from durable_lint.project.frames import Frame


@dataclass(frozen=True, slots=True)
class External:
    """A name of a module whose source is not looked at (`boto3.client`), or what calling it gave
    (`called`).

    An attribute or method continues the name: `boto3.client("s3").delete_object` is
    `boto3.client.delete_object`.
    """

    name: str
    called: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """A durable context. `owner` is the function whose parameter it is; None where that is not known."""

    owner: m.Function | None


@dataclass(frozen=True, slots=True)
class OperationContext:
    """The context of code inside one attempt (a step's, a submitter's, a check's). It cannot suspend."""


@dataclass(frozen=True, slots=True)
class ContextMethod:
    """A method of a durable context, bound: `context.step`."""

    context: Context
    name: str


@dataclass(frozen=True, slots=True)
class Callback:
    """What `create_callback` returned."""


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """The bound method `result` of a callback."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What `terminal_scope(context, name=...)` returned: to be entered by `with`."""

    call: m.Call
    operation: m.Function | None


@dataclass(frozen=True, slots=True)
class Terminal:
    """The registry of a scope. `operation` is the function that is the durable operation it was opened in.

    `opened` is the `terminal_scope` call of the in-place form, or the body function of the isolated form.
    """

    opened: m.Call | m.Function
    operation: m.Function | None


@dataclass(frozen=True, slots=True)
class TerminalMethod:
    terminal: Terminal
    name: str


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function of the project. `closure` is the frame it was defined in, None at module level.

    `receiver` is what it is bound to. `kind` tells a function that a decorator of the SDK or of
    `contextlib` has changed: `step`, `child`, `branch`, `submitter` (calling it gives an `Operation`),
    `manager`, `property`, `static`, `class`, or "".
    """

    function: m.Function
    module: m.ModuleFacts
    closure: Frame | None
    receiver: Value | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """What calling a `@durable_step`, `@durable_with_child_context` (...) function gives: a callable for an
    operation.
    """

    function: FunctionValue
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial(target, ...)`."""

    target: Value
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class ClassValue:
    definition: m.Class
    module: m.ModuleFacts
    closure: Frame | None


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class. `site` is the call that made it, None for any instance (`self`, an
    annotation).
    """

    of: ClassValue
    site: m.Call | None = None


@dataclass(frozen=True, slots=True)
class ModuleValue:
    module: m.ModuleFacts


@dataclass(frozen=True, slots=True)
class Contents:
    """A list, set, dict or iterator whose elements are among `items`."""

    items: Values


@dataclass(frozen=True, slots=True)
class TupleValue:
    items: tuple[Values, ...]


@dataclass(frozen=True, slots=True)
class Keywords:
    """A mapping whose keys are known: what `**kwargs` receives."""

    items: tuple[tuple[str, Values], ...]


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` in a method of `after`, for `instance`."""

    instance: Instance
    after: ClassValue


@dataclass(frozen=True, slots=True)
class Imported:
    """A name bound by an import, resolved when it is read."""

    binding: m.Binding
    module: m.ModuleFacts


@dataclass(frozen=True, slots=True)
class Running:
    """A generator or coroutine that was made and not run yet; `frame` is its body."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Deferred:
    """What a call returns whose function has not been evaluated, because nothing durable was handed to it."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Manager:
    """What calling a `@contextmanager` function gave."""

    function: FunctionValue
    frame: Frame


@dataclass(frozen=True, slots=True)
class Completion:
    """A `CompletionConfig`, `MapConfig` or `ParallelConfig`. `early` tells whether a branch can be
    abandoned.
    """

    early: bool


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that was given a durable context and whose source cannot be seen; its methods may suspend."""


Value = (
    External
    | Context
    | OperationContext
    | ContextMethod
    | Callback
    | CallbackResult
    | Scope
    | Terminal
    | TerminalMethod
    | FunctionValue
    | Operation
    | Partial
    | ClassValue
    | Instance
    | ModuleValue
    | Contents
    | TupleValue
    | Keywords
    | Super
    | Imported
    | Running
    | Deferred
    | Manager
    | Completion
    | Unseen
)
Values = frozenset[Value]
NOTHING: Values = frozenset()

WRAPPING_ANNOTATIONS = frozenset(
    {"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "InitVar"}
)
"""Type forms that stand for what is inside their brackets."""

OPERATION_KINDS = frozenset({"step", "submitter", "child", "branch"})
"""The kinds of a function that a decorator of the SDK has turned into an operation."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call: `positional` in order, `keywords` by name.

    `rest` is what was unpacked with `*` or `**` and could not be told apart.
    """

    positional: tuple[Values, ...] = ()
    keywords: tuple[tuple[str, Values], ...] = ()
    rest: Values = NOTHING

    def get(self, position: int, name: str) -> Values:
        """Return what was given at `position` or as keyword `name`."""
        if 0 <= position < len(self.positional):
            return self.positional[position]
        for keyword, values in self.keywords:
            if keyword == name:
                return values
        return NOTHING

    def has(self, name: str) -> bool:
        return any(keyword == name for keyword, _ in self.keywords)

    def all(self) -> Values:
        """Return everything that was given."""
        found = set(self.rest)
        for values in self.positional:
            found |= values
        for _, values in self.keywords:
            found |= values
        return frozenset(found)

    def after(self, first: Arguments) -> Arguments:
        """Return the arguments of a call of `partial(f, *first)` with these."""
        return Arguments(
            first.positional + self.positional, first.keywords + self.keywords, first.rest | self.rest
        )


def one(value: Value) -> Values:
    """Return the set of just this value."""
    return frozenset((value,))


def inner(values: Values) -> Values:
    """Return `values` and what the containers among them hold."""
    if _COMPOUND_TYPES.isdisjoint(map(type, values)):
        return values
    found: set[Value] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value in found:
            continue
        found.add(value)
        if isinstance(value, Contents):
            waiting.extend(value.items)
        elif isinstance(value, TupleValue):
            for item in value.items:
                waiting.extend(item)
        elif isinstance(value, Keywords):
            for _, item in value.items:
                waiting.extend(item)
        elif isinstance(value, (Partial, Operation)):
            waiting.extend(value.arguments.all())
    return frozenset(found)


_DEEPEST = 4
MOST_NAMES = 16


def pruned(values: Values) -> Values:
    """Return `values` with at most `MOST_NAMES` names of other libraries: beyond that they tell nothing."""
    if len(values) <= MOST_NAMES:
        return values
    names = sorted((v for v in values if isinstance(v, External)), key=lambda v: (v.name, v.called))
    return frozenset(v for v in values if not isinstance(v, External)).union(names[:MOST_NAMES])


def bounded(values: Values) -> Values:
    """Return `values` with what is nested too deeply flattened, so that a value that grows in a loop stops
    growing.
    """
    if _COMPOUND_TYPES.isdisjoint(map(type, values)):
        return values
    return frozenset(
        Contents(frozenset(v for v in inner(one(value)) if type(v) not in _COMPOUND_TYPES))
        if type(value) in _COMPOUND_TYPES and _depth(value) > _DEEPEST
        else value
        for value in values
    )


_COMPOUND_TYPES = frozenset({Contents, TupleValue, Keywords, Partial, Operation, Super})


def _depth(value: Value, limit: int = _DEEPEST + 1) -> int:
    if limit == 0:
        return 1
    match value:
        case Contents():
            parts = [value.items]
        case TupleValue():
            parts = list(value.items)
        case Keywords():
            parts = [held for _, held in value.items]
        case Partial() | Operation():
            parts = [value.arguments.all()]
        case _:
            return 0
    return 1 + max((_depth(held, limit - 1) for part in parts for held in part), default=0)
