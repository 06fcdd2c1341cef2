"""What the contract says a program does: an interpreter without a service, replays, or crashes.

Written from the contract alone and sharing no code with the engine. For each scope that the program enters it
tells the outcome, the terminal actions that run, in order, how often each is tried, and how the scope ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
)


@dataclass(frozen=True)
class Action:
    """A terminal action that the scope runs. `attempts` is 0 for one that is skipped."""

    compensation: bool
    name: str
    attempts: int
    succeeds: bool

    @property
    def kind(self) -> str:
        return "compensate" if self.compensation else "cleanup"


@dataclass
class ScopeFate:
    """What becomes of one scope."""

    name: str
    outcome: str = ""
    registered: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    error: str = ""
    error_type: str = ""

    @property
    def failed_actions(self) -> list[str]:
        """The names that the error lists: failed actions, and skipped compensations."""
        return [action.name for action in self.actions if not action.succeeds]


@dataclass
class Fate:
    """What becomes of a program. `error` is the class name of what leaves it, or nothing."""

    values: list[str] = field(default_factory=list)
    error: str = ""
    scopes: dict[str, ScopeFate] = field(default_factory=dict)


class _Raised(Exception):
    """An exception of the program: `name` is its class, `origin` the class that the wrapping hides."""

    def __init__(self, name: str, origin: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.origin = origin or name


OWN = {"ProgramFailed", "ScopeCancelled"}
"""Exception types that the SDK doesn't know: a checkpoint keeps their names only."""


def foretell(program: Block) -> Fate:
    """The fate of a program that no one disturbs; the same holds when its invocations die."""
    fate = Fate()
    try:
        fate.values = _block(program, fate, None)
    except _Raised as raised:
        fate.error = raised.name
    return fate


def _block(block: Block, fate: Fate, scope: _Registry | None) -> list[str]:
    values: list[str] = []
    for node in block:
        values += _node(node, fate, scope)
    return values


def _node(node: Node, fate: Fate, scope: _Registry | None) -> list[str]:
    match node:
        case Step(failures=failures, name=name):
            if failures >= ATTEMPTS:
                raise _Raised("StepError", "ProgramFailed")
            return [name]
        case Wait(name=name):
            return [name]
        case Callback(fails=fails, name=name):
            if fails:
                raise _Raised("CallbackExternalError")
            return [name]
        case Child(body=body):
            return _child(body, fate)
        case Branches():
            return _branches(node, fate)
        case Guard(body=body) | Hide(body=body):
            try:
                return _block(body, fate, scope)
            except _Raised as raised:
                return [f"caught {raised.name}"]
        case Fail():
            raise _Raised("ProgramFailed")
        case Cancel():
            raise _Raised("ScopeCancelled")
        case Register():
            assert scope is not None
            scope.registrations.append(node)
            return []
        case Acquire(failures=failures, release_failures=release_failures, name=name):
            assert scope is not None
            if failures >= ATTEMPTS:
                raise _Raised("StepError", "ProgramFailed")
            scope.registrations.append(Register(failures=release_failures, name=f"release-{name}"))
            return [name]
        case Scope():
            return _scope(node, fate)


def _child(body: Block, fate: Fate) -> list[str]:
    try:
        return _block(body, fate, None)
    except _Raised as raised:
        raise _Raised("ChildContextError", raised.name) from None


def _branches(node: Branches, fate: Fate) -> list[str]:
    values: list[str] = []
    failed = False
    for block in node.blocks:
        try:
            values += _child(block, fate)
        except _Raised:
            failed = True
            values.append("failed")
    if failed and not node.tolerant:
        raise _Raised("ChildContextError")
    return values


@dataclass
class _Registry:
    registrations: list[Register] = field(default_factory=list)


def _scope(node: Scope, fate: Fate) -> list[str]:
    registry = _Registry()
    scope = ScopeFate(node.name)
    fate.scopes[node.name] = scope
    values: list[str] = []
    failure: _Raised | None = None
    try:
        values = _block(node.body, fate, registry)
        scope.outcome = "SUCCEEDED"
    except _Raised as raised:
        failure = raised
        scope.outcome = "CANCELLED" if raised.name == "ScopeCancelled" else "FAILED"
    scope.registered = [registration.name for registration in registry.registrations]
    _terminal_phase(node, scope, registry, fate)

    if failure is None:
        cleanup_failed = any(not action.succeeds for action in scope.actions)
        if cleanup_failed and node.fail_on_cleanup_failure:
            failure = _Raised("TerminalScopeError")
    elif node.isolated and failure.name in OWN:
        failure = _Raised("TerminalScopeError", failure.name)
    if failure is not None:
        scope.error = failure.name
        scope.error_type = failure.origin
        raise failure
    return values


def _terminal_phase(node: Scope, scope: ScopeFate, registry: _Registry, fate: Fate) -> None:
    backwards = registry.registrations[::-1]
    cancelled = scope.outcome == "CANCELLED"
    compensates = scope.outcome == "FAILED" or (cancelled and node.compensate_on_cancellation)
    cleans = not cancelled or node.cleanup_on_cancellation
    skipping = False
    for registration in backwards:
        if registration.compensation and compensates:
            action = _skip(registration) if skipping else _run(registration, fate)
            scope.actions.append(action)
            skipping = skipping or (node.stop_on_compensation_failure and not action.succeeds)
    for registration in backwards:
        if not registration.compensation and cleans:
            scope.actions.append(_run(registration, fate))


def _skip(registration: Register) -> Action:
    return Action(registration.compensation, registration.name, 0, False)


def _run(registration: Register, fate: Fate) -> Action:
    if registration.body is None:
        attempts = min(registration.failures + 1, ATTEMPTS)
        return Action(
            registration.compensation, registration.name, attempts, registration.failures < ATTEMPTS
        )
    try:
        _block(registration.body, fate, None)
        succeeds = registration.failures == 0
    except _Raised:
        succeeds = False
    return Action(registration.compensation, registration.name, 1, succeeds)
