"""What a body may register, and what is refused: what replay would lose, or the service reject."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import (
    StepError,
    WithRetryConfig,
    durable_step,
    durable_with_child_context,
    with_retry,
)
from aws_durable_execution_sdk_python.config import ChildConfig, StepConfig, StepSemantics
from aws_durable_execution_sdk_python.exceptions import ValidationError
from aws_durable_execution_sdk_python.waits import WaitForConditionConfig, WaitForConditionDecision
from durable_runtime import RegistrationError, terminal_scope

from tests.runtime.scope.stage import (
    FORMS,
    ISOLATED,
    LOST,
    ONCE,
    SECOND,
    SUSPENDED,
    TWICE,
    Around,
    Inside,
    Oops,
    both_forms,
    play,
    scope_in,
)
from tests.runtime.support.crash import Kill, Loss

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from aws_durable_execution_sdk_python import DurableContext


def register(s: Inside) -> None:
    s.terminal.cleanup(s.noting("clean"), name="clean")


def refused(s: Inside, attempt: Callable[[], object]) -> Any:
    try:
        attempt()
    except RegistrationError as error:
        s.note("refused: " + str(error).partition(" is registered ")[2].partition(",")[0])


@both_forms
def test_a_registration_may_come_before_the_acquisition(form: str) -> None:
    def body(s: Inside) -> None:
        held: list[str] = []
        s.terminal.cleanup(lambda _: s.note(f"release {held}"), name="release")
        held.append(s.context.step(lambda _: "lock", name="acquire"))
        s.context.wait(SECOND)

    assert play(form, body).effects == [SUSPENDED, "release ['lock']"]


INSIDE_OPERATIONS: dict[str, Callable[[Inside], object]] = {
    "step": lambda s: s.context.step(lambda _: refused(s, lambda: register(s))),
    "child context": lambda s: s.context.run_in_child_context(lambda _: refused(s, lambda: register(s))),
    "virtual child context": lambda s: s.context.run_in_child_context(
        lambda _: refused(s, lambda: register(s)), config=ChildConfig(is_virtual=True)
    ),
    "with_retry": lambda s: with_retry(
        s.context, lambda _context, _attempt: refused(s, lambda: register(s)), WithRetryConfig[None]()
    ),
    "submitter": lambda s: s.context.wait_for_callback(
        lambda _id, _context: refused(s, lambda: register(s)), name="callback"
    ),
    "check": lambda s: s.context.wait_for_condition(
        lambda state, _context: refused(s, lambda: register(s)) or state,
        WaitForConditionConfig(
            wait_strategy=lambda _state, _attempt: WaitForConditionDecision.stop_polling(), initial_state=0
        ),
    ),
    "nested step": lambda s: s.context.run_in_child_context(
        lambda child: child.step(lambda _: refused(s, lambda: register(s)))
    ),
    "isolated scope": lambda s: terminal_scope(s.context, lambda _c, _t: refused(s, lambda: register(s))),
}


@both_forms
@pytest.mark.parametrize("operation", list(INSIDE_OPERATIONS))
def test_a_registration_inside_a_durable_call_of_the_body_is_refused(form: str, operation: str) -> None:
    played = play(form, INSIDE_OPERATIONS[operation], answers=lambda _: b"")
    assert [effect for effect in played.effects if effect != SUSPENDED] == [
        "refused: inside a durable call of the body"
    ]


@both_forms
def test_a_registration_inside_a_nested_scope_in_place_is_accepted(form: str) -> None:
    def body(s: Inside) -> None:
        with terminal_scope(s.context, name="inner") as inner:
            inner.cleanup(s.noting("inner"), name="inner")
            s.terminal.cleanup(s.noting("outer"), name="outer")

    assert play(form, body).effects == ["inner", "outer"]


@both_forms
def test_a_registration_inside_an_action_of_a_nested_scope_is_refused(form: str) -> None:
    def body(s: Inside) -> None:
        with terminal_scope(s.context, name="inner") as inner:
            inner.cleanup(lambda _: refused(s, lambda: register(s)), name="inner")

    assert play(form, body).effects == ["refused: inside a durable call of the body"]


@both_forms
def test_a_registration_after_the_body_ended_is_refused(form: str) -> None:
    kept: list[Inside] = []

    def body(s: Inside) -> None:
        kept.append(s)
        s.terminal.cleanup(lambda _: refused(s, lambda: register(s)), name="first")

    def frame(around: Around) -> None:
        around.scope(around.context)
        refused(kept[-1], lambda: register(kept[-1]))

    assert play(form, body, frame=frame).effects == ["refused: after the body ended"] * 2


@both_forms
def test_a_registration_made_while_a_suspension_unwinds_runs_nothing_before_its_time(form: str) -> None:
    def body(s: Inside) -> None:
        try:
            s.context.wait(SECOND)
        finally:
            s.terminal.cleanup(s.noting("late"), name="late")

    assert play(form, body).effects == [SUSPENDED, "late"]


@both_forms
def test_a_registration_on_another_thread_is_refused(form: str) -> None:
    def body(s: Inside) -> None:
        s.context.map([1], lambda *_: refused(s, lambda: register(s)), name="map")
        thread = threading.Thread(target=lambda: refused(s, lambda: register(s)))
        thread.start()
        thread.join()

    assert play(form, body).effects == ["refused: on another thread than the scope's"] * 2


@both_forms
def test_a_refused_registration_that_is_not_caught_fails_the_body(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.terminal.cleanup(s.noting("never"), name="Müll")

    played = play(form, body)
    assert played.effects == ["clean"]
    assert ((played.run.error and played.run.error.message) or "").startswith("cleanup 'Müll' of scope 's'")


@durable_step
def named_step(_context: object) -> None: ...


class Callable_:
    def __call__(self, _context: object) -> None: ...


def plain(_context: object) -> None: ...


@both_forms
def test_names_default_to_the_functions_and_equal_ones_are_numbered_within_a_kind(form: str) -> None:
    def body(s: Inside) -> None:
        for func in (plain, plain, named_step(), functools.partial(plain), Callable_(), lambda _: None):
            s.terminal.cleanup(func)
        s.terminal.cleanup(plain, name="again-2")
        s.terminal.cleanup(plain, name="again")
        s.terminal.cleanup(plain, name="again")
        s.terminal.compensate(plain)
        s.terminal.compensate_in_context(plain)

    assert play(form, body).payload("s.outcome")["registered"] == [
        ["cleanup", "plain"],
        ["cleanup", "plain-2"],
        ["cleanup", "named_step"],
        ["cleanup", "plain-3"],
        ["cleanup", "Callable_"],
        ["cleanup", "<lambda>"],
        ["cleanup", "again-2"],
        ["cleanup", "again"],
        ["cleanup", "again-3"],
        ["compensate", "plain"],
        ["compensate", "plain-2"],
    ]


@both_forms
@pytest.mark.parametrize("name", ["", "naïve", "tab\there", "new\nline", "x" * 257, "x" * 247])
def test_a_name_that_the_service_would_refuse_is_refused_at_once(form: str, name: str) -> None:
    """247 characters are one too many once "s.cleanup." stands before them."""

    def body(s: Inside) -> None:
        for call in (s.terminal.cleanup, s.terminal.cleanup_in_context):
            with pytest.raises(RegistrationError, match="printable ASCII"):
                call(plain, name=name)
        with pytest.raises(RegistrationError, match="printable ASCII"):
            s.terminal.acquire(plain, release=lambda _v, _c: None, name=name)
        s.terminal.cleanup(plain, name="x" * 246)

    assert play(form, body).run.status == "SUCCEEDED"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["", "naïve", "x" * 249, " \n"])
def test_a_scope_name_that_the_service_would_refuse_is_refused_at_once(form: str, name: str) -> None:
    def frame(around: Around) -> None:
        with pytest.raises(RegistrationError, match="printable ASCII"):
            scope_in(form, around.context, lambda _c, _t: None, name=name)
        scope_in(form, around.context, lambda _c, _t: None, name="x" * 248)

    assert play(form, lambda _: None, frame=frame).run.status == "SUCCEEDED"


def test_a_registration_error_is_one_of_the_sdks_validation_errors() -> None:
    assert issubclass(RegistrationError, ValidationError)


@both_forms
def test_so_many_registrations_that_the_outcome_could_not_be_recorded_are_refused(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="first")
        with pytest.raises(RegistrationError, match="one too many"):
            for number in range(1_000):
                s.terminal.compensate(plain, name=f"{number:0240}")

    played = play(form, body)
    assert played.effects == ["clean"]
    registered = played.payload("s.outcome")["registered"]
    assert len(registered) > 700


@both_forms
def test_a_name_defaults_to_the_isolated_bodys(form: str) -> None:
    def frame(around: Around) -> None:
        @durable_with_child_context
        def review(_context: DurableContext) -> None: ...

        def body(_context: object, terminal: Any) -> None:
            terminal.cleanup(plain)

        if form == ISOLATED:
            terminal_scope(around.context, body)
        else:
            with terminal_scope(around.context) as terminal:
                body(around.context, terminal)
        around.context.run_in_child_context(review())

    names = play(form, lambda _: None, frame=frame).names
    expected = "body" if form == ISOLATED else "scope"
    assert f"{expected}.cleanup.plain" in names


@both_forms
def test_a_virtual_child_context_is_refused_for_an_action(form: str) -> None:
    def body(s: Inside) -> None:
        with pytest.raises(RegistrationError, match="virtual child context"):
            s.terminal.cleanup_in_context(plain, config=ChildConfig(is_virtual=True))
        s.terminal.cleanup_in_context(lambda _: s.note("clean"), config=ChildConfig())

    assert play(form, body).effects == ["clean"]


async def coroutine(_context: object) -> None: ...


def generator(_context: object) -> Iterator[None]:
    yield


async def asynchronous_generator(_context: object) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (None, "a function to call, not None"),
        ("plain", "a function to call, not 'plain'"),
        (coroutine, "a plain function"),
        (functools.partial(coroutine), "a plain function"),
        (generator, "a plain function"),
        (asynchronous_generator, "a plain function"),
    ],
)
@both_forms
def test_an_action_of_which_a_call_would_run_nothing_is_refused(form: str, wrong: Any, reason: str) -> None:
    def body(s: Inside) -> None:
        terminal = s.terminal
        for register in (
            terminal.cleanup,
            terminal.compensate,
            terminal.cleanup_in_context,
            terminal.compensate_in_context,
        ):
            with pytest.raises(RegistrationError, match=reason):
                register(wrong, name="wrong")
        with pytest.raises(RegistrationError, match=reason):
            terminal.acquire(s.noting("acquired"), release=wrong, name="wrong")
        terminal.cleanup(s.noting("clean"), name="clean")

    assert play(form, body).effects == ["clean"]


@both_forms
def test_a_configuration_of_the_other_kind_is_refused(form: str) -> None:
    """At once, and not when the action is due; and before anything is acquired."""
    step, child = StepConfig(), ChildConfig[Any]()

    def body(s: Inside) -> None:
        terminal: Any = s.terminal
        for register, wrong in (
            (terminal.cleanup, child),
            (terminal.compensate, child),
            (terminal.cleanup_in_context, step),
            (terminal.compensate_in_context, step),
        ):
            with pytest.raises(RegistrationError, match=f"not {type(wrong).__name__}"):
                register(plain, config=wrong)
        with pytest.raises(RegistrationError, match="takes a StepConfig"):
            terminal.acquire(
                s.noting("acquired"), release=lambda _v, _c: None, name="vm", release_config=child
            )
        terminal.cleanup(s.noting("clean"), name="clean", config=step)

    assert play(form, body).effects == ["clean"]


class TestAcquisition:
    @both_forms
    def test_it_returns_the_value_and_releases_it(self, form: str) -> None:
        def body(s: Inside) -> str:
            def launch(_context: object) -> dict[str, str]:
                s.note("launch")
                return {"id": "vm-1"}

            vm = s.terminal.acquire(
                launch, release=lambda value, _context: s.note(f"terminate {value['id']}"), name="vm"
            )
            s.context.wait(SECOND)
            return vm["id"]

        played = play(form, body)
        assert played.effects == ["launch", SUSPENDED, "terminate vm-1"]
        assert played.run.result == "vm-1"
        assert played.terminal_phase == ["s.outcome", "s.cleanup.release-vm"]

    @both_forms
    def test_what_was_not_acquired_is_not_released(self, form: str) -> None:
        def body(s: Inside) -> None:
            with pytest.raises(StepError):
                s.terminal.acquire(
                    s.failing("launch", Oops()), release=lambda *_: s.note("never"), name="vm", config=ONCE
                )
            s.terminal.acquire(s.noting("again"), release=lambda *_: s.note("release"), name="vm")

        played = play(form, body)
        assert played.effects == ["launch", "again", "release"]
        assert played.terminal_phase == ["s.outcome", "s.cleanup.release-vm"]

    @both_forms
    def test_an_acquisition_whose_answer_was_lost_is_still_released(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.acquire(s.noting("launch"), release=lambda *_: s.note("release"), name="vm")
            s.context.step(s.noting("work"), name="work")

        played = play(form, body, kills=[Kill(1, Loss.RESPONSE)])
        assert [effect for effect in played.effects if effect != LOST] == ["launch", "work", "release"]

    @both_forms
    def test_it_is_refused_before_anything_is_acquired(self, form: str) -> None:
        def body(s: Inside) -> None:
            def nested(_child: object) -> None:
                refused(s, lambda: s.terminal.acquire(s.noting("launch"), release=lambda *_: None, name="vm"))

            s.context.run_in_child_context(nested)

        assert play(form, body).effects == ["refused: inside a durable call of the body"]

    @both_forms
    @pytest.mark.parametrize(
        ("configs", "attempts"),
        [({"config": TWICE}, 2), ({"config": ONCE, "release_config": TWICE}, 2), ({"config": ONCE}, 1)],
    )
    def test_the_release_is_retried_like_the_acquisition_unless_it_is_configured(
        self, form: str, configs: dict[str, StepConfig], attempts: int
    ) -> None:
        def body(s: Inside) -> None:
            def release(_value: object, _context: object) -> None:
                s.note("release")
                raise Oops

            s.terminal.acquire(lambda _: None, release=release, name="vm", **configs)

        played = play(form, body)
        assert played.effects.count("release") == attempts


@both_forms
def test_an_action_that_ran_at_most_once_and_was_interrupted_goes_to_its_retry_strategy(form: str) -> None:
    config = StepConfig(
        retry_strategy=TWICE.retry_strategy, step_semantics=StepSemantics.AT_MOST_ONCE_PER_RETRY
    )

    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean", config=config)

    undisturbed = play(form, body, one_update_per_request=True)
    order = [f"{e.text} {e.data['action']}" for e in undisturbed.run.journal if e.kind == "accepted"]
    kill = Kill(order.index("s.cleanup.clean START") + 1, Loss.RESPONSE)
    played = play(form, body, one_update_per_request=True, kills=[kill])
    assert played.effects == [LOST, SUSPENDED, "clean"]
