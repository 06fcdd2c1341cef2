"""What a module says, as small frozen data: the only view of source code that `project` and `rules` have.

The classes follow Python's grammar, reduced to what decides whether a suspension can pass and what would
run because of it. They hold no reference to a syntax tree, so they can be pickled and kept. Identity
counts: two equal calls on two lines are two facts (`eq=False`), and analyses keep their results in
dictionaries keyed by the fact itself.

An `At` is a place as the standard library's `ast` gives it: rows from 1, columns in UTF-8 bytes from 0. It
is turned into characters only when a finding is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, dataclass_transform

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from durable_lint.source.text import SourceText


class At(NamedTuple):
    """A region of the source; rows count from 1, columns from 0 in bytes, the end is exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int


@dataclass_transform(frozen_default=True, eq_default=False)
class Fact(type):
    """Gives a class the fields that it lists, as `@dataclass(frozen=True, slots=True, eq=False)` does.

    A run that has durable code makes hundreds of thousands of facts, and a frozen dataclass takes three times
    as long to make one, and a hundred times as long to be defined. That nothing changes a fact is left to mypy.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Fact:
        own = tuple(namespace.get("__annotations__", ()))
        inherited = [field for base in bases for field in getattr(base, "__match_args__", ())]
        fields = (*inherited, *own)
        namespace |= {"__slots__": own, "__match_args__": fields, "__repr__": _shown}
        lines = [f"self.{field} = {field}" for field in fields]
        exec(f"def __init__(self, {', '.join(fields)}):\n " + "\n ".join(lines), {}, namespace)
        return super().__new__(cls, name, bases, namespace)


def _shown(fact: Any) -> str:  # any class of facts
    fields = (f"{name}={getattr(fact, name)!r}" for name in fact.__match_args__)
    return f"{type(fact).__name__}({', '.join(fields)})"


# ---------------------------------------------------------------- expressions


class Expression(metaclass=Fact):
    at: At


class Name(Expression):
    id: str


class Constant(Expression):
    value: str | int | float | bool | None
    """The literal, or None also for bytes, complex numbers and `...` (see `kind`)."""
    kind: str


class Attribute(Expression):
    value: Expression
    name: str


class Subscript(Expression):
    value: Expression
    index: Expression


class Starred(Expression):
    value: Expression


class Keyword(metaclass=Fact):
    name: str | None
    """None for `**mapping`."""
    value: Expression


class Call(Expression):
    function: Expression
    arguments: tuple[Expression, ...]
    keywords: tuple[Keyword, ...]


class LambdaExpression(Expression):
    function: Function


class Sequence(Expression):
    """A tuple, list or set display."""

    kind: str
    items: tuple[Expression, ...]


class Mapping(Expression):
    """A dict display; a key is None where a mapping is unpacked (`**value`)."""

    keys: tuple[Expression | None, ...]
    values: tuple[Expression, ...]


class Conditional(Expression):
    test: Expression
    body: Expression
    orelse: Expression


class Boolean(Expression):
    is_and: bool
    values: tuple[Expression, ...]


class Negation(Expression):
    value: Expression


class Comparison(Expression):
    left: Expression
    operators: tuple[str, ...]
    """`is`, `is not`, `==`, `!=`, `in`, `not in`, `<`, `<=`, `>`, `>=`."""
    rights: tuple[Expression, ...]


class Await(Expression):
    value: Expression


class Yield(Expression):
    value: Expression | None
    delegates: bool
    """True for `yield from`."""


class Clause(metaclass=Fact):
    """One `for target in iterable if conditions` of a comprehension."""

    target: Expression
    iterable: Expression
    conditions: tuple[Expression, ...]


class Comprehension(Expression):
    """`kind` is `list`, `set`, `dict` or `generator`; only the last one is not run where it stands."""

    kind: str
    elements: tuple[Expression, ...]
    clauses: tuple[Clause, ...]


class NamedExpression(Expression):
    target: Name
    value: Expression


class Compound(Expression):
    """An expression whose operands are evaluated and whose own value is plain data: arithmetic, f-strings,
    slices.
    """

    operands: tuple[Expression, ...]


# ---------------------------------------------------------------- statements


class Statement(metaclass=Fact):
    at: At


class ExpressionStatement(Statement):
    value: Expression


class Assignment(Statement):
    targets: tuple[Expression, ...]
    value: Expression | None
    annotation: Expression | None


class AugmentedAssignment(Statement):
    target: Expression
    value: Expression


class Deletion(Statement):
    targets: tuple[Expression, ...]


class Return(Statement):
    value: Expression | None


class Raise(Statement):
    exception: Expression | None
    cause: Expression | None


class Break(Statement):
    pass


class Continue(Statement):
    pass


class Pass(Statement):
    pass


class Assertion(Statement):
    test: Expression
    message: Expression | None


class If(Statement):
    test: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class While(Statement):
    test: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class For(Statement):
    target: Expression
    iterable: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class Handler(metaclass=Fact):
    """One `except` clause; `type` is None for a bare one. `at` starts at the `except` keyword."""

    at: At
    type: Expression | None
    name: str | None
    body: tuple[Statement, ...]


class Try(Statement):
    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Statement, ...]
    finalbody: tuple[Statement, ...]
    is_star: bool
    finally_at: At | None
    """Where the `finally` keyword stands."""


class Item(metaclass=Fact):
    """One `with` item; `at` is the item's own place, `as` target included."""

    at: At
    manager: Expression
    target: Expression | None


class With(Statement):
    items: tuple[Item, ...]
    body: tuple[Statement, ...]
    is_async: bool


class Case(metaclass=Fact):
    names: tuple[str, ...]
    """The names that the pattern binds."""
    values: tuple[Expression, ...]
    """The values and classes that the pattern compares with."""
    guard: Expression | None
    irrefutable: bool
    body: tuple[Statement, ...]


class Match(Statement):
    subject: Expression
    cases: tuple[Case, ...]


class Binding(metaclass=Fact):
    """What an import statement binds: `local` is bound to `module`, or to the attribute `attribute` of it.

    `local` is `*` for a star import. `level` is the number of leading dots.
    """

    local: str
    module: str
    attribute: str | None
    level: int


class Import(Statement):
    bindings: tuple[Binding, ...]


class Scoping(Statement):
    """A `global` or `nonlocal` statement."""

    names: tuple[str, ...]
    is_global: bool


class FunctionDefinition(Statement):
    function: Function


class ClassDefinition(Statement):
    definition: Class


# ---------------------------------------------------------------- functions, classes, modules


class Parameter(metaclass=Fact):
    """`kind` is `positional`, `keyword`, `*` or `**`."""

    name: str
    kind: str
    annotation: Expression | None
    default: Expression | None


class Function(metaclass=Fact):
    """A `def`, `async def` or `lambda` (whose body is one `Return`). `at` is the whole of it, decorators
    excluded.
    """

    name: str
    qualname: str
    at: At
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expression, ...]
    returns: Expression | None
    body: tuple[Statement, ...]
    is_async: bool
    is_generator: bool
    is_lambda: bool
    local_names: frozenset[str]
    """The names bound in it, parameters included, `global` and `nonlocal` ones excluded."""
    global_names: frozenset[str]
    evidence: frozenset[str]
    """The names on which it calls a method that only the SDK's context has (see `sdk.aws.ONLY_DURABLE`)."""
    header_at: At
    """From the first decorator, or the `def`, to the end of the header."""


class Class(metaclass=Fact):
    name: str
    qualname: str
    at: At
    bases: tuple[Expression, ...]
    keywords: tuple[Keyword, ...]
    decorators: tuple[Expression, ...]
    body: tuple[Statement, ...]
    local_names: frozenset[str]


class ModuleFacts(metaclass=Fact):
    """One module. `functions` and `classes` list all of them, nested ones included, in source order."""

    path: Path
    source: SourceText
    body: tuple[Statement, ...]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    local_names: frozenset[str]
    mentions: frozenset[str]
    """Every name and attribute that is read somewhere in it."""
    function_of: dict[Expression | Statement | Function | Class, Function | None]
    """For each function, class, `try`, `with` and call: the function that it stands in, None at module
    level.
    """


def last_name(expression: Expression) -> str:
    """Return the last name of `a.b.c`, of what is called or subscripted, "" for anything else."""
    match expression:
        case Name():
            return expression.id
        case Attribute():
            return expression.name
        case Call():
            return last_name(expression.function)
        case Subscript():
            return last_name(expression.value)
    return ""


def blocks_of(statement: Statement) -> list[tuple[Statement, ...]]:
    """Return the blocks directly inside a compound statement, nested functions and classes excluded."""
    match statement:
        case If() | For() | While():
            return [statement.body, statement.orelse]
        case Try():
            handlers = [handler.body for handler in statement.handlers]
            return [statement.body, *handlers, statement.orelse, statement.finalbody]
        case With():
            return [statement.body]
        case Match():
            return [case.body for case in statement.cases]
    return []
