"""What runs, and what has an effect, while a suspension unwinds the stack.

A suspension is an exception of exactly one of two classes (`sdk.aws.SUSPENSIONS`). For each of them this
module follows a `finally`, a handler, an `__exit__` or a generator from its `yield` on, knows which tests
have a known answer then (`isinstance(e, Exception)`, `exc_type is None`, a flag that cannot have been set
yet), and tells which effects run and how it ends: let through, swallowed, or turned into something else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.project.flags import constants
from durable_lint.project.promises import implementations, only_promised
from durable_lint.project.suspension import Step, expression_steps, operands, static_truth
from durable_lint.project.values import (
    ClassValue,
    Contents,
    Context,
    External,
    FunctionValue,
    Instance,
    Manager,
    Partial,
    Scope,
    TupleValue,
    Value,
    Values,
    inner,
)
from durable_lint.sdk import aws, effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from durable_lint.project.frames import Frame, Record
    from durable_lint.project.solver import Solver

_NOT_BASE = frozenset({"contextlib.AbstractContextManager", "contextlib.AbstractAsyncContextManager"})
_HARMLESS_BASES = _NOT_BASE | {
    "builtins.object",
    "abc.ABC",
    "typing.Generic",
    "typing.Protocol",
    "contextlib.ContextDecorator",
    "contextlib.AsyncContextDecorator",
}
STACK_CLASSES = frozenset({"contextlib.ExitStack", "contextlib.AsyncExitStack"})
_STACK_CLOSERS = frozenset({"close", "aclose", "__exit__", "__aexit__"})
_LEAVES_PROCESS = frozenset({"sys.exit", "builtins.exit", "builtins.quit"})

READS = frozenset(
    "get items keys values copy format format_map join split rsplit splitlines strip lstrip rstrip lower "
    "upper title startswith endswith removeprefix removesuffix encode decode isoformat total_seconds "
    "to_seconds timestamp strftime is_set empty qsize locked done cancelled exists is_file is_dir as_posix "
    "hex digest hexdigest count index find append appendleft extend discard sort reverse pop popleft popitem "
    "setdefault move_to_end group groups match search fullmatch as_dict asdict dict json model_dump "
    "model_dump_json to_dict getvalue elapsed seconds now utcnow monotonic perf_counter replace is_alive "
    "with_traceback add_note cache_clear cache_info _asdict _replace".split()
)
"""Methods that, on an object of which nothing is known, only look at it or change a container in memory."""


_CHANGES = frozenset("add clear insert remove update difference_update intersection_update".split())
"""Methods that change a container, and may do more on another object."""


class Effect(NamedTuple):
    """Something that is not process-local, where it stands, and how to name it in a message."""

    module: m.ModuleFacts
    at: m.At
    label: str
    """What would run, as people know it: an operation's name, or the call's text."""
    reason: str
    """Why it is not process-local, completing a sentence whose subject is the call; may be empty."""
    unseen: bool = False
    """True where nothing is known against it but that it cannot be seen."""


@dataclass(frozen=True, slots=True)
class About:
    """What is known while a block runs because of a suspension.

    `kind` is the exact class of the exception in flight. `values` are the names bound to it, `types` to its
    class, `constants` the names whose value is still a constant.
    """

    kind: str
    values: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    constants: dict[str, object] = field(default_factory=dict)


class Outcome(NamedTuple):
    """How a block ends (`exits`) and the first effect on the way.

    Exits: `falls` (off its end), `reraise` (the suspension itself), `other` (another exception), `return`,
    `return-true`, `break`, `continue`.
    """

    exits: frozenset[str]
    effect: Effect | None


_FALLS = frozenset({"falls"})


class Settled(NamedTuple):
    """Which names the configuration takes for process-local, which not, and whether everything counts."""

    process_local: Callable[[str], bool]
    effects: Callable[[str], bool]
    strict: bool


class Unwinding:
    """Answers for one solver. Remembers what the frames it has looked at do."""

    def __init__(self, solver: Solver, settled: Settled) -> None:
        self.solver = solver
        self.settled = settled
        self._frames: dict[Frame, Effect | None] = {}
        self._unconditional: dict[Frame, Outcome] = {}
        self._exits: dict[tuple[Frame, str, bool], Outcome] = {}
        """How managers end what is thrown into them. Who enters itself adds nothing to itself."""

    # ------------------------------------------------ effects

    def frame_effect(self, frame: Frame) -> Effect | None:
        """Return the first effect of running a project function, None when all it does is process-local."""
        if frame not in self._frames:
            self._frames[frame] = None  # what calls itself adds nothing to itself
            if frame.function is not None:
                known = self._configured(
                    self.solver.qualified(frame.module, frame.function.qualname), frame, frame.function.at
                )
                if isinstance(known, Effect) or known:
                    self._frames[frame] = known if isinstance(known, Effect) else None
                else:
                    self.solver.settle(frame)
                    self._frames[frame] = self.block(frame, frame.function.body, About("")).effect
        return self._frames[frame]

    def _configured(self, name: str, frame: Frame, at: m.At) -> Effect | bool:
        if self.settled.effects(name):
            return Effect(frame.module, at, name, "the configuration says so")
        return self.settled.process_local(name)

    def effect(self, frame: Frame, expression: m.Expression | None) -> Effect | None:
        """Return the first effect of evaluating an expression."""
        for step in expression_steps(frame, expression):
            found = self.step_effect(frame, step)
            if found is not None:
                return found
        return None

    def step_effect(self, frame: Frame, step: Step) -> Effect | None:
        """Return the effect of one step: a call, or the generator that a loop runs."""
        record = step.record
        if not isinstance(step.fact, m.Call):
            return self._targets_effect(record)
        call = step.fact
        if record.durable:
            return Effect(frame.module, call.at, _label(frame, call, record), "is a durable operation")
        if record.registration:
            return None
        called = map(_called, record.callee)
        names = sorted(value.name for value in called if isinstance(value, External))
        for name in names:
            found = self._named_effect(frame, call, name)
            if found is not None:
                return found
        inside = self._targets_effect(record)
        if inside is not None:
            return Effect(inside.module, inside.at, text(frame, call.function), inside.reason, inside.unseen)
        if not record.callee:
            return self._unknown_effect(frame, call)
        return self._promised_effect(frame, call, record)

    def _promised_effect(self, frame: Frame, call: m.Call, record: Record) -> Effect | None:
        """Judge a call of an abstract method by the project's own methods that stand for it, if it has any."""
        if not only_promised(self.solver, record.callee):
            return None
        kept = [
            f for v in record.callee if isinstance(v, FunctionValue) for f in implementations(self.solver, v)
        ]
        for found in (
            self.frame_effect(target) for function in kept for target in self.frames_like(function)
        ):
            if found is not None:
                return Effect(found.module, found.at, text(frame, call.function), found.reason, found.unseen)
        return None if kept else self._unknown_effect(frame, call)

    def _targets_effect(self, record: Record) -> Effect | None:
        for target in record.targets:
            found = self.frame_effect(target)
            if found is not None:
                return found
        return None

    def _named_effect(self, frame: Frame, call: m.Call, name: str) -> Effect | None:
        """Judge a call of something outside the project by its qualified name."""
        configured = self._configured(name, frame, call.at)
        if isinstance(configured, Effect):
            return configured
        if configured or is_stack_close(name) or name in _LEAVES_PROCESS:
            return None
        if name.endswith((".__exit__", ".__aexit__", ".__enter__")):
            return self._exit_by_name(frame, call.at, name.rpartition(".")[0], text(frame, call))
        entry = effects.call(name)
        label = text(frame, call.function)
        last = name.rpartition(".")[2]
        if entry is not None:
            if entry.local and not self.settled.strict:
                return self._handed_effect(frame, call) if entry.runs_arguments else None
            return Effect(frame.module, call.at, label, entry.reason)
        if self.settled.strict:
            return Effect(frame.module, call.at, label, "counts because of `strict`")
        if name.startswith(("builtins.", "sdk.", "runtime.")) or last[:1].isupper():
            return None  # building a value or an exception
        return self._unknown_effect(frame, call)

    def _handed_effect(self, frame: Frame, call: m.Call) -> Effect | None:
        """Judge a call that runs the functions it is handed by those functions."""
        for argument in (*call.arguments, *(keyword.value for keyword in call.keywords)):
            for value in _stable(self.solver.value(frame, argument)):
                found: Effect | None = None
                if isinstance(value, External) and not value.called:
                    found = self.named(frame, argument, value.name)
                elif isinstance(value, FunctionValue):
                    effects_of = (self.frame_effect(target) for target in self.frames_like(value))
                    found = next((effect for effect in effects_of if effect is not None), None)
                if found is not None:
                    return found
        return None

    def _unknown_effect(self, frame: Frame, call: m.Call) -> Effect | None:
        """Judge a call of which only the text is known."""
        function = call.function
        if isinstance(function, m.Attribute):
            base = function.value
            if isinstance(base, (m.Constant, m.Compound)):
                return None
            values = self.solver.value(frame, base)
            if values and all(isinstance(v, (Contents, TupleValue)) for v in values):
                return None
            if not values and function.name in _CHANGES and _is_event(frame, base):
                return None
            if effects.receiver(m.last_name(base), function.name) is not None and not self.settled.strict:
                return None
            if function.name in READS:
                return None
            if function.name in {"__exit__", "__aexit__"}:
                for value in values:
                    found = self.exit_of(frame, value, base, None, aws.SUSPENSIONS[0], call.at).effect
                    if found is not None:
                        return found
                if values:
                    return None
        elif isinstance(function, m.Name) and function.id[:1].isupper():
            return None
        if self.settled.process_local(text(frame, function)):
            return None
        return Effect(frame.module, call.at, text(frame, function), "cannot be seen", unseen=True)

    def named(self, frame: Frame, callable_: m.Expression, name: str) -> Effect | None:
        """Judge what calling `callable_`, known by the qualified name `name`, would do."""
        return self._named_effect(frame, m.Call(callable_.at, callable_, (), ()), name)

    def call_of(self, frame: Frame, callable_: m.Expression) -> Effect | None:
        """Judge what calling an expression of which nothing is known would do."""
        return self._unknown_effect(frame, m.Call(callable_.at, callable_, (), ()))

    # ------------------------------------------------ blocks

    def block(self, frame: Frame, block: Iterable[m.Statement], about: About) -> Outcome:
        """Follow a block along every path that is possible while `about` holds."""
        exits: set[str] = set()
        effect: Effect | None = None
        for statement in block:
            outcome, about = self._statement(frame, statement, about)
            effect = effect or outcome.effect
            exits |= outcome.exits - _FALLS
            if "falls" not in outcome.exits:
                return Outcome(frozenset(exits), effect)
        return Outcome(frozenset(exits) | _FALLS, effect)

    def _statement(self, frame: Frame, statement: m.Statement, about: About) -> tuple[Outcome, About]:
        match statement:
            case m.ExpressionStatement():
                return self._expression(frame, statement.value), about
            case m.Assignment():
                outcome = self._expression(frame, statement.value)
                return outcome, self._rebound(frame, statement, about)
            case m.AugmentedAssignment():
                return self._expression(frame, statement.value), _forget(about, statement.target)
            case m.Return():
                return self._return(frame, statement, about), about
            case m.Raise():
                return Outcome(
                    self._raise(frame, statement, about), self.effect(frame, statement.exception)
                ), about
            case m.Break():
                return Outcome(frozenset({"break"}), None), about
            case m.Continue():
                return Outcome(frozenset({"continue"}), None), about
            case m.If():
                return self._if(frame, statement, about), about
            case m.While():
                inside = self._loop(frame, statement.test, statement.body, statement.orelse, about)
                known = static_truth(statement.test)
                if known is True and "break" not in self.block(frame, statement.body, about).exits:
                    inside = Outcome(inside.exits - _FALLS, inside.effect)
                return inside, about
            case m.For():
                running = frame.records.get(statement)
                first = None if running is None else self._targets_effect(running)
                inside = self._loop(frame, statement.iterable, statement.body, statement.orelse, about)
                return Outcome(inside.exits, first or inside.effect), about
            case m.Try():
                return self._try(frame, statement, about), about
            case m.With():
                return self._with(frame, statement, about), about
            case m.Match():
                return self._match(frame, statement, about), about
            case m.Assertion():
                return Outcome(_FALLS, self.effect(frame, statement.test)), about
        return Outcome(_FALLS, None), about

    def _expression(self, frame: Frame, expression: m.Expression | None) -> Outcome:
        effect = self.effect(frame, expression)
        value = expression.value if isinstance(expression, m.Await) else expression
        if isinstance(value, m.Call):
            exits = self._always_leaves(frame, value)
            if exits is not None:
                return Outcome(exits, effect)
        return Outcome(_FALLS, effect)

    def _always_leaves(self, frame: Frame, call: m.Call) -> frozenset[str] | None:
        """Return how a call ends that never returns: a project function that always raises, or `sys.exit`."""
        record = frame.records.get(call)
        if record is None:
            return None
        if any(isinstance(v, External) and v.name in _LEAVES_PROCESS for v in record.callee):
            return frozenset({"other"})
        targets = [target for target in record.targets if target.function is not None]
        if not targets or len(targets) < len(record.callee) or only_promised(self.solver, record.callee):
            return None
        exits: set[str] = set()
        for target in targets:
            exits |= self._whole(target).exits
        if exits & {"falls", "return", "return-true"}:
            return None
        return frozenset(exits) or None

    def _whole(self, frame: Frame) -> Outcome:
        if frame not in self._unconditional:
            self._unconditional[frame] = Outcome(_FALLS, None)
            self.solver.settle(frame)
            assert frame.function is not None
            names = frozenset(parameter.name for parameter in frame.function.parameters)
            outcome = self.block(frame, frame.function.body, About("", values=names))
            self._unconditional[frame] = outcome
        return self._unconditional[frame]

    def _return(self, frame: Frame, statement: m.Return, about: About) -> Outcome:
        effect = self.effect(frame, statement.value)
        if statement.value is not None and self.truth(frame, statement.value, about) is True:
            return Outcome(frozenset({"return-true"}), effect)
        return Outcome(frozenset({"return"}), effect)

    def _raise(self, frame: Frame, statement: m.Raise, about: About) -> frozenset[str]:
        raised = statement.exception
        if raised is None:
            return frozenset({"reraise"})
        match raised:
            case m.Call(function=m.Attribute(name="with_traceback", value=changed)):
                raised = changed
        if self._subject(frame, raised, about) == "value":
            return frozenset({"reraise"})
        return frozenset({"other"})

    def _if(self, frame: Frame, statement: m.If, about: About) -> Outcome:
        effect = self.effect(frame, statement.test)
        known = self.truth(frame, statement.test, about)
        exits: set[str] = set()
        if known is not False:
            body = self.block(frame, statement.body, about)
            exits |= body.exits
            effect = effect or body.effect
        if known is not True:
            orelse = self.block(frame, statement.orelse, about)
            exits |= orelse.exits
            effect = effect or orelse.effect
        return Outcome(frozenset(exits), effect)

    def _loop(
        self,
        frame: Frame,
        header: m.Expression,
        body: tuple[m.Statement, ...],
        orelse: tuple[m.Statement, ...],
        about: About,
    ) -> Outcome:
        first = self.effect(frame, header)
        if static_truth(header) is False:
            return Outcome(_FALLS, first)
        inside = self.block(frame, body, about)
        after = self.block(frame, orelse, about)
        exits = (inside.exits | after.exits) - {"break", "continue"} | _FALLS
        return Outcome(exits, first or inside.effect or after.effect)

    def _try(self, frame: Frame, statement: m.Try, about: About) -> Outcome:
        body = self.block(frame, statement.body, about)
        effect = body.effect
        exits = set(body.exits)
        if "falls" in exits and statement.orelse:
            after = self.block(frame, statement.orelse, about)
            exits = exits - _FALLS | after.exits
            effect = effect or after.effect
        for handler in statement.handlers:
            catches = self.catches(frame, handler.type, about.kind) if about.kind else False
            handled = self.block(frame, handler.body, about)
            if catches and "reraise" in exits:
                exits = exits - {"reraise"} | handled.exits
            elif "other" in body.exits and "falls" not in body.exits:
                exits |= handled.exits
            elif "falls" in handled.exits:
                exits.add("falls")
            effect = effect or handled.effect
        if statement.finalbody:
            last = self.block(frame, statement.finalbody, about)
            effect = effect or last.effect
            exits = set(last.exits) if "falls" not in last.exits else exits | (last.exits - _FALLS)
        return Outcome(frozenset(exits), effect)

    def _with(self, frame: Frame, statement: m.With, about: About) -> Outcome:
        effect: Effect | None = None
        for item in statement.items:
            effect = effect or self.effect(frame, item.manager)
            record = frame.records.get(item)
            if record is not None:
                effect = effect or self._targets_effect(record)
            kind = about.kind or aws.SUSPENSIONS[0]
            effect = effect or self.item_exit(frame, item, kind).effect
        body = self.block(frame, statement.body, about)
        return Outcome(body.exits, effect or body.effect)

    def _match(self, frame: Frame, statement: m.Match, about: About) -> Outcome:
        effect = self.effect(frame, statement.subject)
        exits: set[str] = set()
        for case in statement.cases:
            body = self.block(frame, case.body, about)
            exits |= body.exits
            effect = effect or self.effect(frame, case.guard) or body.effect
            if case.irrefutable:
                return Outcome(frozenset(exits), effect)
        return Outcome(frozenset(exits) | _FALLS, effect)

    # ------------------------------------------------ tests

    def truth(self, frame: Frame, test: m.Expression, about: About) -> bool | None:
        """Return what a test gives while `about` holds, None where it can go both ways."""
        known = static_truth(test)
        if known is not None:
            return known
        subject = self._subject(frame, test, about)
        if subject is not None:
            return True
        match test:
            case m.Name():
                if test.id in about.constants:
                    return bool(about.constants[test.id])
            case m.Negation():
                inside = self.truth(frame, test.value, about)
                return None if inside is None else not inside
            case m.Boolean():
                return self._boolean(frame, test, about)
            case m.Comparison():
                return self._comparison(frame, test, about)
            case m.Call():
                return self._instance_test(frame, test, about)
            case m.NamedExpression():
                return self.truth(frame, test.value, about)
        return None

    def _boolean(self, frame: Frame, test: m.Boolean, about: About) -> bool | None:
        decisive = not test.is_and
        found = {self.truth(frame, value, about) for value in test.values}
        if decisive in found:
            return decisive
        return None if None in found else not decisive

    def _comparison(self, frame: Frame, test: m.Comparison, about: About) -> bool | None:
        if len(test.operators) != 1:
            return None
        operator, right = test.operators[0], test.rights[0]
        left = test.left
        subject = self._subject(frame, left, about)
        if (
            subject is None
            and self._subject(frame, right, about) is not None
            and operator in {"is", "is not", "==", "!="}
        ):
            left, right = right, left
            subject = self._subject(frame, left, about)
        negated = operator in {"is not", "!=", "not in"}
        if isinstance(left, m.Name) and left.id in about.constants and isinstance(right, m.Constant):
            if right.kind == "other" or operator not in {"is", "is not", "==", "!="}:
                return None
            same = about.constants[left.id] == right.value and type(about.constants[left.id]) is type(
                right.value
            )
            return same is not negated
        if subject is None or not about.kind:
            return None
        if isinstance(right, m.Constant) and right.kind == "none":
            return negated
        if subject == "type":
            names = _class_names(self.solver.value(frame, right))
            if not names:
                return None
            if operator in {"is", "is not", "==", "!=", "in", "not in"}:
                return (about.kind in names) is not negated
        return None

    def _instance_test(self, frame: Frame, test: m.Call, about: About) -> bool | None:
        if not isinstance(test.function, m.Name) or len(test.arguments) != 2 or not about.kind:
            return None
        subject = self._subject(frame, test.arguments[0], about)
        wanted = {"isinstance": "value", "issubclass": "type"}.get(test.function.id)
        if wanted is None or subject != wanted:
            return None
        classes = self.solver.value(frame, test.arguments[1])
        return self._class_catches(classes, about.kind) if classes else None

    def _subject(self, frame: Frame, expression: m.Expression, about: About) -> str | None:
        """Return `value` for the exception in flight, `type` for its class, None for anything else."""
        match expression:
            case m.Name():
                if expression.id in about.values:
                    return "value"
                return "type" if expression.id in about.types else None
            case m.NamedExpression():
                return self._subject(frame, expression.value, about)
            case m.Attribute(name="__class__"):
                return "type" if self._subject(frame, expression.value, about) == "value" else None
            case m.Call():
                callee = self.solver.value(frame, expression.function)
                names = {v.name for v in callee if isinstance(v, External)}
                if "sys.exception" in names:
                    return "value" if about.kind else None
                if "builtins.type" in names and len(expression.arguments) == 1:
                    inside = self._subject(frame, expression.arguments[0], about)
                    return "type" if inside == "value" else None
            case m.Subscript(index=m.Constant(kind="int", value=index)) if index in (0, 1):
                callee = self.solver.value(frame, expression.value)
                if any(isinstance(v, External) and v.name == "sys.exc_info" and v.called for v in callee):
                    return ("type" if index == 0 else "value") if about.kind else None
        return None

    def _rebound(self, frame: Frame, statement: m.Assignment, about: About) -> About:
        names = [target.id for target in statement.targets if isinstance(target, m.Name)]
        if not names:
            return about
        subject = None if statement.value is None else self._subject(frame, statement.value, about)
        changed = about
        for name in names:
            constants = {k: v for k, v in changed.constants.items() if k != name}
            values, types = changed.values - {name}, changed.types - {name}
            values = values | {name} if subject == "value" else values
            types = types | {name} if subject == "type" else types
            changed = replace(changed, values=values, types=types, constants=constants)
        return changed

    # ------------------------------------------------ handlers

    def catches(self, frame: Frame, handled: m.Expression | None, kind: str) -> bool:
        """Whether `except handled` catches a suspension of exactly this class."""
        return handled is None or self._class_catches(self.solver.value(frame, handled), kind)

    @staticmethod
    def _class_catches(classes: Values, kind: str) -> bool:
        names = _class_names(classes)
        return "builtins.BaseException" in names or aws.SUSPENSIONS[0] in names or kind in names

    def control_flow_named(self, frame: Frame, handled: m.Expression | None) -> str:
        """Return the first of the SDK's control-flow exceptions that a handler names, "" when it names
        none.
        """
        if handled is None:
            return ""
        names = _class_names(self.solver.value(frame, handled))
        named = sorted(name for name in names if name in aws.CONTROL_FLOW)
        return named[0].removeprefix("sdk.") if named and "builtins.BaseException" not in names else ""

    def handler_of(self, frame: Frame, statement: m.Try, kind: str) -> m.Handler | None:
        """Return the handler of a `try` that a suspension of this class reaches, None when none catches it."""
        for handler in statement.handlers:
            if self.catches(frame, handler.type, kind):
                return handler
        return None

    # ------------------------------------------------ managers

    def item_exit(self, frame: Frame, item: m.Item, kind: str) -> Outcome:
        """Return what leaving a `with` item does when a suspension of this class passes: its effect, and
        whether the suspension is swallowed (`falls`), let through (`reraise`) or turned into something
        else (`other`).
        """
        return self.manager_exit(frame, item.manager, frame.records.get(item), kind)

    def manager_exit(
        self, frame: Frame, expression: m.Expression, record: Record | None, kind: str
    ) -> Outcome:
        """Like `item_exit`, for the expression that gives the manager."""
        match expression:
            case m.Conditional():
                return _worst(
                    [
                        self.manager_exit(frame, expression.body, record, kind),
                        self.manager_exit(frame, expression.orelse, record, kind),
                    ]
                )
            case m.Boolean():
                return _worst([self.manager_exit(frame, v, record, kind) for v in expression.values])
            case m.NamedExpression():
                return self.manager_exit(frame, expression.value, record, kind)
            case m.Await():
                return self.manager_exit(frame, expression.value, record, kind)
        values = self.solver.value(frame, expression)
        if not values:
            return Outcome(frozenset({"reraise"}), self._unseen_manager(frame, expression))
        return _worst(
            [self.exit_of(frame, v, expression, record, kind, expression.at) for v in _stable(values)]
        )

    def _unseen_manager(self, frame: Frame, expression: m.Expression) -> Effect | None:
        function = expression.function if isinstance(expression, m.Call) else expression
        shown = text(frame, function)
        if self.settled.process_local(shown):
            return None
        if isinstance(function, m.Attribute) and isinstance(expression, m.Call):
            known = effects.receiver(m.last_name(function.value), function.name)
            if known is not None and not self.settled.strict:
                return None
        return Effect(frame.module, expression.at, f"{shown}.__exit__", "cannot be seen", unseen=True)

    def exit_of(
        self,
        frame: Frame,
        value: Value,
        expression: m.Expression,
        record: Record | None,
        kind: str,
        at: m.At,
    ) -> Outcome:
        """Return what the exit of one manager does when a suspension passes."""
        through = frozenset({"reraise"})
        match value:
            case Scope():
                return Outcome(through, None)
            case Manager():
                return self._generator_exit(frame, value, kind)
            case Instance():
                return self._class_exit(frame, value, record, kind, at)
            case External():
                if value.name in STACK_CLASSES:
                    return Outcome(through, None)
                return self._external_exit(frame, value.name, expression, at)
            case Partial() | FunctionValue() | ClassValue() | Contents() | TupleValue():
                return Outcome(through, None)
        return Outcome(through, self._unseen_manager(frame, expression))

    def _external_exit(self, frame: Frame, name: str, expression: m.Expression, at: m.At) -> Outcome:
        through = frozenset({"reraise"})
        shown = text(frame, expression.function if isinstance(expression, m.Call) else expression)
        if name in {"contextlib.closing", "contextlib.aclosing"} and isinstance(expression, m.Call):
            closed = expression.arguments[0] if expression.arguments else None
            return Outcome(through, self._close_effect(frame, closed))
        if name in effects.SUPPRESSORS and isinstance(expression, m.Call):
            caught: set[str] = set()
            for argument in expression.arguments:
                inside = argument.value if isinstance(argument, m.Starred) else argument
                caught |= _class_names(self.solver.value(frame, inside))
            if "builtins.BaseException" in caught or caught & aws.CONTROL_FLOW:
                return Outcome(_FALLS, None)
            return Outcome(through, None)
        mode = effects.ARCHIVES.get(name)
        if mode is not None and isinstance(expression, m.Call) and _may_write(expression, mode):
            return Outcome(through, Effect(frame.module, at, f"{shown}.__exit__", effects.ARCHIVE_WRITTEN))
        entry = effects.manager(name)
        swallows = entry is not None and entry.swallows
        return Outcome(_FALLS if swallows else through, self._exit_by_name(frame, at, name, shown))

    def _exit_by_name(self, frame: Frame, at: m.At, name: str, shown: str) -> Effect | None:
        configured = self._configured(name, frame, at)
        if isinstance(configured, Effect):
            return configured
        if configured:
            return None
        entry = effects.manager(name)
        label = f"{shown}.__exit__"
        if entry is None:
            base, _, method = name.rpartition(".")
            known = effects.receiver(base.rpartition(".")[2], method)
            if known is not None and not self.settled.strict:
                return None
            return Effect(frame.module, at, label, "cannot be seen", unseen=True)
        if entry.local and not self.settled.strict:
            return None
        return Effect(frame.module, at, label, entry.reason)

    def _close_effect(self, frame: Frame, closed: m.Expression | None) -> Effect | None:
        """Judge `closing(thing)` by the `close` of the thing."""
        if closed is None:
            return None
        label = f"{text(frame, closed)}.close"
        values = self.solver.value(frame, closed)
        if not values:
            return Effect(frame.module, closed.at, label, "cannot be seen", unseen=True)
        for value in _stable(values):
            if isinstance(value, External):
                name = f"{value.name}.close"
                configured = self._configured(name, frame, closed.at)
                if isinstance(configured, Effect):
                    return configured
                entry = effects.call(name)
                if configured or (entry is not None and entry.local and not self.settled.strict):
                    continue
                reason = "cannot be seen" if entry is None else entry.reason
                return Effect(frame.module, closed.at, label, reason, unseen=entry is None)
            for method in ("close", "aclose"):
                for member in self.solver.attribute(frozenset((value,)), method):
                    if isinstance(member, FunctionValue):
                        for target in self.frames_like(member):
                            found = self.frame_effect(target)
                            if found is not None:
                                return Effect(frame.module, closed.at, label, found.reason, found.unseen)
        return None

    def frames_like(self, value: FunctionValue) -> list[Frame]:
        """Return the frames of a function, evaluating it without arguments when nobody was seen to call it."""
        found = self.solver.frames_of.get(value.function)
        if not found:
            return [self.solver.evaluate(value)]
        return list(found)

    def _class_exit(
        self, frame: Frame, value: Instance, record: Record | None, kind: str, at: m.At
    ) -> Outcome:
        through = frozenset({"reraise"})
        name = self.solver.qualified(value.of.module, value.of.definition.qualname)
        configured = self._configured(name, frame, at)
        if isinstance(configured, Effect):
            return Outcome(through, configured)
        if configured:
            return Outcome(through, None)
        members = [
            member
            for method in ("__exit__", "__aexit__")
            for member in _stable(self.solver.attribute(frozenset((value,)), method))
        ]
        outcomes: list[Outcome] = []
        for member in members:
            if isinstance(member, FunctionValue):
                outcomes += [self._exit_method(target, kind) for target in self._exit_frames(member, record)]
        if outcomes:
            return _worst(outcomes)
        for base in self.solver.all_bases(value.of):
            if isinstance(base, External) and base.name not in _HARMLESS_BASES | STACK_CLASSES:
                return Outcome(through, self._exit_by_name(frame, at, base.name, value.of.definition.name))
        return Outcome(through, None)

    def _exit_frames(self, member: FunctionValue, record: Record | None) -> list[Frame]:
        if record is not None:
            found = [target for target in record.targets if target.function is member.function]
            found = found or [target for target in record.actions if target.function is member.function]
            if found:
                return found
        return self.frames_like(member)

    def pushed_effect(self, value: FunctionValue, record: Record, kind: str) -> Effect | None:
        """Judge a function that `ExitStack.push` was given, which is called as an `__exit__` is."""
        bound = value.receiver is not None
        outcomes = [self._exit_method(target, kind, bound) for target in self._exit_frames(value, record)]
        return _worst(outcomes).effect

    def _exit_method(self, frame: Frame, kind: str, bound: bool = True) -> Outcome:
        """Follow an `__exit__` that is told of a suspension."""
        key = (frame, kind, bound)
        if key not in self._exits:
            self._exits[key] = Outcome(frozenset({"reraise"}), None)
            self._exits[key] = self._followed_exit(frame, kind, bound)
        return self._exits[key]

    def _followed_exit(self, frame: Frame, kind: str, bound: bool) -> Outcome:
        self.solver.settle(frame)
        function = frame.function
        assert function is not None
        names = [p.name for p in function.parameters if p.kind in {"positional", "*"}]
        names = names[1:] if bound else names
        types = frozenset(names[:1]) if len(names) > 1 else frozenset()
        values = frozenset(names[1:2])
        outcome = self.block(frame, function.body, About(kind, values, types))
        if "return-true" in outcome.exits:
            return Outcome(_FALLS, outcome.effect)
        if "other" in outcome.exits and not outcome.exits & {"falls", "return", "reraise"}:
            return Outcome(frozenset({"other"}), outcome.effect)
        return Outcome(frozenset({"reraise"}), outcome.effect)

    # ------------------------------------------------ generators

    def is_settled(self, value: Manager) -> bool:
        """Whether the configuration says what a generator-based manager is, so that nobody need look."""
        name = self.solver.qualified(value.function.module, value.function.function.qualname)
        return self.settled.process_local(name) or self.settled.effects(name)

    def _generator_exit(self, frame: Frame, value: Manager, kind: str) -> Outcome:
        """Follow a generator-based manager from the `yield` on at which a suspension is thrown into it."""
        function = value.function.function
        name = self.solver.qualified(value.function.module, function.qualname)
        configured = self._configured(name, frame, function.at)
        if isinstance(configured, Effect):
            return Outcome(frozenset({"reraise"}), configured)
        if configured:
            return Outcome(frozenset({"reraise"}), None)
        key = (value.frame, kind, False)
        if key not in self._exits:
            self._exits[key] = Outcome(frozenset({"reraise"}), None)
            self._exits[key] = self._followed_generator(value.frame, function, kind)
        return self._exits[key]

    def _followed_generator(self, frame: Frame, function: m.Function, kind: str) -> Outcome:
        self.solver.settle(frame)
        found = self._from_yield(frame, function.body, kind)
        if found is None:
            return Outcome(frozenset({"reraise"}), None)
        exits = found.exits
        if exits & {"falls", "return", "return-true"}:
            return Outcome(_FALLS, found.effect)
        return Outcome(exits, found.effect)

    def _from_yield(self, frame: Frame, block: tuple[m.Statement, ...], kind: str) -> Outcome | None:
        """Return what happens when `kind` is raised at the yields of a block; None when it has none."""
        outcomes: list[Outcome] = []
        for index, statement in enumerate(block):
            inside = self._statement_from_yield(frame, statement, kind)
            if inside is None:
                continue
            if "falls" in inside.exits:
                rest = self.block(frame, block[index + 1 :], About(""))
                exits = (inside.exits - _FALLS) | rest.exits
                inside = Outcome(exits, inside.effect or rest.effect)
            outcomes.append(inside)
        return _worst(outcomes) if outcomes else None

    def _statement_from_yield(self, frame: Frame, statement: m.Statement, kind: str) -> Outcome | None:
        match statement:
            case m.Try():
                return self._try_from_yield(frame, statement, kind)
            case m.With():
                inside = self._from_yield(frame, statement.body, kind)
                if inside is None:
                    return None
                for item in reversed(statement.items):
                    if "reraise" not in inside.exits:
                        break
                    left = self.item_exit(frame, item, kind)
                    exits = (inside.exits - {"reraise"}) | left.exits
                    inside = Outcome(exits, inside.effect or left.effect)
                return inside
            case m.If():
                parts = [self._from_yield(frame, part, kind) for part in (statement.body, statement.orelse)]
            case m.For() | m.While():
                parts = [self._from_yield(frame, part, kind) for part in (statement.body, statement.orelse)]
            case m.Match():
                parts = [self._from_yield(frame, case.body, kind) for case in statement.cases]
            case m.FunctionDefinition() | m.ClassDefinition():
                return None
            case _:
                return Outcome(frozenset({"reraise"}), None) if _yields(statement) else None
        found = [part for part in parts if part is not None]
        return _worst(found) if found else None

    def _try_from_yield(self, frame: Frame, statement: m.Try, kind: str) -> Outcome | None:
        outcomes: list[Outcome] = []
        inside = self._from_yield(frame, statement.body, kind)
        if inside is not None:
            if "reraise" in inside.exits:
                handler = self.handler_of(frame, statement, kind)
                if handler is not None:
                    values = frozenset({handler.name} if handler.name else ())
                    handled = self.block(frame, handler.body, About(kind, values))
                    exits = (inside.exits - {"reraise"}) | handled.exits
                    inside = Outcome(exits, inside.effect or handled.effect)
            outcomes.append(inside)
        for part in (statement.orelse, statement.finalbody, *(h.body for h in statement.handlers)):
            elsewhere = self._from_yield(frame, part, kind)
            if elsewhere is not None:
                outcomes.append(elsewhere)
        if not outcomes:
            return None
        found = _worst(outcomes)
        if statement.finalbody:
            handler = self.handler_of(frame, statement, kind)
            known = constants(frame.module, statement, handler, holds_yield)
            last = self.block(frame, statement.finalbody, About(kind, constants=known))
            exits = found.exits if "falls" in last.exits else frozenset()
            found = Outcome(exits | (last.exits - _FALLS), found.effect or last.effect)
        return found


def _called(value: Value) -> Value:
    """Return what calling a value calls in the end."""
    while isinstance(value, Partial):
        value = value.target
    return value


def _is_event(frame: Frame, expression: m.Expression) -> bool:
    """Whether an expression is a handler's event, or a part of it: plain data, which only this replay has."""
    function = frame.function
    if function is None or frame.mode.operation is not function:
        return False
    while isinstance(expression, m.Subscript):
        expression = expression.value
    names = [parameter.name for parameter in function.parameters]
    if not isinstance(expression, m.Name) or expression.id not in names[:-1]:
        return False
    context = frame.names.get(names[names.index(expression.id) + 1], ())
    is_handler = any(isinstance(value, Context) and value.owner is function for value in context)
    held = frame.names.get(expression.id, ())
    return is_handler and all(isinstance(value, Contents) for value in held)


def is_stack_close(name: str) -> bool:
    """Whether a qualified name closes an `ExitStack`: that is judged by what is registered on it (LDC103)."""
    owner, _, method = name.rpartition(".")
    return owner in STACK_CLASSES and method in _STACK_CLOSERS | {"pop_all"}


def text(frame: Frame, expression: m.Expression, limit: int = 60) -> str:
    """Return the source of an expression on one line, shortened."""
    return source_text(frame.module, expression.at, limit)


def source_text(module: m.ModuleFacts, at: m.At, limit: int = 60) -> str:
    """Return the source at a place on one line, shortened to `limit` characters."""
    source = module.source
    start = source.offset(at.row, source.column(at.row, at.column))
    end = source.offset(at.end_row, source.column(at.end_row, at.end_column))
    flat = " ".join(source.text[start:end].split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def operation_name(call: m.Call, method: str) -> str:
    """Return the literal name that a durable operation is given, "" when it has none."""
    for keyword in call.keywords:
        if keyword.name == "name" and isinstance(keyword.value, m.Constant) and keyword.value.kind == "str":
            return str(keyword.value.value)
    positions = aws.POSITIONS.get(method, ())
    if "name" in positions:
        index = positions.index("name")
        if index < len(call.arguments):
            given = call.arguments[index]
            if isinstance(given, m.Constant) and given.kind == "str":
                return str(given.value)
    return ""


def _label(frame: Frame, call: m.Call, record: Record) -> str:
    return operation_name(call, record.durable) or text(frame, call.function)


def _class_names(classes: Values) -> set[str]:
    return {value.name for value in inner(classes) if isinstance(value, External) and not value.called}


def _stable(values: Values) -> list[Value]:
    """Return values in an order that does not change between runs."""
    return sorted(values, key=_value_key)


def _value_key(value: Value) -> str:
    match value:
        case External():
            return f"0{value.name}"
        case FunctionValue():
            return f"1{value.function.at}"
        case Instance():
            return f"2{value.of.definition.at}"
        case Manager():
            return f"3{value.function.function.at}"
    return f"4{type(value).__name__}"


def _worst(outcomes: list[Outcome]) -> Outcome:
    exits: frozenset[str] = frozenset().union(*(outcome.exits for outcome in outcomes))
    effect = next((outcome.effect for outcome in outcomes if outcome.effect is not None), None)
    return Outcome(exits, effect)


def _forget(about: About, target: m.Expression) -> About:
    if isinstance(target, m.Name) and target.id in about.constants:
        return replace(about, constants={k: v for k, v in about.constants.items() if k != target.id})
    return about


def _may_write(call: m.Call, position: int) -> bool:
    """Whether an archive is opened for anything but reading, which is what it does without a mode."""
    given = call.arguments[position] if len(call.arguments) > position else None
    for keyword in call.keywords:
        given = keyword.value if keyword.name == "mode" else given
    return given is not None and not (isinstance(given, m.Constant) and str(given.value).startswith("r"))


def holds_yield(block: Iterable[m.Statement]) -> bool:
    """Whether there is a `yield` in a block, at any depth."""
    return any(_yields(s) or any(holds_yield(inside) for inside in m.blocks_of(s)) for s in block)


def _yields(statement: m.Statement) -> bool:
    waiting: list[m.Expression] = []
    match statement:
        case m.ExpressionStatement():
            waiting = [statement.value]
        case m.Assignment() | m.Return():
            waiting = [statement.value] if statement.value is not None else []
        case m.AugmentedAssignment():
            waiting = [statement.value]
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, m.Yield):
            return True
        waiting.extend(operands(expression))
    return False
