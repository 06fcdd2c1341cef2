"""Evaluates functions abstractly, from the handlers inwards, until nothing new is found.

One `Solver` answers for one module: it starts from that module and the ones that can hand it a durable
context, follows calls wherever they lead, and knows afterwards for each function which arguments it gets
and what each of its calls runs. Calls are followed by their arguments (a frame a set of arguments), so that
a helper that is harmless where it is called is not blamed for what it does elsewhere. It judges nothing.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project import annotated, expressions, libraries, statements
from durable_lint.project.frames import Frame, Mode
from durable_lint.project.values import (
    NOTHING,
    Arguments,
    Callback,
    CallbackResult,
    ClassValue,
    Context,
    ContextMethod,
    Deferred,
    External,
    FunctionValue,
    Imported,
    Instance,
    Keywords,
    Manager,
    ModuleValue,
    OperationContext,
    Partial,
    Running,
    Scope,
    Terminal,
    TerminalMethod,
    TupleValue,
    Unseen,
    Value,
    Values,
    bounded,
    inner,
    one,
    pruned,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from durable_lint.project.modules import Modules

_FRAMES_A_FUNCTION = 60
_DEFERRED_FRAMES_A_FUNCTION = 8
_VALUES_A_NAME = 16
_MOST_VALUES = 64
_DEEPEST_ANSWER = 3
_MOST_RUNS = 40_000
_PASSES = 6
_DEEPEST_RUN = 12
_BUILTINS = frozenset(vars(builtins))
_PLUGIN_HOOK = "on_user_function_"
_PLAIN_DECORATORS = frozenset(
    "wraps property setter staticmethod classmethod lru_cache cache cached_property contextmanager overload "
    "abstractmethod override".split()
)
_OPERATION_DECORATORS = frozenset(
    name.partition(".")[2]
    for names in (aws.HANDLER_DECORATORS, aws.STEP_DECORATORS, aws.CHILD_DECORATORS, aws.BRANCH_DECORATORS)
    for name in names
)
_PLAIN_ANNOTATIONS = frozenset(
    "str int float bool bytes dict list set tuple object type Any Exception BaseException Path datetime".split()
)
_STACK_CLASSES = frozenset({"contextlib.ExitStack", "contextlib.AsyncExitStack"})
_DURABLE = frozenset(
    {Context, ContextMethod, Callback, CallbackResult, Scope, Terminal, TerminalMethod, Unseen}
)


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


@dataclass(slots=True, eq=False)
class Answer:
    """What many frames ask for, kept until something grows that it was worked out from.

    It depends on what was read to work it out, as frames do; who asks depends on `key` alone.
    """

    key: object
    values: tuple[Value, ...] | Values = NOTHING
    known: bool = False
    pending: bool = False


class Solver:
    """The evaluation of a project, module by module. After `solve`, read `frames_of` and the frames'
    records.

    What it says of a module does not depend on the modules that were asked for before: each is solved
    together with everything that can hand it something.
    """

    def __init__(self, modules: Modules, names: Names) -> None:
        self.modules = modules
        self.names = names
        self.frames: dict[object, Frame] = {}
        self.frames_of: dict[m.Function, list[Frame]] = {}
        self._module_frames: dict[m.ModuleFacts, Frame] = {}
        self._class_frames: dict[ClassValue, Frame] = {}
        self.class_by_frame: dict[Frame, ClassValue] = {}
        self.classes: dict[m.Class, dict[ClassValue, None]] = {}
        self.methods: dict[m.Function, m.Class] = {}
        self._fields: dict[ClassValue, dict[str, dict[m.Call | None, Values]]] = {}
        self._readers: dict[object, dict[Frame | Answer, None]] = {}
        self._reader: Frame | Answer | None = None
        self._global_names: dict[tuple[m.ModuleFacts, str], Answer] = {}
        self._bases: dict[ClassValue, Answer] = {}
        self._queue: deque[Frame] = deque()
        self._queued: set[Frame] = set()
        self._current: Frame | None = None
        self._changed = False
        self._depth = 0
        self._counts: Counter[object] = Counter()
        self._resolved: dict[Imported, Values] = {}
        self._resolving: set[Imported] = set()
        self.promises: dict[m.Function, bool] = {}
        """What `promises.is_promise` has found out."""
        self._solved: dict[m.ModuleFacts, None] = {}
        self._judged: set[m.ModuleFacts] = set()
        self._wanted: dict[m.ModuleFacts, None] = {}
        self._runs = 0
        self.gave_up = False
        """True when a project was too entangled to be followed to the end; what was found until then
        stands.
        """
        self._durable_classes: set[ClassValue] = set()
        self._durable_instances: dict[ClassValue, set[m.Call | None]] = {}
        self._durable_frames: set[Frame] = set()
        self._plugins: dict[m.ModuleFacts, bool] = {}
        self._hot: dict[m.ModuleFacts, set[str]] = {}
        self._sees: dict[tuple[m.ModuleFacts, m.ModuleFacts], bool] = {}
        self._always: dict[m.Function, bool] = {}
        self._asked: set[tuple[Instance, str]] = set()
        self._assigning: dict[m.Class, dict[str, list[m.Function]]] = {}
        self._qualified: dict[m.ModuleFacts, str] = {}

    # ------------------------------------------------ the fixed point

    def solve(self, module: m.ModuleFacts) -> None:
        """Evaluate a module and all that can call it, until nothing changes.

        Always ends: the sets only grow, and their sizes are bounded.
        """
        self._runs = 0
        self._judged.add(module)
        self._wanted[module] = None
        while self._wanted:
            wanted, self._wanted = list(self._wanted), {}
            together: dict[m.ModuleFacts, None] = {}
            for each in wanted:
                together.update(dict.fromkeys((each, *self.modules.callers_of(each.path))))
            self._extend([each for each in together if each not in self._solved])

    def _extend(self, modules: list[m.ModuleFacts]) -> None:
        self._solved.update(dict.fromkeys(modules))
        for module in modules:
            self.module_frame(module)
        self._run_queue()
        mentioned: set[str] = set().union(*(module.mentions for module in modules))
        functions = [(module, function) for module in modules for function in module.functions]
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
            definition = self.methods.get(function)
            if definition is not None:
                receivers = [*map(Instance, self.classes.get(definition, ()))][:2] or [None]
            for receiver in receivers:
                value = FunctionValue(function, module, closure, receiver)
                mode = closure.mode if closure is not None else Mode()
                self.frame_for(value, Arguments(), mode)

    def evaluate(self, value: FunctionValue) -> Frame:
        """Return the frame of a function called without known arguments, evaluated: for questions asked
        afterwards.
        """
        frame = self.frame_for(value, Arguments(), Mode())
        self.settle(frame)
        return frame

    def settle(self, frame: Frame) -> None:
        """Evaluate a frame that was deferred, and all that follows from it."""
        self.force(frame)
        if self._current is None:
            self._run_queue()

    def force(self, frame: Frame) -> None:
        """Have a frame evaluated that was deferred.

        Answers are looked for a few calls deep: what a helper's helper's helper gives is taken for unknown.
        """
        if not frame.deferred:
            return
        level = 1 if self._current is None else self._current.level + 1
        if level <= _DEEPEST_ANSWER:
            frame.deferred = False
            frame.level = level
            self._enqueue(frame)
            self._run_inside(frame)

    def _run_queue(self) -> None:
        while self._queue:
            if self._runs >= _MOST_RUNS:
                self.gave_up = True
                self._queue.clear()
                self._queued.clear()
                return
            frame = self._queue.popleft()
            if frame in self._queued:
                self._run(frame)

    def _run(self, frame: Frame) -> None:
        """Evaluate a frame, until nothing that it has read itself changes by it."""
        self._runs += 1
        self._queued.discard(frame)
        outer, self._current = self._current, frame
        outer_reader, self._reader = self._reader, frame
        outer_changed = self._changed
        body = frame.module.body if frame.function is None else frame.function.body
        try:
            for _ in range(_PASSES):
                self._changed = False
                statements.run_block(self, frame, body)
                if not self._changed:
                    break
        finally:
            self._current, self._reader, self._changed = outer, outer_reader, outer_changed

    def _run_inside(self, frame: Frame) -> None:
        """Evaluate a new frame at once, in the middle of the one that asks for it.

        What it returns is there when the asking frame goes on, which need not be evaluated again for it. Beyond
        some depth a frame has to wait in the queue.
        """
        if self._current is None or self._depth >= _DEEPEST_RUN or self._runs >= _MOST_RUNS:
            return
        self._depth += 1
        try:
            self._run(frame)
        except RecursionError:
            self._enqueue(frame)  # there is more room where nothing else is under way
        finally:
            self._depth -= 1

    def _enqueue(self, frame: Frame) -> None:
        if frame not in self._queued:
            self._queued.add(frame)
            self._queue.append(frame)

    def _depends(self, key: object) -> None:
        if self._reader is None:
            return
        readers = self._readers.get(key)
        if readers is None:
            self._readers[key] = {self._reader: None}
        else:
            readers[self._reader] = None

    def _grew(self, key: object) -> None:
        for reader in tuple(self._readers.get(key, ())):
            if isinstance(reader, Answer):
                if reader.known:
                    reader.known = False
                    self._grew(reader.key)
                    self._readers.pop(reader.key, None)  # they will ask again
            elif reader is self._current:
                self._changed = True
            else:
                self._enqueue(reader)

    def _answered(self, answer: Answer, work_out: Callable[[], tuple[Value, ...] | Values]) -> None:
        """Work out an answer that is not known, and have the current reader depend on it.

        Who asks again while it is worked out (modules that import from each other) gets what is known so far.
        """
        if answer.known or answer.pending:
            self._depends(answer.key)
            return
        outer, self._reader = self._reader, answer
        answer.known = answer.pending = True
        before = answer.values
        try:
            answer.values = work_out()
        except BaseException:
            answer.known = False
            raise
        finally:
            self._reader, answer.pending = outer, False
        if answer.values != before:
            self._grew(answer.key)  # for who asked while it was pending
        self._depends(answer.key)

    def grown(self, held: Values, values: Values, key: object) -> Values:
        """Return a set of values with others added; who depends on `key` is evaluated again if it grows."""
        if values <= held:
            return held
        new = bounded(values) - held
        if len(held) + len(new) > _VALUES_A_NAME:
            room = max(_VALUES_A_NAME - len(held), 0)
            names = sorted((v for v in new if isinstance(v, External)), key=lambda v: (v.name, v.called))
            new = frozenset(v for v in new if not isinstance(v, External)).union(names[:room])
            if len(held) > _MOST_VALUES:
                new = frozenset(v for v in new if isinstance(v, (Context, OperationContext)))
        if not new:
            return held
        self._grew(key)
        return held | new

    # ------------------------------------------------ frames

    def module_frame(self, module: m.ModuleFacts) -> Frame:
        """Return the frame of a module's own body."""
        frame = self._module_frames.get(module)
        if frame is None:
            frame = Frame(module, None, None, Mode())
            self._module_frames[module] = frame
            self._enqueue(frame)
            self._run_inside(frame)
        return frame

    def frame_for(self, value: FunctionValue, arguments: Arguments, mode: Mode) -> Frame:
        """Return the frame of a function called with `arguments`, and have it evaluated if it is new."""
        bound = self._bind(value, arguments)
        made = len(self.frames)
        frame = self._frame(value, bound, mode)
        is_new = len(self.frames) > made
        for name, values in bound.items():
            held = frame.names.get(name)
            if held is not None and values <= held:
                continue
            frame.names[name] = values if held is None else held | values
            self.note_durable(frame, values)
            if values and not frame.deferred:
                self._enqueue(frame)
                self._grew((frame, name))
        if is_new and not frame.deferred:
            self._run_inside(frame)
        return frame

    def _frame(self, value: FunctionValue, bound: dict[str, Values], mode: Mode) -> Frame:
        """Find or make the frame: one for each set of arguments where they matter, else one for all calls."""
        function = value.function
        deferred = not self._matters(value, bound)
        if deferred:
            kept = {name: frozenset(v for v in values if _tells_apart(v)) for name, values in bound.items()}
            key: object = (function, mode.attempt, value.receiver, tuple(sorted(kept.items(), key=_by_name)))
        else:
            given = tuple(sorted(bound.items(), key=_by_name))
            key = (function, value.closure, mode, value.receiver, given)
        frame = self.frames.get(key)
        group = (function, deferred)
        most = _DEFERRED_FRAMES_A_FUNCTION if deferred else _FRAMES_A_FUNCTION
        if frame is None and self._counts[group] >= most:
            key = (function, value.closure, mode.attempt, deferred, "merged")
            frame = self.frames.get(key)
        if frame is None:
            self._counts[group] += 1
            frame = Frame(value.module, function, value.closure, mode, deferred=deferred)
            self.frames[key] = frame
            self.frames_of.setdefault(function, []).append(frame)
            if not deferred:
                self._enqueue(frame)
        return frame

    # ------------------------------------------------ what need not be evaluated

    def _matters(self, value: FunctionValue, bound: dict[str, Values]) -> bool:
        """Whether a call can have anything to do with a suspension, or define something that has.

        Most calls have not: no context, callback or object that holds one is handed to them or closed over.
        What they do is looked at only when somebody asks for their result or their effect.
        """
        if self._always_matters(value) or self._closes_over_durable(value.closure):
            return True
        if any(self._reads(value.module, owner, names) for owner, names in self._hot.items()):
            return True
        return any(self.carries(values) for values in bound.values())

    def _always_matters(self, value: FunctionValue) -> bool:
        known = self._always.get(value.function)
        if known is None:
            function = value.function
            known = bool(function.evidence or function.global_names) or self._has_plugin(value.module)
            known = known or _defines_operations(function.body)
            self._always[function] = known
        return known

    def _has_plugin(self, module: m.ModuleFacts) -> bool:
        """Whether a module defines a hook of an instrumentation plugin: the rules for those follow every method."""
        known = self._plugins.get(module)
        if known is None:
            known = any(function.name.startswith(_PLUGIN_HOOK) for function in module.functions)
            self._plugins[module] = known
        return known

    def _closes_over_durable(self, frame: Frame | None) -> bool:
        while frame is not None:
            self._depends(("durable", frame))
            if frame in self._durable_frames:
                return True
            frame = frame.closure
        return False

    def carries(self, values: Values) -> bool:
        """Whether a durable context, or something that holds one, is among `values` or inside them."""
        for value in inner(values):
            kind = type(value)
            if kind in _DURABLE:
                return True
            if isinstance(value, External):
                if value.called and value.name in _STACK_CLASSES:
                    return True
            elif isinstance(value, Instance):
                self._depends(("durable", value.of))
                if self._is_durable(value):
                    return True
            elif isinstance(value, FunctionValue):
                if value.closure is not None and self._closes_over_durable(value.closure):
                    return True
                if value.receiver is not None and self.carries(one(value.receiver)):
                    return True
            elif isinstance(value, Partial):
                if self.carries(one(value.target)):
                    return True
            elif isinstance(value, (Running, Manager)):
                if not value.frame.deferred and not value.frame.level:
                    return True
        return False

    def note_durable(self, frame: Frame, values: Values) -> None:
        """Take note of what is bound in a frame: functions defined in it may close over it."""
        if frame.function is not None and frame not in self._durable_frames and self.carries(values):
            self._durable_frames.add(frame)
            self._grew(("durable", frame))

    def _is_durable(self, value: Instance) -> bool:
        """Whether an instance holds something durable; fields may be declared in the bases of its class."""
        sites = self._durable_instances.get(value.of)
        if sites is not None and (value.site is None or value.site in sites or None in sites):
            return True
        if not self._durable_classes:
            return False
        if value.of in self._durable_classes:
            return True
        bases = value.of.definition.bases
        return bool(bases) and any(b in self._durable_classes for b in self.all_bases(value.of))

    def _reads(self, module: m.ModuleFacts, owner: m.ModuleFacts, names: set[str]) -> bool:
        """Whether a module can read one of the names of `owner`, which it is or imports."""
        if names.isdisjoint(module.mentions):
            return False
        known = self._sees.get((module, owner))
        if known is None:
            known = module is owner or self.modules.imports_directly(module.path, owner.path)
            self._sees[module, owner] = known
        return known

    def _heat(self, owner: m.ModuleFacts, name: str) -> None:
        """A module's name holds something durable: functions that can read it matter from now on."""
        names = self._hot.setdefault(owner, set())
        if name in names:
            return
        names.add(name)
        for frame in list(self.frames.values()):
            if frame.deferred and self._reads(frame.module, owner, {name}):
                self.force(frame)

    def bound_outside_functions(self, frame: Frame, name: str, values: Values) -> None:
        """Take note of what a name of a module, or of a class, is bound to."""
        if not self.carries(values):
            return
        owner = self.class_by_frame.get(frame)
        if owner is None:
            self._heat(frame.module, name)
        elif owner not in self._durable_classes:
            self._durable_classes.add(owner)
            self._class_changed(owner)

    def _note_instance(self, value: Instance, values: Values) -> None:
        sites = self._durable_instances.get(value.of, set())
        if value.site not in sites and self.carries(values):
            self._durable_instances.setdefault(value.of, set()).add(value.site)
            self._class_changed(value.of)

    def _class_changed(self, value: ClassValue) -> None:
        """Instances of a class are durable now: so are the module's names that hold one."""
        self._grew(("durable", value))
        for frame in self._module_frames.values():
            for name, held in frame.names.items():
                if any(isinstance(v, Instance) and v.of == value for v in held):
                    self._heat(frame.module, name)

    def resolved(self, values: Values) -> Values:
        """Return values with the results of deferred calls in their place, which are evaluated now."""
        if Deferred not in map(type, values):
            return values
        found: set[Value] = set()
        waiting = list(values)
        seen: set[Value] = set()
        while waiting:
            value = waiting.pop()
            if isinstance(value, Deferred):
                if value not in seen:
                    seen.add(value)
                    self.force(value.frame)
                    if not value.frame.deferred:
                        waiting.extend(self.returned(value.frame))
            else:
                found.add(value)
        return frozenset(found)

    def _ask(self, value: Instance, name: str) -> None:
        """Evaluate the methods that assign an attribute, which is now read."""
        if (value, name) in self._asked:
            return
        self._asked.add((value, name))
        for owner in (value.of, *self.all_bases(value.of)):
            if not isinstance(owner, ClassValue):
                continue
            for function in self._assigning_methods(owner.definition).get(name, ()):
                frames = [
                    frame
                    for frame in self.frames_of.get(function, ())
                    if value.site is None or value in frame.names.get(function.parameters[0].name, ())
                ]
                if not frames:
                    bound = FunctionValue(function, owner.module, owner.closure, value)
                    frames = [self.frame_for(bound, Arguments(), Mode())]
                for frame in frames:
                    self.force(frame)

    def _assigning_methods(self, definition: m.Class) -> dict[str, list[m.Function]]:
        known = self._assigning.get(definition)
        if known is None:
            known = {}
            for statement in definition.body:
                if isinstance(statement, m.FunctionDefinition) and statement.function.parameters:
                    receiver = statement.function.parameters[0].name
                    for name in _attributes_assigned(statement.function.body, receiver):
                        known.setdefault(name, []).append(statement.function)
            self._assigning[definition] = known
        return known

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
            bound[parameter.name] = bounded(self._parameter(value.function, parameter, values, where))
        return bound

    def _default(self, parameter: m.Parameter, where: Frame) -> Values:
        return NOTHING if parameter.default is None else expressions.evaluate(self, where, parameter.default)

    def _parameter(
        self, function: m.Function, parameter: m.Parameter, values: Values, where: Frame
    ) -> Values:
        """Add what the annotation, or the methods called on it, say of a parameter.

        What a call hands over wins: a step's context stays one, whatever the annotation claims.
        """
        if any(isinstance(v, (Context, OperationContext, Callback, Terminal)) for v in values):
            return values
        if parameter.annotation is not None:
            annotated_values = self.annotated(where, parameter.annotation, function)
            if not values and where.module in self._judged:
                # Anybody may hand over such an instance: who makes them has to be looked at.
                for value in annotated_values:
                    if isinstance(value, Instance) and value.of.module not in self._solved:
                        self._wanted[value.of.module] = None
            return values | annotated_values
        if parameter.name in function.evidence and not any(isinstance(v, Instance) for v in values):
            return values | one(Context(function))
        return values

    def unresolved(self, module: m.ModuleFacts) -> list[tuple[m.Call, str]]:
        """Return the calls of a module that get a durable context and could not be followed, and why."""
        frames = [frame for function in module.functions for frame in self.frames_of.get(function, ())]
        found = {
            fact: record.assumed
            for frame in (self.module_frame(module), *frames)
            for fact, record in frame.records.items()
            if isinstance(fact, m.Call) and record.assumed == libraries.GIVEN_AWAY
        }
        return sorted(found.items(), key=lambda item: item[0].at)

    # ------------------------------------------------ names

    def name(self, frame: Frame, name: str) -> Values:
        """Return what a name can be, read in `frame`."""
        scope: Frame | None = frame
        if frame in self.class_by_frame:
            if name in self.class_by_frame[frame].definition.local_names:
                found = self.read(frame, name)
                if found:
                    return found
            scope = frame.closure  # functions do not see the names of a class around them
        while scope is not None and scope.function is not None:
            if name in scope.function.local_names:
                return self.read(scope, name)
            if name in scope.function.global_names:
                break
            scope = scope.closure
        return self.global_name(frame.module, name)

    def global_name(self, module: m.ModuleFacts, name: str) -> Values:
        """Return what a name of a module can be, star imports and built-ins included."""
        key = (module, name)
        answer = self._global_names.get(key)
        if answer is None:
            answer = self._global_names[key] = Answer(key)
        self._answered(answer, lambda: self._global_name(module, name))
        return answer.values  # type: ignore[return-value]

    def _global_name(self, module: m.ModuleFacts, name: str) -> Values:
        frame = self.module_frame(module)
        if name in module.local_names:
            return self.read(frame, name)
        outside: dict[External, None] = {}
        found = self._starred(module, name, {module}, outside)
        if found:
            return found
        if name in _BUILTINS:
            return one(External("builtins." + name))
        return self.attribute(frozenset(outside), name) if len(outside) == 1 else NOTHING

    def _starred(
        self, module: m.ModuleFacts, name: str, seen: set[m.ModuleFacts], outside: dict[External, None]
    ) -> Values:
        """Return what a module gets as `name` through star imports, which may go through other modules.

        `outside` collects the modules that are not the project's and may have it.
        """
        found = NOTHING
        for star in self.read(self.module_frame(module), "*"):
            if isinstance(star, External):
                outside[star] = None
            elif isinstance(star, ModuleValue) and star.module not in seen and not name.startswith("_"):
                seen.add(star.module)
                if name in star.module.local_names:
                    found |= self.read(self.module_frame(star.module), name)
                else:
                    found |= self._starred(star.module, name, seen, outside)
        return found

    def read(self, frame: Frame, name: str) -> Values:
        """Return what a name of a frame can be; imports are resolved now."""
        self._depends((frame, name))
        found = frame.names.get(name, NOTHING)
        imports = [value for value in found if type(value) is Imported]
        if not imports:
            return found
        return found.difference(imports).union(*map(self.imported, imports))

    def imported(self, name: Imported) -> Values:
        """Return what a name that an import binds can be; its module is read when this is asked."""
        known = self._resolved.get(name)
        if known is not None:
            return known
        self._resolved[name] = NOTHING  # what two modules import from each other in a circle
        binding, importer = name.binding, name.module.path
        module = None
        if binding.level or binding.module.partition(".")[0] not in (aws.PACKAGE, aws.RUNTIME):
            module = self.modules.named(binding.module, importer, binding.level)
        if binding.attribute is None or binding.local == "*":
            found = one(ModuleValue(module)) if module else one(External(aws.canonical(binding.module)))
        elif module is not None and (
            binding.attribute in module.local_names or self.read(self.module_frame(module), "*")
        ):
            del self._resolved[name]
            if name in self._resolving:
                return NOTHING
            self._resolving.add(name)
            found = self.global_name(module, binding.attribute)
            self._resolving.discard(name)
            if found:
                return found
            submodule = self._submodule(binding, importer)
            return one(ModuleValue(submodule)) if submodule else NOTHING
        else:
            submodule = self._submodule(binding, importer)
            if submodule is not None:
                found = one(ModuleValue(submodule))
            elif module is not None:
                del self._resolved[name]
                self._depends((self.module_frame(module), binding.attribute))
                return NOTHING
            else:
                dots = "." * binding.level
                found = one(External(aws.canonical(f"{dots}{binding.module}.{binding.attribute}")))
        self._resolved[name] = found
        return found

    def _submodule(self, binding: m.Binding, importer: Path) -> m.ModuleFacts | None:
        if not binding.level and binding.module.partition(".")[0] in (aws.PACKAGE, aws.RUNTIME):
            return None
        name = f"{binding.module}.{binding.attribute}" if binding.module else str(binding.attribute)
        return self.modules.named(name, importer, binding.level)

    # ------------------------------------------------ what the other modules evaluate

    def value(self, frame: Frame, expression: m.Expression) -> Values:
        """Return what an expression can be, its deferred calls evaluated: for questions asked afterwards."""
        for _ in range(_PASSES):
            values = expressions.evaluate(self, frame, expression)
            waiting = [v.frame for v in values if isinstance(v, Deferred) and v.frame.deferred]
            if not waiting:
                break
            for deferred in waiting:
                self.settle(deferred)
        return self.resolved(values)

    def attribute(self, values: Values, name: str, frame: Frame | None = None) -> Values:
        """Return the attribute `name` of `values`."""
        return expressions.attribute(self, values, name, frame)

    def elements(self, values: Values) -> Values:
        """Return what iterating over `values` can give."""
        return expressions.elements(self, values)

    def annotated(self, where: Frame, annotation: m.Expression, owner: m.Function | None) -> Values:
        """Return what something annotated so can be: a context, a callback, an instance of a class."""
        return annotated.annotated(self, where, annotation, owner)

    def is_context_class(self, value: ClassValue) -> bool:
        """Whether a class of the project is a durable context: a subclass of the SDK's, or configured as
        one.
        """
        if self.names.is_context_type(value.definition.name) or self.names.is_context_type(
            self.qualified(value.module, value.definition.qualname)
        ):
            return True
        return any(
            isinstance(base, External) and base.name in aws.CONTEXT_TYPES for base in self.all_bases(value)
        )

    def qualified(self, module: m.ModuleFacts, qualname: str) -> str:
        """Return `package.module.qualname` for a definition of the project, as far as its path tells."""
        prefix = self._qualified.get(module)
        if prefix is None:
            parts = [module.path.stem] if module.path.stem != "__init__" else []
            folder = module.path.parent
            while (folder / "__init__.py").exists() and folder != folder.parent:
                parts.insert(0, folder.name)
                folder = folder.parent
            prefix = self._qualified[module] = ".".join(parts)
        return f"{prefix}.{qualname}" if prefix else qualname

    # ------------------------------------------------ classes

    def class_frame(self, value: ClassValue) -> Frame:
        """Return the frame of a class body, whose names are the class's attributes."""
        frame = self._class_frames.get(value)
        if frame is None:
            frame = Frame(value.module, None, value.closure, Mode())
            self._class_frames[value] = frame
            self.class_by_frame[frame] = value
            self.classes.setdefault(value.definition, {})[value] = None
            for statement in value.definition.body:
                if isinstance(statement, m.FunctionDefinition):
                    self.methods[statement.function] = value.definition
        return frame

    def all_bases(self, value: ClassValue) -> tuple[Value, ...]:
        """Return the bases of a class and theirs, in the order in which attributes are looked up."""
        answer = self._bases.get(value)
        if answer is None:
            answer = self._bases[value] = Answer(("bases", value), ())
        self._answered(answer, lambda: self._all_bases(value))
        return answer.values  # type: ignore[return-value]

    def _all_bases(self, value: ClassValue) -> tuple[Value, ...]:
        found: list[Value] = []
        waiting = self._own_bases(value)
        while waiting:
            base = waiting.pop(0)
            if base in found:
                continue
            found.append(base)
            if isinstance(base, ClassValue):
                waiting = [*self._own_bases(base), *waiting]
        return tuple(found)

    def _own_bases(self, value: ClassValue) -> list[Value]:
        where = value.closure or self.module_frame(value.module)
        bases: list[Value] = []
        for base in value.definition.bases:
            plain = base.value if isinstance(base, m.Subscript) else base
            values = expressions.evaluate(self, where, plain)
            bases += [v for v in values if isinstance(v, (ClassValue, External)) and v != value]
        return bases

    def member(self, value: ClassValue, name: str) -> Values:
        """Return a class's attribute `name`, inherited ones included."""
        for owner in (value, *self.all_bases(value)):
            if isinstance(owner, ClassValue):
                found = self.read(self.class_frame(owner), name)
                if found:
                    return found
        return NOTHING

    def heap(self, value: Instance, name: str) -> Values:
        """Return what was stored in the attribute `name` of an instance."""
        self._ask(value, name)
        self._depends((value.of, name))
        stored = self._fields.get(value.of, {}).get(name, {})
        return pruned(
            NOTHING.union(*(values for site, values in stored.items() if _may_be(site, value.site)))
        )

    def stored_in(self, value: Instance) -> Values:
        """Return everything that was stored in attributes of an instance."""
        self._depends(("stored", value.of))
        return NOTHING.union(
            *(
                values
                for stored in self._fields.get(value.of, {}).values()
                for site, values in stored.items()
                if _may_be(site, value.site)
            )
        )

    def store(self, value: Instance, name: str, values: Values) -> None:
        """Add to an attribute of an instance."""
        self._note_instance(value, values)
        stored = self._fields.setdefault(value.of, {}).setdefault(name, {})
        before = stored.get(value.site, NOTHING)
        stored[value.site] = self.grown(before, values, (value.of, name))
        if stored[value.site] is not before:
            self._grew(("stored", value.of))

    def returned(self, frame: Frame) -> Values:
        """Return what a frame returns."""
        self._depends(("returns", frame))
        if frame.deferred:
            return one(Deferred(frame))
        return frame.returns

    def yielded(self, frame: Frame) -> Values:
        """Return what a frame yields."""
        self.force(frame)
        self._depends(("yields", frame))
        return frame.yields


def _may_be(site: m.Call | None, other: m.Call | None) -> bool:
    """Whether instances made at these calls can be one and the same; None is any call."""
    return site is None or other is None or site is other


def _by_name(item: tuple[str, object]) -> str:
    return item[0]


def _defines_operations(block: tuple[m.Statement, ...]) -> bool:
    """Whether a block defines functions that their decorators or annotations may make handlers or
    operations.
    """
    for statement in block:
        if isinstance(statement, m.FunctionDefinition):
            function = statement.function
            decorated = any(m.last_name(d) not in _PLAIN_DECORATORS for d in function.decorators)
            annotated = any(_may_be_context(p.annotation) for p in function.parameters)
            if decorated or annotated or _defines_operations(function.body):
                return True
        elif isinstance(statement, m.ClassDefinition) and _defines_operations(statement.definition.body):
            return True
        if isinstance(statement, (m.Return, m.Assignment, m.ExpressionStatement)) and _is_decorated(
            statement.value
        ):
            return True
        if any(_defines_operations(inside) for inside in m.blocks_of(statement)):
            return True
    return False


def _is_decorated(value: m.Expression | None) -> bool:
    """Whether an expression calls a decorator of the SDK: `return durable_execution(made)`."""
    return isinstance(value, m.Call) and m.last_name(value) in _OPERATION_DECORATORS


def _may_be_context(annotation: m.Expression | None) -> bool:
    if annotation is None or (isinstance(annotation, m.Constant) and annotation.kind != "str"):
        return False
    return not (isinstance(annotation, m.Name) and annotation.id in _PLAIN_ANNOTATIONS)


def _attributes_assigned(block: tuple[m.Statement, ...], receiver: str) -> set[str]:
    """Return the attributes of `receiver` that a block assigns, at any depth."""
    found: set[str] = set()
    for statement in block:
        targets: list[m.Expression] = []
        match statement:
            case m.Assignment():
                targets = list(statement.targets)
            case m.AugmentedAssignment() | m.For():
                targets = [statement.target]
            case m.With():
                targets = [item.target for item in statement.items if item.target is not None]
            case m.ExpressionStatement(value=m.Call(function=m.Attribute(value=held))):
                targets = [held]  # `self.stack.append(...)`
        while targets:
            target = targets.pop()
            match target:
                case m.Attribute(value=m.Name(id=owner)):
                    found |= {target.name} if owner == receiver else set()
                case m.Subscript() | m.Starred():
                    targets.append(target.value)
                case m.Sequence():
                    targets.extend(target.items)
        for inside in m.blocks_of(statement):
            found |= _attributes_assigned(inside, receiver)
    return found


def _tells_apart(value: Value) -> bool:
    """Whether an argument is worth a frame of its own where nothing durable is handed over."""
    if isinstance(value, TupleValue):  # the classes in `*errors`
        return any(isinstance(v, External) and not v.called for item in value.items for v in item)
    return isinstance(value, (External, ClassValue, OperationContext)) or (
        isinstance(value, FunctionValue) and value.closure is None
    )
