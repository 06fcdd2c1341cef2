"""Evaluates functions abstractly, from the handlers inwards, until nothing new is found.

One `Solver` answers for one module: it starts from that module and the ones that can hand it a durable context, follows
calls wherever they lead, and knows afterwards for each function which arguments it gets and what each of its calls runs.
Calls are followed by their arguments (a frame a set of arguments), so that a helper that is harmless where it is called is
not blamed for what it does elsewhere. It judges nothing.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter, deque
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.frames import Frame, Mode, Record
from durable_lint.project.values import (
    NOTHING,
    Arguments,
    Callback,
    CallbackResult,
    ClassValue,
    Completion,
    Contents,
    Context,
    ContextMethod,
    External,
    FunctionValue,
    Imported,
    Instance,
    Keywords,
    Manager,
    ModuleValue,
    Operation,
    OperationContext,
    Partial,
    Running,
    Scope,
    Super,
    Terminal,
    TerminalMethod,
    TupleValue,
    Unseen,
    Value,
    Values,
    inner,
    one,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from durable_lint.project.modules import Modules

_FRAMES_A_FUNCTION = 24
_VALUES_A_NAME = 48
_PASSES = 6
_BUILTINS = frozenset(vars(builtins))
_SDK_MODULES = frozenset(
    "config context exceptions execution plugin types waits retries concurrency models serdes state".split()
)
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_WRAPPING_ANNOTATIONS = frozenset(
    {"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "InitVar"}
)
_HOLDING_ANNOTATIONS = frozenset(
    "list List tuple Tuple set Set frozenset dict Dict Mapping Sequence Iterable Iterator Collection deque".split()
)

NEVER_RUN = frozenset(
    "submit register callback add_done_callback add_callback push push_async_callback Thread Process Timer partial "
    "call_soon call_later call_soon_threadsafe signal finalize ref append add put put_nowait insert extend setdefault "
    "update appendleft defer connect subscribe wraps update_wrapper isinstance issubclass id repr str type hasattr "
    "getattr setattr callable len hash format print cast warn info debug warning error exception critical log bind "
    "set_logger partialmethod singledispatch lru_cache cache copy deepcopy replace patch MagicMock Mock assert_called_with "
    "get setattr remove discard index count field ThreadPoolExecutor dir vars bool".split()
)
"""Names of functions and methods that keep what they are given, or look at it, and do not run it."""

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
_KEY_CALLS = frozenset({"builtins.sorted", "builtins.min", "builtins.max", "functools.reduce"})
_DECORATED_KIND = {
    **dict.fromkeys(aws.STEP_DECORATORS, "step"),
    **dict.fromkeys(aws.SUBMITTER_DECORATORS, "submitter"),
    **dict.fromkeys(aws.CHILD_DECORATORS, "child"),
    **dict.fromkeys(aws.BRANCH_DECORATORS, "branch"),
    "contextlib.contextmanager": "manager",
    "contextlib.asynccontextmanager": "manager",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
}
_ROOT_CLASSES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum"})
_STACKS = ("contextlib.ExitStack.", "contextlib.AsyncExitStack.")
STACK_REGISTRATIONS = frozenset(
    "callback push enter_context push_async_callback push_async_exit enter_async_context".split()
)
_OPERATION_KINDS = frozenset({"step", "submitter", "child", "branch"})


class Names:
    """What the configuration says of names: which suspend and which are contexts. Patterns may end in `*`."""

    def __init__(self, suspending: Iterable[str] = (), context_types: Iterable[str] = ()) -> None:
        self.suspends = pattern_matcher(suspending)
        self.is_context_type = pattern_matcher(context_types)


def pattern_matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a qualified name is one of `patterns` (`*` stands for any text)."""
    exact = {pattern for pattern in patterns if "*" not in pattern}
    globs = [pattern for pattern in patterns if "*" in pattern]
    if not globs:
        return exact.__contains__
    joined = "|".join(".*".join(re.escape(part) for part in pattern.split("*")) for pattern in globs)
    expression = re.compile(joined)
    return lambda name: name in exact or expression.fullmatch(name) is not None


class Solver:
    """The evaluation for one module. Call `solve` once, then read `frames_of` and the frames' records."""

    def __init__(self, modules: Modules, main: m.ModuleFacts, names: Names) -> None:
        self.modules = modules
        self.main = main
        self.names = names
        self.frames: dict[object, Frame] = {}
        self.frames_of: dict[m.Function, list[Frame]] = {}
        self.unresolved: dict[m.Call, tuple[m.ModuleFacts, str]] = {}
        self._module_frames: dict[m.ModuleFacts, Frame] = {}
        self._class_frames: dict[ClassValue, Frame] = {}
        self._class_by_frame: dict[Frame, ClassValue] = {}
        self._bases: dict[ClassValue, Values] = {}
        self._classes: dict[m.Class, dict[ClassValue, None]] = {}
        self._methods: dict[m.Function, m.Class] = {}
        self._heap: dict[tuple[ClassValue, str], set[Value]] = {}
        self._readers: dict[object, dict[Frame, None]] = {}
        self._queue: deque[Frame] = deque()
        self._queued: set[Frame] = set()
        self._current: Frame | None = None
        self._changed = False
        self._counts: Counter[object] = Counter()
        self._resolved: dict[Imported, Values] = {}
        self._definitions: dict[m.Function, FunctionValue] = {}
        self._slice: list[m.ModuleFacts] = []

    # ------------------------------------------------ the fixed point

    def solve(self) -> None:
        """Evaluate until nothing changes. Always ends: the sets only grow, and their sizes are bounded."""
        self._slice = [self.main, *self.modules.callers_of(self.main.path)]
        for module in self._slice:
            self.module_frame(module)
        self._run_queue()
        mentioned: set[str] = set().union(*(module.mentions for module in self._slice))
        functions = [(module, function) for module in self._slice for function in module.functions]
        for only_unmentioned in (True, False):
            for module, function in functions:
                if function in self.frames_of or (only_unmentioned and function.name in mentioned):
                    continue
                self._root(module, function)
                self._run_queue()

    def _root(self, module: m.ModuleFacts, function: m.Function) -> None:
        """Evaluate a function that nobody was seen to call, as its decorators and annotations describe it."""
        around = module.function_of.get(function)
        closures: list[Frame | None] = [None] if around is None else list(self.frames_of.get(around, ()))
        for closure in closures[:4]:
            receivers: Iterable[Value | None] = [None]
            definition = self._methods.get(function)
            if definition is not None:
                receivers = [*map(Instance, self._classes.get(definition, ()))][:2] or [None]
            for receiver in receivers:
                value = FunctionValue(function, module, closure, receiver)
                mode = closure.mode if closure is not None else Mode()
                self.frame_for(value, Arguments(), mode).is_root = True

    def evaluate(self, value: FunctionValue) -> Frame:
        """Return the frame of a function called without known arguments, evaluated: for questions asked afterwards."""
        frame = self.frame_for(value, Arguments(), Mode())
        self._run_queue()
        return frame

    def _run_queue(self) -> None:
        while self._queue:
            frame = self._queue.popleft()
            self._queued.discard(frame)
            self._run(frame)

    def _run(self, frame: Frame) -> None:
        outer = self._current
        self._current = frame
        body = frame.module.body if frame.function is None else frame.function.body
        for _ in range(_PASSES):
            self._changed = False
            self._block(frame, body)
            if not self._changed:
                break
        self._current = outer

    def _enqueue(self, frame: Frame) -> None:
        if frame not in self._queued:
            self._queued.add(frame)
            self._queue.append(frame)

    def _depends(self, key: object) -> None:
        if self._current is not None:
            self._readers.setdefault(key, {})[self._current] = None

    def _grew(self, key: object) -> None:
        self._changed = True
        for reader in self._readers.get(key, ()):
            if reader is not self._current:
                self._enqueue(reader)

    def _add(self, into: set[Value], values: Iterable[Value], key: object) -> None:
        before = len(into)
        for value in values:
            if len(into) < _VALUES_A_NAME or isinstance(value, (Context, OperationContext)):
                into.add(value)
        if len(into) > before:
            self._grew(key)

    # ------------------------------------------------ frames

    def module_frame(self, module: m.ModuleFacts) -> Frame:
        """Return the frame of a module's own body."""
        frame = self._module_frames.get(module)
        if frame is None:
            frame = Frame(module, None, None, Mode())
            self._module_frames[module] = frame
            self._enqueue(frame)
        return frame

    def frame_for(self, value: FunctionValue, arguments: Arguments, mode: Mode) -> Frame:
        """Return the frame of a function called with `arguments`, and have it evaluated if it is new."""
        function = value.function
        bound = self._bind(value, arguments)
        group = (function, value.closure)
        key: object = (
            function,
            value.closure,
            mode,
            value.receiver,
            tuple(sorted(bound.items(), key=_by_name)),
        )
        frame = self.frames.get(key)
        if frame is None and self._counts[group] >= _FRAMES_A_FUNCTION:
            key = (function, value.closure, mode.attempt, "merged")
            frame = self.frames.get(key)
        if frame is None:
            self._counts[group] += 1
            frame = Frame(value.module, function, value.closure, mode)
            self.frames[key] = frame
            self.frames_of.setdefault(function, []).append(frame)
            self._enqueue(frame)
        for name, values in bound.items():
            into = frame.names.setdefault(name, set())
            before = len(into)
            into |= values
            if len(into) > before:
                self._enqueue(frame)
                self._grew((frame, name))
        return frame

    def _bind(self, value: FunctionValue, arguments: Arguments) -> dict[str, Values]:
        bound: dict[str, Values] = {}
        positional = list(arguments.positional)
        if value.receiver is not None and value.kind != "static":
            positional.insert(0, one(value.receiver))
        keywords = dict(arguments.keywords)
        parameters = value.function.parameters
        where = value.closure or self.module_frame(value.module)
        for parameter in parameters:
            if parameter.kind == "positional":
                if positional:
                    values = positional.pop(0)
                elif parameter.name in keywords:
                    values = keywords.pop(parameter.name)
                else:
                    values = arguments.rest | self._default(parameter, where)
            elif parameter.kind == "keyword":
                if parameter.name in keywords:
                    values = keywords.pop(parameter.name)
                else:
                    values = arguments.rest | self._default(parameter, where)
            elif parameter.kind == "*":
                values = one(TupleValue(tuple(positional)))
                positional = []
            else:
                values = one(Keywords(tuple(sorted(keywords.items(), key=_by_name))))
            bound[parameter.name] = self._parameter(value.function, parameter, values, where)
        return bound

    def _default(self, parameter: m.Parameter, where: Frame) -> Values:
        return NOTHING if parameter.default is None else self.value(where, parameter.default)

    def _parameter(
        self, function: m.Function, parameter: m.Parameter, values: Values, where: Frame
    ) -> Values:
        """Add what the annotation, or the methods called on it, say of a parameter.

        What a call hands over wins: a step's context stays one, whatever the annotation claims.
        """
        if any(isinstance(v, (Context, OperationContext, Callback, Terminal)) for v in values):
            return values
        if parameter.annotation is not None:
            return values | self.annotated(where, parameter.annotation, function)
        if parameter.name in function.evidence and not any(isinstance(v, Instance) for v in values):
            return values | one(Context(function))
        return values

    # ------------------------------------------------ names

    def name(self, frame: Frame, name: str) -> Values:
        """Return what a name can be, read in `frame`."""
        scope: Frame | None = frame
        if frame in self._class_by_frame:
            if name in self._class_by_frame[frame].definition.local_names and frame.names.get(name):
                return self._read(frame, name)
            scope = frame.closure  # functions do not see the names of a class around them
        while scope is not None and scope.function is not None:
            if name in scope.function.local_names:
                return self._read(scope, name)
            if name in scope.function.global_names:
                break
            scope = scope.closure
        return self.global_name(frame.module, name)

    def global_name(self, module: m.ModuleFacts, name: str) -> Values:
        """Return what a name of a module can be, star imports and built-ins included."""
        frame = self.module_frame(module)
        if name in module.local_names:
            return self._read(frame, name)
        found = NOTHING
        for star in self._read(frame, "*"):
            if isinstance(star, ModuleValue) and star.module is not module:
                found |= self.global_name(star.module, name) if name in _public(star.module) else NOTHING
        if found:
            return found
        return one(External("builtins." + name)) if name in _BUILTINS else NOTHING

    def _read(self, frame: Frame, name: str) -> Values:
        self._depends((frame, name))
        found = frame.names.get(name)
        if not found:
            return NOTHING
        values: set[Value] = set()
        for value in found:
            if isinstance(value, Imported):
                values |= self._import(value)
            else:
                values.add(value)  # type: ignore[arg-type]
        return frozenset(values)

    def _import(self, imported: Imported) -> Values:
        known = self._resolved.get(imported)
        if known is not None:
            return known
        self._resolved[imported] = NOTHING  # what two modules import from each other in a circle
        binding, importer = imported.binding, imported.module.path
        module = None
        if binding.level or binding.module.partition(".")[0] not in (aws.PACKAGE, aws.RUNTIME):
            module = self.modules.named(binding.module, importer, binding.level)
        if binding.attribute is None or binding.local == "*":
            found = one(ModuleValue(module)) if module else one(External(aws.canonical(binding.module)))
        elif module is not None and (
            binding.attribute in module.local_names or self._read(self.module_frame(module), "*")
        ):
            del self._resolved[imported]
            found = self.global_name(module, binding.attribute)
            if found:
                return found
            submodule = self._submodule(binding, importer)
            return one(ModuleValue(submodule)) if submodule else NOTHING
        else:
            submodule = self._submodule(binding, importer)
            if submodule is not None:
                found = one(ModuleValue(submodule))
            elif module is not None:
                del self._resolved[imported]
                self._depends((self.module_frame(module), binding.attribute))
                return NOTHING
            else:
                dots = "." * binding.level
                found = one(External(aws.canonical(f"{dots}{binding.module}.{binding.attribute}")))
        self._resolved[imported] = found
        return found

    def _submodule(self, binding: m.Binding, importer: Path) -> m.ModuleFacts | None:
        if not binding.level and binding.module.partition(".")[0] in (aws.PACKAGE, aws.RUNTIME):
            return None
        name = f"{binding.module}.{binding.attribute}" if binding.module else str(binding.attribute)
        return self.modules.named(name, importer, binding.level)

    # ------------------------------------------------ annotations

    def annotated(self, where: Frame, annotation: m.Expression, owner: m.Function | None) -> Values:
        """Return what something annotated so can be: a context, a callback, an instance of a class."""
        match annotation:
            case m.Constant(kind="str"):
                found = NOTHING
                for dotted in _DOTTED.findall(str(annotation.value)):
                    found |= self._instances(self._dotted(where, dotted), owner)
                return found
            case m.Name() | m.Attribute():
                return self._instances(self.value(where, annotation), owner)
            case m.Compound():
                found = NOTHING
                for operand in annotation.operands:
                    found |= self.annotated(where, operand, owner)
                return found
            case m.Subscript():
                base = _last_name(annotation.value)
                if base in _WRAPPING_ANNOTATIONS:
                    return self._annotated_parts(where, annotation.index, owner)
                if base in _HOLDING_ANNOTATIONS:
                    held = self._annotated_parts(where, annotation.index, owner)
                    return one(Contents(held)) if held else NOTHING
                if base in {"Callable", "type", "Type", "Literal"}:
                    return NOTHING
                return self.annotated(where, annotation.value, owner)
        return NOTHING

    def _annotated_parts(self, where: Frame, index: m.Expression, owner: m.Function | None) -> Values:
        parts = index.items if isinstance(index, m.Sequence) else (index,)
        found = NOTHING
        for part in parts:
            found |= self.annotated(where, part, owner)
        return found

    def _dotted(self, where: Frame, dotted: str) -> Values:
        first, *rest = dotted.strip(".").split(".")
        values = self.name(where, first)
        for attribute in rest:
            values = self.attribute(values, attribute)
        return values

    def _instances(self, types: Values, owner: m.Function | None) -> Values:
        found: set[Value] = set()
        for value in types:
            if isinstance(value, External) and not value.called:
                found |= self._external_instance(value.name, owner)
            elif isinstance(value, ClassValue):
                if self.is_context_class(value):
                    found.add(Context(owner))
                else:
                    found.add(Instance(value))
        return frozenset(found)

    def _external_instance(self, name: str, owner: m.Function | None) -> Values:
        if name in aws.CONTEXT_TYPES or self.names.is_context_type(name):
            return one(Context(owner))
        if name in aws.OPERATION_CONTEXT_TYPES:
            return one(OperationContext())
        if name in aws.CALLBACK_TYPES:
            return one(Callback())
        if name in aws.TERMINAL_TYPES:
            return one(Terminal(owner, None)) if owner is not None else NOTHING
        if name.startswith(("builtins.", "typing.", "collections.")):
            return NOTHING
        return one(External(name, called=True))

    def is_context_class(self, value: ClassValue) -> bool:
        """Whether a class of the project is a durable context: a subclass of the SDK's, or configured as one."""
        if self.names.is_context_type(value.definition.name) or self.names.is_context_type(
            self.qualified(value.module, value.definition.qualname)
        ):
            return True
        return any(
            isinstance(base, External) and base.name in aws.CONTEXT_TYPES for base in self.all_bases(value)
        )

    def qualified(self, module: m.ModuleFacts, qualname: str) -> str:
        """Return `package.module.qualname` for a definition of the project, as far as its path tells."""
        parts = [module.path.stem] if module.path.stem != "__init__" else []
        folder = module.path.parent
        while (folder / "__init__.py").exists() and folder != folder.parent:
            parts.insert(0, folder.name)
            folder = folder.parent
        return ".".join([*parts, qualname])

    # ------------------------------------------------ classes

    def class_frame(self, value: ClassValue) -> Frame:
        """Return the frame of a class body, whose names are the class's attributes."""
        frame = self._class_frames.get(value)
        if frame is None:
            frame = Frame(value.module, None, value.closure, Mode())
            self._class_frames[value] = frame
            self._class_by_frame[frame] = value
            self._classes.setdefault(value.definition, {})[value] = None
            for statement in value.definition.body:
                if isinstance(statement, m.FunctionDefinition):
                    self._methods[statement.function] = value.definition
        return frame

    def all_bases(self, value: ClassValue) -> list[Value]:
        """Return the bases of a class and theirs, in the order in which attributes are looked up."""
        found: list[Value] = []
        waiting = [*self._sorted_bases(value)]
        while waiting:
            base = waiting.pop(0)
            if base in found:
                continue
            found.append(base)
            if isinstance(base, ClassValue):
                waiting = [*self._sorted_bases(base), *waiting]
        return found

    def _sorted_bases(self, value: ClassValue) -> list[Value]:
        self._depends(("bases", value))
        where = value.closure or self.module_frame(value.module)
        bases: list[Value] = []
        for base in value.definition.bases:
            plain = base.value if isinstance(base, m.Subscript) else base
            candidates = [v for v in self.value(where, plain) if isinstance(v, (ClassValue, External))]
            bases += [c for c in candidates if c != value]
        return bases

    def member(self, value: ClassValue, name: str) -> Values:
        """Return a class's attribute `name`, inherited ones included."""
        for owner in (value, *self.all_bases(value)):
            if isinstance(owner, ClassValue):
                found = self._read(self.class_frame(owner), name)
                if found:
                    return found
        return NOTHING

    def heap(self, value: ClassValue, name: str) -> Values:
        """Return what was stored in the attribute `name` of instances of a class."""
        self._depends((value, name))
        return frozenset(self._heap.get((value, name), ()))

    def _store(self, value: ClassValue, name: str, values: Values) -> None:
        self._add(self._heap.setdefault((value, name), set()), values, (value, name))

    # ------------------------------------------------ statements

    def _block(self, frame: Frame, block: tuple[m.Statement, ...]) -> None:
        for statement in block:
            self._statement(frame, statement)

    def _statement(self, frame: Frame, statement: m.Statement) -> None:
        match statement:
            case m.ExpressionStatement():
                self.value(frame, statement.value)
            case m.Assignment():
                self._assignment(frame, statement)
            case m.AugmentedAssignment():
                values = self.value(frame, statement.value)
                self.value(frame, statement.target)
                if values:
                    self._assign(frame, statement.target, values)
            case m.Return():
                if statement.value is not None:
                    self._returns(frame, self.value(frame, statement.value))
            case m.If() | m.While():
                self.value(frame, statement.test)
                self._block(frame, statement.body)
                self._block(frame, statement.orelse)
            case m.For():
                values = self._iterate(frame, statement, self.value(frame, statement.iterable))
                self._assign(frame, statement.target, values)
                self._block(frame, statement.body)
                self._block(frame, statement.orelse)
            case m.Try():
                self._block(frame, statement.body)
                for handler in statement.handlers:
                    if handler.type is not None:
                        self.value(frame, handler.type)
                    self._block(frame, handler.body)
                self._block(frame, statement.orelse)
                self._block(frame, statement.finalbody)
            case m.With():
                for item in statement.items:
                    self._item(frame, item)
                self._block(frame, statement.body)
            case m.Match():
                values = self.value(frame, statement.subject)
                for case in statement.cases:
                    for pattern_value in case.values:
                        self.value(frame, pattern_value)
                    for name in case.names:
                        self._write(frame, name, values | self.elements(values))
                    if case.guard is not None:
                        self.value(frame, case.guard)
                    self._block(frame, case.body)
            case m.FunctionDefinition():
                self._define_function(frame, statement.function)
            case m.ClassDefinition():
                self._define_class(frame, statement.definition)
            case m.Import():
                for binding in statement.bindings:
                    self._write(frame, binding.local, one(Imported(binding, frame.module)))
                    if binding.local == "*":
                        found = self._import(Imported(binding, frame.module))
                        self._write(self.module_frame(frame.module), "*", found)
            case m.Raise():
                for part in (statement.exception, statement.cause):
                    if part is not None:
                        self.value(frame, part)
            case m.Assertion():
                self.value(frame, statement.test)
            case m.Deletion():
                for target in statement.targets:
                    self.value(frame, target)

    def _assignment(self, frame: Frame, statement: m.Assignment) -> None:
        values = NOTHING if statement.value is None else self.value(frame, statement.value)
        if statement.annotation is not None and not values:
            values = self.annotated(frame, statement.annotation, frame.function)
        for target in statement.targets:
            self._assign(frame, target, values)

    def _assign(self, frame: Frame, target: m.Expression, values: Values) -> None:
        match target:
            case m.Name():
                self._write(frame, target.id, values)
            case m.Attribute():
                for base in self.value(frame, target.value):
                    if isinstance(base, Instance):
                        self._store(base.of, target.name, values)
                    elif isinstance(base, ClassValue):
                        self._write(self.class_frame(base), target.name, values)
            case m.Sequence():
                for index, item in enumerate(target.items):
                    part = self._unpacked(values, index, len(target.items))
                    inner_target = item.value if isinstance(item, m.Starred) else item
                    self._assign(frame, inner_target, part)
            case m.Subscript():
                self.value(frame, target.index)
                base_values = self.value(frame, target.value)
                if values and isinstance(target.value, (m.Name, m.Attribute)):
                    held = one(Contents(values))
                    if not held <= base_values:
                        self._assign(frame, target.value, held)
            case m.Starred():
                self._assign(frame, target.value, values)

    def _unpacked(self, values: Values, index: int, count: int) -> Values:
        found = NOTHING
        for value in values:
            if isinstance(value, TupleValue):
                if len(value.items) == count:
                    found |= value.items[index]
                else:
                    found |= frozenset().union(*value.items) if value.items else NOTHING
            else:
                found |= self.elements(one(value))
        return found

    def _write(self, frame: Frame, name: str, values: Values) -> None:
        if not values:
            return
        target = frame
        if frame.function is not None and name not in frame.function.local_names:
            if name in frame.function.global_names:
                target = self.module_frame(frame.module)
            else:
                scope = frame.closure
                while scope is not None and scope.function is not None:
                    if name in scope.function.local_names:
                        target = scope
                        break
                    scope = scope.closure
        self._add(target.names.setdefault(name, set()), values, (target, name))  # type: ignore[arg-type]

    def _returns(self, frame: Frame, values: Values) -> None:
        self._add(frame.returns, values, ("returns", frame))  # type: ignore[arg-type]

    def _returned(self, frame: Frame) -> Values:
        self._depends(("returns", frame))
        return frozenset(frame.returns)  # type: ignore[arg-type]

    def yielded(self, frame: Frame) -> Values:
        self._depends(("yields", frame))
        return frozenset(frame.yields)  # type: ignore[arg-type]

    def _define_function(self, frame: Frame, function: m.Function) -> None:
        closure = self._closure(frame)
        value = FunctionValue(function, frame.module, closure)
        values = one(value)
        for decorator in reversed(function.decorators):
            values = self._decorate(frame, self.value(frame, decorator), values, decorator)
        self._definitions[function] = value
        self._write(frame, function.name, values)

    def _closure(self, frame: Frame) -> Frame | None:
        if frame in self._class_by_frame:
            return frame.closure
        return frame if frame.function is not None else None

    def _decorate(self, frame: Frame, decorators: Values, values: Values, expression: m.Expression) -> Values:
        for decorator in decorators:
            if isinstance(decorator, External):
                if decorator.name in aws.HANDLER_DECORATORS:
                    self._handler(values)
                    continue
                kind = _DECORATED_KIND.get(decorator.name)
                if kind is not None:
                    values = self._of_kind(values, kind)
            elif isinstance(decorator, (FunctionValue, Partial)) and not _is_kind(decorator, "manager"):
                record = Record()
                given = Arguments((values,))
                wrapped = self._call_value(frame, decorator, given, record, None)
                if any(isinstance(w, (FunctionValue, Partial, ClassValue, Instance)) for w in wrapped):
                    values = wrapped
        return values

    def _of_kind(self, values: Values, kind: str) -> Values:
        found: set[Value] = set()
        for value in values:
            if isinstance(value, FunctionValue):
                changed = FunctionValue(value.function, value.module, value.closure, value.receiver, kind)
                found.add(changed)
                if kind in _OPERATION_KINDS:
                    self._start(changed, kind, Arguments(), Mode())
            else:
                found.add(value)
        return frozenset(found)

    def _start(self, value: FunctionValue, kind: str, arguments: Arguments, mode: Mode) -> Frame:
        """Return the frame of an SDK-decorated function as the operation that it is."""
        function = value.function
        plain = FunctionValue(function, value.module, value.closure, value.receiver)
        if kind == "submitter":
            first: tuple[Values, ...] = (NOTHING, one(OperationContext()))
        else:
            first = (one(OperationContext() if kind == "step" else Context(function)),)
        given = Arguments(first + arguments.positional, arguments.keywords, arguments.rest)
        entered = mode.enter(function, attempt=kind in {"step", "submitter"})
        return self.frame_for(plain, given, entered)

    def _handler(self, values: Values) -> None:
        for value in values:
            if isinstance(value, FunctionValue):
                context = one(Context(value.function))
                self.frame_for(value, Arguments((NOTHING, context)), Mode().enter(value.function))
                self._raw_handler(value)

    def _raw_handler(self, value: FunctionValue) -> None:
        """A wrapper around a handler is a handler; so is what it wraps, even if that can't be followed."""
        closure = value.closure
        if closure is None or closure.function is None:
            return
        for parameter in closure.function.parameters[:1]:
            for wrapped in self._read(closure, parameter.name):
                if isinstance(wrapped, FunctionValue) and wrapped.function not in self.frames_of:
                    self._handler(one(wrapped))

    def _define_class(self, frame: Frame, definition: m.Class) -> None:
        value = ClassValue(definition, frame.module, self._closure(frame))
        body = self.class_frame(value)
        self._block(body, definition.body)
        for decorator in definition.decorators:
            self.value(frame, decorator)
        self._write(frame, definition.name, one(value))

    # ------------------------------------------------ with and for

    def _item(self, frame: Frame, item: m.Item) -> None:
        managers = self.value(frame, item.manager)
        record = Record()
        entered: set[Value] = set()
        for manager in managers:
            entered |= self._enter(frame, manager, record, item)
        frame.records[item] = record
        if item.target is not None:
            self._assign(frame, item.target, frozenset(entered))

    def _enter(self, frame: Frame, manager: Value, record: Record, item: m.Item | None) -> Values:
        match manager:
            case Scope():
                record.durable = "terminal_scope"
                return one(Terminal(manager.call, manager.operation))
            case Manager():
                record.targets[manager.frame] = None
                return self.yielded(manager.frame)
            case Instance():
                found = NOTHING
                for name in ("__enter__", "__exit__", "__aenter__", "__aexit__"):
                    results = self._call_values(
                        frame, self.attribute(one(manager), name), Arguments(), record
                    )
                    found |= results if name in {"__enter__", "__aenter__"} else NOTHING
                return found or one(manager)
            case External(
                name="contextlib.closing" | "contextlib.nullcontext" | "contextlib.aclosing", called=True
            ):
                call = None if item is None else item.manager
                if isinstance(call, m.Call) and call.arguments:
                    return self.value(frame, call.arguments[0])
                return NOTHING
            case External():
                return one(manager)
        return NOTHING

    def _iterate(self, frame: Frame, key: object, values: Values) -> Values:
        """Return the elements of `values`, and record the generators that iterating runs under `key`."""
        frames = [value.frame for value in values if isinstance(value, Running)]
        if frames:
            record = frame.records.setdefault(key, Record())
            record.targets.update(dict.fromkeys(frames))
        return self.elements(values)

    def elements(self, values: Values) -> Values:
        """Return what iterating over `values` can give."""
        found: set[Value] = set()
        for value in values:
            match value:
                case Contents():
                    found |= value.items
                case TupleValue():
                    for item in value.items:
                        found |= item
                case Keywords():
                    for _, item in value.items:
                        found |= item
                case Running():
                    found |= self.yielded(value.frame)
        return frozenset(found)

    # ------------------------------------------------ expressions

    def value(self, frame: Frame, expression: m.Expression) -> Values:
        """Return what an expression can be, and record the calls in it."""
        match expression:
            case m.Name():
                return self.name(frame, expression.id)
            case m.Constant():
                return NOTHING
            case m.Attribute():
                return self.attribute(self.value(frame, expression.value), expression.name, frame)
            case m.Call():
                return self._call(frame, expression)
            case m.LambdaExpression():
                return one(FunctionValue(expression.function, frame.module, self._closure(frame)))
            case m.Sequence():
                return self._sequence(frame, expression)
            case m.Mapping():
                found = NOTHING
                for key in expression.keys:
                    if key is not None:
                        self.value(frame, key)
                for value in expression.values:
                    found |= self.value(frame, value)
                return one(Contents(found))
            case m.Conditional():
                self.value(frame, expression.test)
                return self.value(frame, expression.body) | self.value(frame, expression.orelse)
            case m.Boolean():
                found = NOTHING
                for value in expression.values:
                    found |= self.value(frame, value)
                return found
            case m.NamedExpression():
                found = self.value(frame, expression.value)
                self._assign(frame, expression.target, found)
                return found
            case m.Subscript():
                return self._subscript(frame, expression)
            case m.Starred():
                return self.value(frame, expression.value)
            case m.Await():
                return self._await(frame, expression)
            case m.Yield():
                return self._yield(frame, expression)
            case m.Comprehension():
                return self._comprehension(frame, expression)
            case m.Negation():
                self.value(frame, expression.value)
            case m.Comparison():
                self.value(frame, expression.left)
                for right in expression.rights:
                    self.value(frame, right)
            case m.Compound():
                found = NOTHING
                for operand in expression.operands:
                    found |= self.value(frame, operand)
                return frozenset(v for v in found if isinstance(v, (Contents, TupleValue)) or _is_type(v))
        return NOTHING

    def _sequence(self, frame: Frame, expression: m.Sequence) -> Values:
        items = [self.value(frame, item) for item in expression.items]
        starred = any(isinstance(item, m.Starred) for item in expression.items)
        if expression.kind == "tuple" and not starred and len(items) <= 16:
            return one(TupleValue(tuple(items)))
        found = NOTHING
        for item, values in zip(expression.items, items, strict=True):
            found |= self.elements(values) if isinstance(item, m.Starred) else values
        return one(Contents(found))

    def _subscript(self, frame: Frame, expression: m.Subscript) -> Values:
        values = self.value(frame, expression.value)
        index = expression.index
        inside = self.value(frame, index)
        if (
            _last_name(expression.value) in _WRAPPING_ANNOTATIONS
        ):  # an alias: `Ctx = Optional[DurableContext]`
            return inside | self.elements(inside)
        found: set[Value] = set()
        for value in values:
            if (
                isinstance(value, TupleValue)
                and isinstance(index, m.Constant)
                and isinstance(index.value, int)
            ):
                if -len(value.items) <= index.value < len(value.items):
                    found |= value.items[index.value]
            elif isinstance(value, Keywords) and isinstance(index, m.Constant):
                found |= dict(value.items).get(str(index.value), NOTHING)
            elif isinstance(value, (ClassValue, External)) and not getattr(value, "called", False):
                found.add(value)  # `Generic[int]`
            else:
                found |= self.elements(one(value))
        return frozenset(found)

    def _await(self, frame: Frame, expression: m.Await) -> Values:
        values = self.value(frame, expression.value)
        frames = [value.frame for value in values if isinstance(value, Running)]
        found: Values = frozenset(v for v in values if not isinstance(v, Running))
        if frames:
            record = frame.records.setdefault(expression, Record())
            record.targets.update(dict.fromkeys(frames))
            for running in frames:
                found |= self._returned(running)
        return found

    def _yield(self, frame: Frame, expression: m.Yield) -> Values:
        if expression.value is None:
            return NOTHING
        values = self.value(frame, expression.value)
        if expression.delegates:
            values = self._iterate(frame, expression, values)
        self._add(frame.yields, values, ("yields", frame))  # type: ignore[arg-type]
        return NOTHING

    def _comprehension(self, frame: Frame, expression: m.Comprehension) -> Values:
        for clause in expression.clauses:
            values = self._iterate(frame, clause, self.value(frame, clause.iterable))
            self._assign(frame, clause.target, values)
            for condition in clause.conditions:
                self.value(frame, condition)
        found = NOTHING
        for element in expression.elements:
            found |= self.value(frame, element)
        return one(Contents(found))

    # ------------------------------------------------ attributes

    def attribute(self, values: Values, name: str, frame: Frame | None = None) -> Values:
        """Return the attribute `name` of `values`."""
        found: set[Value] = set()
        for value in values:
            found |= self._attribute(value, name, frame)
        return frozenset(found)

    def _attribute(self, value: Value, name: str, frame: Frame | None) -> Values:
        match value:
            case External():
                return one(External(_joined(value.name, name)))
            case Context():
                if name in aws.SUSPENDING or name == aws.CREATE_CALLBACK:
                    return one(ContextMethod(value, name))
                return one(External("logging.getLogger", called=True)) if name == "logger" else NOTHING
            case OperationContext():
                return one(External("logging.getLogger", called=True)) if name == "logger" else NOTHING
            case Callback():
                return one(CallbackResult()) if name == "result" else NOTHING
            case Terminal():
                return one(TerminalMethod(value, name))
            case Instance():
                return self._instance_attribute(value, name, frame)
            case Super():
                return self._super_attribute(value, name)
            case ClassValue():
                found = self.member(value, name)
                return frozenset(_bound_to_class(v, value) for v in found)
            case ModuleValue():
                return self._module_attribute(value.module, name)
            case Unseen():
                return one(value)
        return NOTHING

    def _module_attribute(self, module: m.ModuleFacts, name: str) -> Values:
        if name in module.local_names or self._read(self.module_frame(module), "*"):
            return self.global_name(module, name)
        submodule = self.modules.named(name, module.path, 1)
        return one(ModuleValue(submodule)) if submodule is not None else NOTHING

    def _instance_attribute(self, value: Instance, name: str, frame: Frame | None) -> Values:
        found = set(self.heap(value.of, name))
        members = self.member(value.of, name)
        for member in members:
            if isinstance(member, FunctionValue) and member.kind == "property":
                if frame is not None:
                    getter = FunctionValue(member.function, member.module, member.closure, value)
                    found |= self._returned(self.frame_for(getter, Arguments(), frame.mode))
            else:
                found.add(_bound(member, value))
        if not found and self.is_context_class(value.of):
            return self._attribute(Context(None), name, frame)
        if not found and not name.startswith("__"):
            # What is inherited from a class that cannot be seen.
            for base in self.all_bases(value.of):
                if isinstance(base, External) and base.name not in _ROOT_CLASSES:
                    found.add(External(_joined(base.name, name)))
        return frozenset(found)

    def _super_attribute(self, value: Super, name: str) -> Values:
        order = [value.instance.of, *self.all_bases(value.instance.of)]
        behind = order[order.index(value.after) + 1 :] if value.after in order else order[1:]
        for owner in behind:
            if isinstance(owner, ClassValue):
                found = self._read(self.class_frame(owner), name)
                if found:
                    return frozenset(_bound(v, value.instance) for v in found)
        return NOTHING

    # ------------------------------------------------ calls

    def _call(self, frame: Frame, call: m.Call) -> Values:
        callee = self.value(frame, call.function)
        arguments = self.arguments(frame, call)
        record = Record(callee=callee)
        frame.records[call] = record
        if isinstance(call.function, m.Attribute):
            contained = self._container_call(frame, call.function, arguments)
            if contained is not None:
                return contained
        if isinstance(call.function, m.Name) and call.function.id == "super" and not call.arguments:
            return self._super(frame)
        result = self._call_values(frame, callee, arguments, record, call)
        if not callee:
            result |= self._unknown_call(frame, call, arguments, record)
        return result

    def arguments(self, frame: Frame, call: m.Call) -> Arguments:
        """Return the evaluated arguments of a call."""
        positional: list[Values] = []
        rest: set[Value] = set()
        for argument in call.arguments:
            values = self.value(frame, argument)
            if isinstance(argument, m.Starred):
                tuples = [v for v in values if isinstance(v, TupleValue)]
                if len(tuples) == 1 and len(values) == 1:
                    positional += tuples[0].items
                else:
                    rest |= self.elements(values)
            else:
                positional.append(values)
        keywords: list[tuple[str, Values]] = []
        for keyword in call.keywords:
            values = self.value(frame, keyword.value)
            if keyword.name is not None:
                keywords.append((keyword.name, values))
                continue
            for value in values:
                if isinstance(value, Keywords):
                    keywords += value.items
                else:
                    rest |= self.elements(one(value))
        return Arguments(tuple(positional), tuple(keywords), frozenset(rest))

    def _super(self, frame: Frame) -> Values:
        function = frame.function
        if function is None or not function.parameters:
            return NOTHING
        definition = self._methods.get(function)
        found: set[Value] = set()
        for value in frame.names.get(function.parameters[0].name, ()):
            if isinstance(value, Instance) and definition is not None:
                found |= {Super(value, after) for after in self._classes.get(definition, ())}
        return frozenset(found)

    def _container_call(self, frame: Frame, function: m.Attribute, arguments: Arguments) -> Values | None:
        """Return what a method of a list, dict or queue gives, None when it is not one of those methods."""
        base = self.value(frame, function.value)
        if function.name in {"append", "add", "put", "appendleft", "insert", "setdefault", "push"}:
            held = arguments.all()
            is_container = not base or any(isinstance(v, (Contents, TupleValue)) for v in base)
            if held and is_container and isinstance(function.value, (m.Name, m.Attribute)):
                self._assign(frame, function.value, one(Contents(held)))
                return held if function.name == "setdefault" else NOTHING
            return None
        if not any(isinstance(v, (Contents, TupleValue, Keywords)) for v in base):
            return None
        if function.name in {"get", "pop", "popleft", "popitem"}:
            return self.elements(base) | arguments.get(1, "default")
        if function.name == "items":
            return one(Contents(one(TupleValue((NOTHING, self.elements(base))))))
        if function.name in {"values", "copy", "union"}:
            return one(Contents(self.elements(base)))
        return None

    def _unknown_call(self, frame: Frame, call: m.Call, arguments: Arguments, record: Record) -> Values:
        function = call.function
        name = _last_name(function)
        if (
            isinstance(function, m.Attribute)
            and name in aws.ONLY_DURABLE
            and b"durable" in frame.module.source.raw
        ):
            return self._context_call(frame, ContextMethod(Context(None), name), arguments, record, call)
        self._hand_over(frame, name, name, arguments, record, call)
        return NOTHING

    def _call_values(
        self,
        frame: Frame,
        callee: Values,
        arguments: Arguments,
        record: Record,
        call: m.Call | None = None,
    ) -> Values:
        found: set[Value] = set()
        for value in callee:
            found |= self._call_value(frame, value, arguments, record, call)
        return frozenset(found)

    def _call_value(
        self, frame: Frame, value: Value, arguments: Arguments, record: Record, call: m.Call | None
    ) -> Values:
        match value:
            case ContextMethod():
                return self._context_call(frame, value, arguments, record, call)
            case CallbackResult():
                record.durable = "result"
            case FunctionValue():
                return self._function_call(frame, value, arguments, record)
            case Partial():
                given = arguments.after(value.arguments)
                return self._call_value(frame, value.target, given, record, call)
            case Operation():
                target = self._start(value.function, value.function.kind, value.arguments, frame.mode)
                record.targets[target] = None
                return self._returned(target)
            case ClassValue():
                return self._construct(frame, value, arguments, record)
            case Instance():
                method = self.attribute(one(value), "__call__", frame)
                return self._call_values(frame, method, arguments, record)
            case TerminalMethod():
                return self._registration(frame, value, arguments, record)
            case Unseen():
                record.assumed = record.assumed or "it holds a durable context and its source cannot be seen"
                return one(value)
            case External():
                return self._external_call(frame, value, arguments, record, call)
        return NOTHING

    def _function_call(
        self, frame: Frame, value: FunctionValue, arguments: Arguments, record: Record
    ) -> Values:
        if value.kind in _OPERATION_KINDS:
            return one(Operation(value, arguments))
        target = self.frame_for(value, arguments, frame.mode)
        if value.kind == "manager":
            return one(Manager(value, target))
        if value.function.is_generator:
            return one(Running(target))
        record.targets[target] = None
        return self._returned(target)

    def _construct(self, frame: Frame, value: ClassValue, arguments: Arguments, record: Record) -> Values:
        instance = Instance(value)
        initializers = self.member(value, "__init__")
        for initializer in initializers:
            if isinstance(initializer, FunctionValue):
                bound = FunctionValue(initializer.function, initializer.module, initializer.closure, instance)
                record.targets[self.frame_for(bound, arguments, frame.mode)] = None
        if not initializers:
            self._fill_fields(value, arguments)
        for after in self.member(value, "__post_init__"):
            if isinstance(after, FunctionValue):
                bound = FunctionValue(after.function, after.module, after.closure, instance)
                record.targets[self.frame_for(bound, Arguments(), frame.mode)] = None
        return one(instance)

    def _fill_fields(self, value: ClassValue, arguments: Arguments) -> None:
        """Store the arguments of a dataclass or named tuple in its fields, bases first."""
        fields: dict[str, tuple[m.Expression, Frame]] = {}
        for owner in (*reversed([b for b in self.all_bases(value) if isinstance(b, ClassValue)]), value):
            for statement in owner.definition.body:
                if isinstance(statement, m.Assignment) and statement.annotation is not None:
                    target = statement.targets[0]
                    if isinstance(target, m.Name):
                        where = owner.closure or self.module_frame(owner.module)
                        fields[target.id] = (statement.annotation, where)
        for index, (name, (annotation, where)) in enumerate(fields.items()):
            given = arguments.get(index, name) | arguments.rest
            if not given:
                given = self.annotated(where, annotation, None)
            self._store(value, name, given)

    # ------------------------------------------------ the SDK and the runtime

    def _context_call(
        self, frame: Frame, method: ContextMethod, arguments: Arguments, record: Record, call: m.Call | None
    ) -> Values:
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
            return self._operations(frame, given("func"), "step", (one(OperationContext()),), record)
        if name == "run_in_child_context":
            return self._operations(frame, given("func"), "child", (), record)
        if name == "wait_for_callback":
            submitter = (NOTHING, one(OperationContext()))
            self._operations(frame, given("submitter"), "submitter", submitter, record)
        elif name == "wait_for_condition":
            self._operations(frame, given("check"), "submitter", (NOTHING, one(OperationContext())), record)
        elif name == "map":
            early = call if self._early(given("config"), arguments, positions) else None
            items = self.elements(given("inputs"))
            extra = (items, NOTHING, given("inputs"))
            return self._operations(frame, given("func"), "branch", extra, record, early)
        elif name == "parallel":
            early = call if self._early(given("config"), arguments, positions) else None
            return self._operations(frame, self.elements(given("functions")), "branch", (), record, early)
        return NOTHING

    def _early(self, config: Values, arguments: Arguments, positions: tuple[str, ...]) -> bool:
        """Whether a map or parallel with this configuration can complete while branches are still open."""
        if arguments.rest:
            return False
        if not arguments.has("config") and len(arguments.positional) <= positions.index("config"):
            return True  # the default: the first failure completes it
        return any(isinstance(value, Completion) and value.early for value in config)

    def _operations(
        self,
        frame: Frame,
        functions: Values,
        kind: str,
        arguments: tuple[Values, ...],
        record: Record,
        early: m.Call | None = None,
    ) -> Values:
        """Evaluate what is handed to an operation, as that operation, and return what it returns."""
        found: set[Value] = set()
        for value in functions:
            for target in self._operation(frame, value, kind, Arguments(arguments), early):
                record.actions[target] = None
                found |= self._returned(target)
        return frozenset(v for v in found if not isinstance(v, (Context, Running)))

    def _operation(
        self, frame: Frame, value: Value, kind: str, arguments: Arguments, early: m.Call | None
    ) -> Iterable[Frame]:
        attempt = kind in {"step", "submitter"}
        match value:
            case FunctionValue():
                function = value.function
                given = arguments
                if not attempt and value.kind not in _OPERATION_KINDS:
                    context = one(Context(function))
                    given = Arguments((context, *arguments.positional), arguments.keywords)
                plain = FunctionValue(function, value.module, value.closure, value.receiver)
                mode = frame.mode.enter(function, attempt=attempt, abandonable=early)
                return [self.frame_for(plain, given, mode)]
            case Operation():
                mode = Mode(frame.mode.attempt, frame.mode.operations, early or frame.mode.abandonable)
                return [self._start(value.function, value.function.kind, value.arguments, mode)]
            case Partial():
                if attempt:
                    return self._operation(frame, value.target, kind, arguments.after(value.arguments), early)
                return self._partial_operation(frame, value, arguments, early)
            case ContextMethod():
                return []
            case Contents() | TupleValue():
                targets: list[Frame] = []
                for item in self.elements(one(value)):
                    targets += self._operation(frame, item, kind, arguments, early)
                return targets
            case Instance():
                targets = []
                for method in self.attribute(one(value), "__call__", frame):
                    targets += self._operation(frame, method, kind, arguments, early)
                return targets
        return []

    def _partial_operation(
        self, frame: Frame, value: Partial, arguments: Arguments, early: m.Call | None
    ) -> Iterable[Frame]:
        """`partial(f, a)` as a child or branch: the context comes after what was bound by position."""
        if not isinstance(value.target, FunctionValue):
            return []
        function = value.target.function
        given = Arguments((one(Context(function)), *arguments.positional), arguments.keywords)
        mode = frame.mode.enter(function, abandonable=early)
        return [self.frame_for(value.target, given.after(value.arguments), mode)]

    def _registration(
        self, frame: Frame, method: TerminalMethod, arguments: Arguments, record: Record
    ) -> Values:
        name = method.name
        record.registers |= one(method.terminal)
        function = arguments.get(0, "func")
        step = (one(OperationContext()),)
        if name in aws.STEP_REGISTRATIONS:
            record.registration = name
            self._operations(frame, function, "step", step, record)
        elif name in aws.CONTEXT_REGISTRATIONS:
            record.registration = name
            self._operations(frame, function, "child", (), record)
        elif name == aws.ACQUIRE:
            record.registration = name
            record.durable = "acquire"
            acquired = self._operations(frame, function, "step", step, Record())
            release = (acquired, *step)
            self._operations(frame, arguments.get(1, "release"), "step", release, record)
            return acquired
        else:
            record.registers = NOTHING
        return NOTHING

    # ------------------------------------------------ what is not the project's

    def _external_call(
        self, frame: Frame, value: External, arguments: Arguments, record: Record, call: m.Call | None
    ) -> Values:
        name = value.name
        if name in aws.HANDLER_DECORATORS:
            functions = arguments.get(0, "func")
            self._handler(functions)
            return functions or one(External(name, called=True))
        kind = _DECORATED_KIND.get(name)
        if kind is not None and (functions := arguments.get(0, "func")):
            return self._of_kind(functions, kind)
        special = self._sdk_call(frame, name, arguments, record, call)
        if special is None:
            special = self._library_call(frame, name, arguments, record)
        if special is not None:
            return special
        if self.names.suspends(name):
            record.durable = name.rpartition(".")[2]
            return one(External(name, called=True))
        held: Values = self._hand_over(frame, name, name.rpartition(".")[2], arguments, record, call)
        return held.union((External(name, called=True),))

    def _sdk_call(
        self, frame: Frame, name: str, arguments: Arguments, record: Record, call: m.Call | None
    ) -> Values | None:
        if name == aws.WITH_RETRY:
            record.durable = "with_retry"
            record.contexts |= _contexts(arguments.get(0, "context"))
            return self._operations(frame, arguments.get(1, "func"), "child", (NOTHING,), record)
        if name == aws.TERMINAL_SCOPE and call is not None:
            return self._scope(frame, arguments, record, call)
        if name == aws.PARALLEL_BRANCH:
            return one(Contents(arguments.get(0, "func")))
        if name == aws.COMPLETION_CONFIG or name.startswith(aws.COMPLETION_CONFIG + "."):
            return self._completion(name, call)
        if name in aws.BATCH_CONFIGS:
            if arguments.rest:
                return NOTHING
            if not arguments.has("completion_config"):
                return one(Completion(early=True))
            return arguments.get(-1, "completion_config")
        return None

    def _scope(self, frame: Frame, arguments: Arguments, record: Record, call: m.Call) -> Values:
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
            for target in self._operation(frame, value, "child", Arguments((one(terminal),)), None):
                record.actions[target] = None
                found |= self._returned(target)
        return frozenset(found)

    def _completion(self, name: str, call: m.Call | None) -> Values:
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

    def _library_call(self, frame: Frame, name: str, arguments: Arguments, record: Record) -> Values | None:
        """Return what the standard library's own helpers give, None for any other name."""
        if name.startswith(_STACKS) and name.rpartition(".")[2] in STACK_REGISTRATIONS:
            return self._stack_registration(frame, name.rpartition(".")[2], arguments, record)
        if name in {"functools.partial", "functools.partialmethod"}:
            rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.rest)
            return frozenset(Partial(target, rest) for target in arguments.get(0, "func"))
        if name in _TRANSPARENT:
            return arguments.get(1 if name == "typing.cast" else 0, "")
        if name in {"typing.TypeVar", "typing.NewType"}:
            return arguments.get(1 if name == "typing.NewType" else -1, "bound")
        if name in _LAZY_BUILTINS and arguments.positional:
            items = tuple(self.elements(values) for values in arguments.positional[1:])
            results = self._call_values(frame, arguments.positional[0], Arguments(items), record)
            return one(Contents(results if name == "builtins.map" else items[0] if items else NOTHING))
        if name in _KEY_CALLS:
            key = arguments.get(0 if name == "functools.reduce" else -1, "key")
            self._call_values(frame, key, Arguments(), record)
        if name == "builtins.enumerate":
            held = self.elements(arguments.get(0, "iterable"))
            return one(Contents(one(TupleValue((NOTHING, held))))) if held else NOTHING
        if name == "builtins.zip":
            parts = tuple(self.elements(values) for values in arguments.positional)
            return one(Contents(one(TupleValue(parts)))) if any(parts) else NOTHING
        if name == "builtins.getattr":
            return NOTHING
        if name.startswith(("builtins.", "asyncio.", "itertools.", "anyio.", "collections.")):
            self._run_arguments(arguments, record)
            if name in {"builtins.next", "builtins.min", "builtins.max"}:
                return self.elements(arguments.all())
            if name.startswith("asyncio."):
                held = arguments.all()
                returned = [self._returned(v.frame) for v in held if isinstance(v, Running)]
                if returned:
                    return frozenset().union(*returned)
                return None
            held = self.elements(arguments.all())
            if name.startswith("builtins.") and not held:
                return one(External(name, called=True))
            return one(Contents(held)) if held else None
        return None

    def _stack_registration(self, frame: Frame, method: str, arguments: Arguments, record: Record) -> Values:
        """Evaluate what is put on an `ExitStack`, as it will be called, without counting it as run here."""
        later = Record()
        held = arguments.get(0, "callback")
        record.held = held
        if "callback" in method:
            rest = Arguments(arguments.positional[1:], arguments.keywords, arguments.rest)
            self._call_values(frame, held, rest, later)
        else:
            for value in held:
                if isinstance(value, (FunctionValue, Partial)):
                    self._call_value(frame, value, Arguments((NOTHING, NOTHING, NOTHING)), later, None)
                elif isinstance(value, (Manager, Instance)):
                    entered = self._enter(frame, value, later, None)
                    record.actions.update(later.targets)
                    return entered
        record.actions.update(later.targets)
        return held

    def _run_arguments(self, arguments: Arguments, record: Record) -> None:
        for value in arguments.all():
            if isinstance(value, Running):
                record.targets[value.frame] = None

    def _hand_over(
        self,
        frame: Frame,
        name: str,
        last: str,
        arguments: Arguments,
        record: Record,
        call: m.Call | None,
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
            elif isinstance(value, FunctionValue) and value.kind not in _OPERATION_KINDS:
                record.targets[self.frame_for(value, Arguments(), frame.mode)] = None
            elif isinstance(value, Instance) and self._holds_context(value):
                contexts = True
        if contexts:
            record.assumed = "it is given a durable context and its source cannot be seen"
        if contexts and call is not None:
            self.unresolved[call] = (frame.module, record.assumed)
        return NOTHING

    def _holds_context(self, value: Instance) -> bool:
        return any(
            isinstance(stored, Context)
            for (owner, _), values in self._heap.items()
            if owner == value.of
            for stored in values
        )


def _by_name(item: tuple[str, object]) -> str:
    return item[0]


def _joined(name: str, attribute: str) -> str:
    """Continue a qualified name, skipping the submodules of the SDK (`sdk.config` + `Duration` is `sdk.Duration`)."""
    if name in (aws.PACKAGE, aws.RUNTIME) or name.startswith((aws.PACKAGE + ".", aws.RUNTIME + ".")):
        return aws.canonical(f"{name}.{attribute}")
    if name.startswith("sdk.") and name[4:] in _SDK_MODULES:
        return f"sdk.{attribute}"
    return f"{name}.{attribute}"


def _last_name(expression: m.Expression) -> str:
    if isinstance(expression, m.Name):
        return expression.id
    return expression.name if isinstance(expression, m.Attribute) else ""


def _argument(call: m.Call, position: int, name: str) -> m.Expression | None:
    if position < len(call.arguments):
        return call.arguments[position]
    return next((keyword.value for keyword in call.keywords if keyword.name == name), None)


def _public(module: m.ModuleFacts) -> frozenset[str]:
    return frozenset(name for name in module.local_names if not name.startswith("_"))


def _contexts(values: Values) -> Values:
    return frozenset(value for value in values if isinstance(value, Context))


def _is_kind(value: Value, kind: str) -> bool:
    return isinstance(value, FunctionValue) and value.kind == kind


def _bound(value: Value, receiver: Value) -> Value:
    if isinstance(value, FunctionValue) and value.kind != "static" and value.receiver is None:
        of = value.kind if value.kind != "class" else ""
        return FunctionValue(value.function, value.module, value.closure, receiver, of)
    return value


def _bound_to_class(value: Value, owner: ClassValue) -> Value:
    if isinstance(value, FunctionValue) and value.kind == "class":
        return FunctionValue(value.function, value.module, value.closure, owner)
    return value


def _is_type(value: Value) -> bool:
    """Whether a value can be a class, as in the alias `Ctx = DurableContext | None`."""
    if isinstance(value, External):
        return not value.called and value.name.rpartition(".")[2][:1].isupper()
    return isinstance(value, ClassValue)


def _underlying(value: Value) -> m.Function | None:
    match value:
        case FunctionValue():
            return value.function
        case Operation():
            return value.function.function
        case Partial():
            return _underlying(value.target)
    return None
