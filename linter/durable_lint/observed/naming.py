"""By which qualified names people know what is called at run time. Evaluates nothing of the user's.

Names are looked up as `getattr_static` does it: no property, no `__getattr__` runs because somebody watches.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

_Thing: TypeAlias = object


_MODULES = {"posix": "os", "nt": "os", "_io": "io", "_contextvars": "contextvars", "_decimal": "decimal"}
_TYPES = {
    "_thread.lock": "threading.Lock",
    "ContextVar": "contextvars.ContextVar",
    "decimal.ContextManager": "decimal.localcontext",
    "io.BufferedRandom": "builtins.open",
    "io.BufferedReader": "builtins.open",
    "io.BufferedWriter": "builtins.open",
    "io.FileIO": "builtins.open",
    "io.TextIOWrapper": "builtins.open",
}
"""What the interpreter calls things, and what people do."""


class Named(NamedTuple):
    """Something registered on an `ExitStack`: how it is shown, its qualified names, and the file of its
    code or "".
    """

    label: str
    names: tuple[str, ...]
    filename: str


class _Nothing:
    """Stands for what a name does not lead to."""


_NOTHING = _Nothing()


def qualified(frame: FrameType) -> str:
    """Return the qualified name of the function that a frame runs."""
    return f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}"


def of_frame(frame: FrameType) -> tuple[str, ...]:
    """Return the names of the function that a frame runs, and that of its class."""
    return (qualified(frame),)


def of_call(call: ast.Call | None, frame: FrameType) -> tuple[str, ...]:
    """Return the names of what a call calls, as far as looking tells."""
    return () if call is None else _of_expression(call.func, frame)


def of_manager(expression: ast.expr, frame: FrameType) -> tuple[str, ...]:
    """Return the names by which the manager that an expression gives is known."""
    if isinstance(expression, ast.Call):
        return _of_expression(expression.func, frame)
    value = _look(expression, frame)
    return () if value is _NOTHING else (_type_name(type(value)),)


def of_method(owner: _Thing, method: str) -> tuple[str, ...]:
    """Return the names of a method of an object."""
    return tuple(f"{_type_name(base)}.{method}" for base in type(owner).__mro__ if base is not object)


def of_generator(generator: _Thing) -> tuple[str, ...]:
    """Return the name of the function that a generator runs."""
    code = getattr(generator, "gi_code", None) or getattr(generator, "ag_code", None)
    frame = getattr(generator, "gi_frame", None) or getattr(generator, "ag_frame", None)
    if code is None:
        return ()
    return (f"{frame.f_globals.get('__name__', '') if frame is not None else ''}.{code.co_qualname}",)


def of_callbacks(callbacks: Iterable[tuple[bool, _Thing]]) -> list[Named]:
    """Return what is registered on an `ExitStack`, in the order in which it runs."""
    return [_registered(callback) for _, callback in reversed(list(callbacks))]


def _registered(callback: _Thing) -> Named:
    wrapped = getattr(callback, "__wrapped__", None)
    if wrapped is not None:
        names = _names(wrapped)
        return Named(_label(wrapped, names), names, _filename(wrapped))
    if isinstance(callback, MethodType):
        owner = callback.__self__
        generator = getattr(owner, "gen", None)
        if generator is not None and type(owner).__name__.endswith("GeneratorContextManager"):
            names = of_generator(generator)
            code = getattr(generator, "gi_code", None) or getattr(generator, "ag_code", None)
            return Named(_label(None, names), names, "" if code is None else code.co_filename)
        names = (_type_name(type(owner)),)
        return Named(
            f"{type(owner).__name__}.__exit__", names, _filename(getattr(callback, "__func__", None))
        )
    return Named(_label(callback, _names(callback)), _names(callback), _filename(callback))


def _label(thing: _Thing, names: tuple[str, ...]) -> str:
    mock = getattr(thing, "_mock_name", None) if "mock" in type(thing).__module__ else None
    if isinstance(mock, str):
        return mock
    return names[0].rpartition(".")[2] if names else type(thing).__name__


def _filename(thing: _Thing) -> str:
    if isinstance(thing, MethodType):
        thing = thing.__func__
    return thing.__code__.co_filename if isinstance(thing, FunctionType) else ""


def _of_expression(expression: ast.expr, frame: FrameType) -> tuple[str, ...]:
    spelled: tuple[str, ...] = ()
    if isinstance(expression, ast.Attribute):
        owner = _look(expression.value, frame)
        if isinstance(owner, ModuleType):
            spelled = (f"{owner.__name__}.{expression.attr}",)
        elif isinstance(owner, type):
            spelled = (f"{_type_name(owner)}.{expression.attr}",)
        elif owner is not _NOTHING:
            return of_method(owner, expression.attr)
    value = _look(expression, frame)
    return spelled if value is _NOTHING else (*spelled, *_names(value))


def _names(value: _Thing) -> tuple[str, ...]:
    if isinstance(value, type):
        return (_type_name(value),)
    if isinstance(value, MethodType):
        return of_method(value.__self__, value.__func__.__name__)
    if (
        isinstance(value, BuiltinFunctionType)
        and value.__self__ is not None
        and not isinstance(value.__self__, ModuleType)
    ):
        return of_method(value.__self__, value.__name__)
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return (f"{_module(value.__module__ or '')}.{value.__qualname__}",)
    return of_method(value, "__call__")


def _type_name(of: type) -> str:
    name = of.__qualname__ if of.__module__ == "builtins" else f"{_module(of.__module__)}.{of.__qualname__}"
    return _TYPES.get(name, name)


def _module(name: str) -> str:
    return _MODULES.get(name, name)


def _look(expression: ast.expr, frame: FrameType) -> _Thing:
    match expression:
        case ast.Name(id=name):
            for namespace in (frame.f_locals, frame.f_globals, vars(builtins)):
                if name in namespace:
                    found: _Thing = namespace[name]
                    return found
        case ast.Attribute(value=value, attr=attribute):
            owner = _look(value, frame)
            if owner is _NOTHING:
                return _NOTHING
            found = inspect.getattr_static(owner, attribute, _NOTHING)
            if isinstance(found, staticmethod | classmethod):
                return found.__func__
            return _NOTHING if inspect.isdatadescriptor(found) else found
    return _NOTHING
