"""How the error of a scope leaves it, what it carries, and that no checkpoint refuses it."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import (
    BatchCompletionError,
    CallbackExternalError,
    ChildContextError,
    SerDesError,
    StepError,
)
from aws_durable_execution_sdk_python.config import ChildConfig, StepConfig
from aws_durable_execution_sdk_python.exceptions import (
    CallbackTimeoutError,
    DurableOperationError,
    RetryableSerDesError,
)
from aws_durable_execution_sdk_python.lambda_service import ErrorObject
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python.serdes import SerDes, SerDesContext
from durable_runtime import TerminalScopeConfig, TerminalScopeError, terminal_scope
from durable_runtime.errors import ERROR_OBJECT_LIMIT, ErrorFields, TerminalFailure

from tests.runtime.scope.stage import (
    IN_PLACE,
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
    isolated_only,
    play,
    scope_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext

OOPS = "tests.runtime.scope.stage.Oops"
OWN = "durable_runtime.errors.TerminalScopeError"


def size(error: ErrorObject | None) -> int:
    assert error is not None
    return len(json.dumps(error.to_dict()))


def raising(make: Callable[[], BaseException]) -> Callable[[Inside], Any]:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        raise make()

    return body


def step_fails(s: Inside) -> None:
    s.context.step(s.failing("work", ValueError("broken")), name="work", config=ONCE)


class TestTheBodysError:
    def test_in_place_the_original_object_leaves_with_its_traceback(self) -> None:
        original = Oops("mine")
        (error,) = play(IN_PLACE, raising(lambda: original)).errors
        assert error is original
        assert error.terminal_failures == ()  # type: ignore[attr-defined]
        assert "raise make()" in "".join(traceback.format_exception(error))

    @both_forms
    def test_an_operation_error_keeps_its_type_and_fields(self, form: str) -> None:
        (error,) = play(form, step_fails).errors
        assert type(error) is StepError
        assert (error.message, error.error_type, error.data) == ("broken", "ValueError", None)

    @isolated_only
    @pytest.mark.parametrize(
        "kind", [StepError, ChildContextError, CallbackTimeoutError, BatchCompletionError]
    )
    def test_each_operation_error_is_rebuilt(
        self, form: str, kind: Callable[..., DurableOperationError]
    ) -> None:
        """The stack trace and data of an operation error survive."""
        made = {"message": "m", "error_type": "builtins.X", "data": "d", "stack_trace": ["line"]}
        (error,) = play(form, raising(lambda: kind(**made))).errors
        assert type(error) is kind
        assert isinstance(error, DurableOperationError)
        assert {name: getattr(error, name) for name in made} == made

    @isolated_only
    def test_a_users_own_error_leaves_as_terminal_scope_error(self, form: str) -> None:
        (error,) = play(form, raising(lambda: Oops("mine"))).errors
        assert isinstance(error, TerminalScopeError)
        assert isinstance(error, ChildContextError)
        assert (error.message, error.error_type, error.data) == ("mine", OOPS, None)
        assert error.stack_trace
        assert "raise make()" in "".join(error.stack_trace)
        assert "durable_runtime" not in "".join(error.stack_trace)
        assert error.terminal_failures == ()
        assert isinstance(error.__cause__, DurableOperationError)

    @isolated_only
    def test_it_is_equal_on_the_first_run_and_on_every_replay(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.failing("clean", KeyError("stuck")), name="clean", config=ONCE)
            step_fails(s)

        def frame(around: Around) -> None:
            with around.caught():
                around.scope(around.context)
            around.context.wait(SECOND)

        played = play(form, body, frame=frame)
        first, replayed = played.errors
        for name in (
            "message",
            "error_type",
            "data",
            "stack_trace",
            "terminal_failures",
            "__notes__",
            "args",
        ):
            assert getattr(first, name) == getattr(replayed, name), name
        assert type(first) is type(replayed) is StepError
        assert type(first.__cause__) is type(replayed.__cause__)
        assert played.effects.count("clean") == 1

    @isolated_only
    def test_the_history_shows_the_bodys_own_error_type(self, form: str) -> None:
        def around(a: Around) -> None:
            with a.caught():
                a.scope(a.context)

        run = play(form, raising(lambda: Oops("mine")), frame=around).run
        (scope,) = [operation for operation in run.operations if operation.name == "s"]
        assert scope.context_details is not None
        assert scope.context_details.error is not None
        assert (scope.context_details.error.type, scope.context_details.error.message) == (OOPS, "mine")

    @both_forms
    def test_a_callbacks_failure_keeps_its_type(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.noting("clean"), name="clean")
            s.context.create_callback(name="review").result()

        refusal = ErrorObject(message="no", type="Refused", data="why", stack_trace=None)
        (error,) = play(form, body, answers=lambda _: refusal).errors
        assert type(error) is CallbackExternalError
        assert (error.message, error.data) == ("no", "why")


class TestTheAggregate:
    @both_forms
    @pytest.mark.parametrize("inner_form", [IN_PLACE, ISOLATED])
    def test_failures_of_nested_scopes_come_together(self, form: str, inner_form: str) -> None:
        def body(s: Inside) -> None:
            def inner(context: DurableContext, terminal: Any) -> None:
                nested = Inside(s.life, context, terminal)
                terminal.cleanup(s.failing("inner", KeyError("a")), name="inner", config=ONCE)
                step_fails(nested)

            s.terminal.compensate(s.failing("outer", Oops("b")), name="outer", config=ONCE)
            scope_in(inner_form, s.context, inner, name="inner")

        (error,) = play(form, body).errors
        assert type(error) is StepError
        failures = error.terminal_failures  # type: ignore[attr-defined]
        assert [failure.name for failure in failures] == ["inner", "outer"]
        assert error.__notes__ == [str(failure) for failure in failures]
        assert error.error_type == "ValueError"

    @both_forms
    def test_it_survives_a_further_checkpoint_as_data(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.failing("clean", KeyError("stuck")), name="clean", config=ONCE)
            step_fails(s)

        def frame(around: Around) -> None:
            around.context.run_in_child_context(around.scope, name="child")

        played = play(form, body, frame=frame)
        assert played.run.error is not None
        data = json.loads(played.run.error.data or "")
        assert [failure["name"] for failure in data["terminalFailures"]] == ["clean"]

    @both_forms
    def test_data_of_the_bodys_error_is_kept_beside_it(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.failing("clean", KeyError("stuck")), name="clean", config=ONCE)
            raise StepError("m", error_type="X", data='{"theirs": 1}')

        (error,) = play(form, body).errors
        assert isinstance(error, StepError)
        content = json.loads(error.data or "")
        assert content["data"] == '{"theirs": 1}'
        assert content["terminalFailures"][0]["type"] == "KeyError"

    def test_a_terminal_scope_error_rebuilt_by_the_sdk_has_its_failures(self) -> None:
        failures = (TerminalFailure("cleanup", "clean", "KeyError", "stuck", ("line",)),)
        data = ErrorFields(OWN, failures=failures).envelope()
        error = DurableOperationError.from_error_fields(OWN, "m", data, None)
        assert isinstance(error, TerminalScopeError)
        assert error.terminal_failures == failures

    @pytest.mark.parametrize(
        "data", [None, "", "no json terminalScope", '["terminalScope"]', '{"terminalScope": 2}']
    )
    def test_data_of_somebody_else_is_left_alone(self, data: str | None) -> None:
        assert TerminalScopeError("m", data=data).terminal_failures == ()
        assert TerminalScopeError("m", data=data).data == data

    @both_forms
    def test_a_failed_cleanup_fails_a_scope_that_succeeded(self, form: str) -> None:
        def body(s: Inside) -> str:
            s.terminal.cleanup(s.failing("clean", KeyError("stuck")), name="clean", config=ONCE)
            return "value"

        played = play(form, body)
        (error,) = played.errors
        assert isinstance(error, TerminalScopeError)
        assert error.error_type == OWN
        assert error.message == (
            "The body of scope 's' succeeded, but cleanup 'clean' failed: KeyError: 'stuck'"
        )
        (failure,) = error.terminal_failures
        assert (failure.name, failure.type, failure.skipped) == ("clean", "KeyError", False)
        assert json.loads(error.data or "")["terminalFailures"][0]["name"] == "clean"

    @both_forms
    def test_a_failed_cleanup_can_be_tolerated(self, form: str) -> None:
        def body(s: Inside) -> str:
            s.terminal.cleanup(s.failing("clean", KeyError("stuck")), name="clean", config=ONCE)
            return "value"

        assert (
            play(form, body, config=TerminalScopeConfig(fail_on_cleanup_failure=False)).run.result == "value"
        )

    @both_forms
    def test_stopping_after_a_failed_compensation_lists_what_was_skipped(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.noting("clean"), name="clean")
            s.terminal.compensate(s.noting("never"), name="first")
            s.terminal.compensate_in_context(s.noting("never"), name="second")
            s.terminal.compensate(s.failing("third", Oops("stuck")), name="third", config=ONCE)
            raise Oops("broken")

        played = play(form, body, config=TerminalScopeConfig(stop_on_compensation_failure=True))
        assert played.effects == ["third", "clean"]
        (error,) = played.errors
        failures = error.terminal_failures  # type: ignore[attr-defined]
        assert [(f.name, f.skipped, f.type) for f in failures] == [
            ("third", False, OOPS),
            ("second", True, None),
            ("first", True, None),
        ]
        assert str(failures[1]) == "compensate 'second' skipped: compensation 'third' failed"

    @both_forms
    def test_a_failed_action_in_a_context_names_what_failed_in_it(self, form: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup_in_context(
                lambda c: c.step(s.failing("clean", KeyError("stuck")), name="inside", config=ONCE),
                name="clean",
            )

        (error,) = play(form, body).errors
        (failure,) = error.terminal_failures  # type: ignore[attr-defined]
        assert failure.type.endswith("StepError")
        assert failure.message == "'stuck'"


class TestTheLimit:
    """32,768 bytes of escaped JSON: a plain step whose message is 9,000 "ü" fails the execution."""

    @both_forms
    @pytest.mark.parametrize("text", ["x" * 40_000, "ü" * 40_000, '"\\' * 20_000])
    def test_an_action_with_a_huge_message_fails_alone(self, form: str, text: str) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.noting("last"), name="last")
            s.terminal.cleanup(s.failing("step", Oops(text)), name="step", config=ONCE)
            s.terminal.cleanup_in_context(s.failing("context", Oops(text)), name="context")

        played = play(form, body)
        assert played.effects == ["context", "step", "last"]
        (error,) = played.errors
        assert isinstance(error, TerminalScopeError)
        assert [failure.name for failure in error.terminal_failures] == ["context", "step"]
        assert all(failure.message.startswith(text[:90]) for failure in error.terminal_failures)

    @isolated_only
    def test_a_body_with_a_huge_message_fails_with_a_shortened_one(self, form: str) -> None:
        played = play(form, raising(lambda: Oops("ü" * 40_000)))
        assert played.effects == ["clean"]
        assert size(played.run.error) <= ERROR_OBJECT_LIMIT
        assert played.run.error is not None
        assert (played.run.error.message or "").startswith("ü" * 1_000)

    @both_forms
    def test_hundreds_of_failures_fit(self, form: str) -> None:
        def body(s: Inside) -> None:
            for number in range(150):
                s.terminal.cleanup(s.failing("clean", Oops("ü" * 300)), name=f"{number:0200}", config=ONCE)
            step_fails(s)

        played = play(form, body, seconds=60)
        assert played.run.status == "FAILED"
        assert size(played.run.error) <= ERROR_OBJECT_LIMIT
        (error,) = played.errors
        assert isinstance(error, StepError)
        content = json.loads(error.data or "")
        assert content["dropped"] + len(content["terminalFailures"]) == 150
        assert len(content["terminalFailures"]) > 20
        listed = error.terminal_failures  # type: ignore[attr-defined]
        assert len(listed) == (150 if form == IN_PLACE else len(content["terminalFailures"]))

    def test_stack_traces_go_before_texts_and_texts_before_failures(self) -> None:
        def failures(message: int, trace: int, count: int) -> ErrorFields:
            failure = TerminalFailure("cleanup", "n", "T", "m" * message, ("t" * trace,))
            return ErrorFields("T", "m", stack_trace=("t" * trace,), failures=(failure,) * count)

        whole = failures(100, 100, 10)
        assert whole.fitted() is whole
        untraced = failures(100, 30_000, 2).fitted()
        assert untraced.failures[0].message == "m" * 100
        assert untraced.failures[0].stack_trace == untraced.stack_trace == ()
        shortened = failures(9_000, 0, 10).fitted()
        assert len(shortened.failures) == 10
        assert shortened.failures[0].message == "m" * 1_997 + "..."
        dropped = failures(100, 0, 1_000).fitted()
        assert dropped.failures[0].message == "m" * 100
        assert dropped.dropped + len(dropped.failures) == 1_000
        for fitted in (untraced, shortened, dropped):
            assert fitted.size() <= ERROR_OBJECT_LIMIT

    def test_data_is_kept_whole_or_not_at_all(self) -> None:
        kept = ErrorFields("T", "m" * 31_000, data="d" * 5_000).fitted()
        assert kept.data == "d" * 5_000
        assert ErrorFields("T", "m", data="d" * 33_000).fitted().data is None

    def test_in_place_a_huge_message_stays_and_the_failures_give_way(self) -> None:
        failure = TerminalFailure("cleanup", "n", "T", "m" * 5_000)
        fitted = ErrorFields("T", "m" * 32_700, failures=(failure,) * 3).fitted(keep_message=True)
        assert fitted.message == "m" * 32_700
        assert fitted.failures == ()


class Unserializable:
    pass


class Offloading(SerDes[Any]):
    """A serdes that keeps count, and fails as told."""

    def __init__(self, fails: BaseException | None = None, *, on_the_way_back: bool = False) -> None:
        self.calls: list[str] = []
        self._fails = fails
        self._on_the_way_back = on_the_way_back

    def serialize(self, value: Any, serdes_context: SerDesContext) -> str:  # noqa: ARG002
        self.calls.append("serialize")
        if self._fails and not self._on_the_way_back:
            fails, self._fails = self._fails, None
            raise fails
        return json.dumps(["kept", value])

    def deserialize(self, data: str, serdes_context: SerDesContext) -> Any:  # noqa: ARG002
        self.calls.append("deserialize")
        if self._fails:
            raise self._fails
        return json.loads(data)[1]


class TestSerialization:
    def test_a_result_that_cannot_be_serialized_is_a_failed_body(self) -> None:
        def body(s: Inside) -> Any:
            s.terminal.cleanup(s.noting("clean"), name="clean")
            s.terminal.compensate(s.noting("undo"), name="undo")
            return Unserializable()

        played = play(ISOLATED, body)
        assert played.effects == ["undo", "clean"]
        (error,) = played.errors
        assert isinstance(error, SerDesError)
        assert played.payload("s.outcome")["outcome"] == "FAILED"

    def test_a_result_that_cannot_be_deserialized_is_a_failed_body(self) -> None:
        def body(s: Inside) -> str:
            s.terminal.compensate(s.noting("undo"), name="undo")
            return "value"

        serdes = Offloading(SerDesError("lost"), on_the_way_back=True)
        played = play(ISOLATED, body, config=TerminalScopeConfig(serdes=serdes))
        assert played.effects == ["undo"]
        assert isinstance(played.errors[0], SerDesError)

    def test_a_transient_failure_to_serialize_is_no_outcome(self) -> None:
        def body(s: Inside) -> str:
            s.terminal.cleanup(s.noting("clean"), name="clean")
            s.terminal.compensate(s.noting("undo"), name="undo")
            return "value"

        serdes = Offloading(RetryableSerDesError("later"))
        played = play(ISOLATED, body, config=TerminalScopeConfig(serdes=serdes))
        assert played.effects == [LOST, "clean"]
        assert played.run.result == "value"

    def test_the_result_is_serialized_once(self) -> None:
        serdes = Offloading()

        def body(s: Inside) -> str:
            s.terminal.cleanup(s.noting("clean"), name="clean")
            return "value"

        def frame(around: Around) -> Any:
            value = around.scope(around.context)
            around.context.wait(SECOND)
            return value

        played = play(ISOLATED, body, config=TerminalScopeConfig(serdes=serdes), frame=frame)
        assert played.run.result == "value"
        assert serdes.calls == ["serialize", "deserialize", "deserialize"]

    def test_a_serdes_may_keep_nothing(self) -> None:
        class Nothing(SerDes[Any]):
            def serialize(self, _value: Any, _context: SerDesContext) -> str:
                return None  # type: ignore[return-value]  # what the SDK allows

            def deserialize(self, data: str, _context: SerDesContext) -> Any:
                raise AssertionError(data)

        played = play(ISOLATED, lambda _: None, config=TerminalScopeConfig(serdes=Nothing()))
        assert played.run.result is None

    @both_forms
    def test_what_an_action_returns_is_dropped(self, form: str) -> None:
        """A response object that can't be serialized must not fail a cleanup that worked."""

        def body(s: Inside) -> None:
            s.terminal.cleanup(
                lambda _: Unserializable(), name="step", config=StepConfig(serdes=Offloading())
            )
            s.terminal.cleanup_in_context(
                lambda _: Unserializable(), name="context", config=ChildConfig(serdes=Offloading())
            )

        played = play(form, body)
        assert played.run.status == "SUCCEEDED"
        assert played.payload("s.cleanup.step") is None

    @both_forms
    @pytest.mark.filterwarnings("error")
    def test_a_coroutine_that_an_action_returns_is_a_failure_and_not_retried(self, form: str) -> None:
        """Nobody awaits it, so the cleanup has done nothing; dropping it would hide that."""

        def body(s: Inside) -> None:
            async def terminate() -> None:
                s.note("never")

            s.terminal.cleanup(lambda _: s.note("last"), name="last")
            s.terminal.cleanup(lambda _: terminate(), name="step", config=TWICE)
            s.terminal.cleanup_in_context(lambda _: terminate(), name="context")

        played = play(form, body)
        assert played.effects == ["last"]
        failures = played.errors[0].terminal_failures  # type: ignore[attr-defined]
        assert [failure.name for failure in failures] == ["context", "step"]
        assert all("returned a coroutine" in failure.message for failure in failures)

    @both_forms
    def test_in_place_any_object_may_leave(self, form: str) -> None:
        def frame(around: Around) -> str:
            with terminal_scope(around.context, name="s") as terminal:
                terminal.cleanup(lambda _: None, name="clean")
                value = Unserializable()
            return type(value).__name__

        assert play(form, lambda _: None, frame=frame).run.result == "Unserializable"


class TestRetries:
    @both_forms
    def test_the_retry_strategy_sees_the_original_error(self, form: str) -> None:
        seen: list[Exception] = []
        original = Oops("stuck")

        def strategy(error: Exception, _attempt: int) -> RetryDecision:
            seen.append(error)
            return RetryDecision.no_retry()

        def body(s: Inside) -> None:
            s.terminal.cleanup(
                s.failing("clean", original), name="clean", config=StepConfig(retry_strategy=strategy)
            )

        play(form, body)
        assert seen == [original]

    @both_forms
    def test_without_a_configuration_the_sdks_default_strategy_holds(self, form: str) -> None:
        def body(s: Inside) -> None:
            def flaky(context: Any) -> None:
                s.note(f"clean {context.attempt}")
                if context.attempt < 3:
                    raise Oops

            s.terminal.cleanup(flaky, name="clean")

        assert play(form, body).effects == ["clean 1", SUSPENDED, "clean 2", SUSPENDED, "clean 3"]

    @both_forms
    @pytest.mark.parametrize("raises", [True, False])
    def test_a_retry_strategy_that_breaks_means_no_retry(
        self, form: str, raises: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(_error: Exception, _attempt: int) -> Any:
            if raises:
                raise KeyError("strategy")

        def body(s: Inside) -> None:
            s.terminal.cleanup(s.noting("last"), name="last")
            s.terminal.cleanup(
                s.failing("clean", Oops("stuck")), name="clean", config=StepConfig(retry_strategy=broken)
            )

        played = play(form, body)
        assert played.effects == ["clean", "last"]
        assert "retry strategy of clean failed" in caplog.text
        (failure,) = played.errors[0].terminal_failures  # type: ignore[attr-defined]
        assert failure.type == OOPS
        assert played.run.status_of("s.cleanup.clean") == "FAILED"

    @both_forms
    @pytest.mark.parametrize("kind", [SerDesError, RuntimeError])
    def test_what_the_sdk_never_retries_is_not_retried(self, form: str, kind: type[Exception]) -> None:
        def body(s: Inside) -> None:
            s.terminal.cleanup(s.failing("clean", kind("stuck")), name="clean", config=TWICE)

        attempts = 1 if kind is SerDesError else 2
        played = play(form, body)
        assert played.effects.count("clean") == attempts
        (failure,) = played.errors[0].terminal_failures  # type: ignore[attr-defined]
        assert failure.type.endswith(kind.__name__)

    @both_forms
    def test_an_action_that_wants_to_fail_the_execution_has_failed_and_is_recorded(self, form: str) -> None:
        from aws_durable_execution_sdk_python import ExecutionError

        def body(s: Inside) -> None:
            s.terminal.cleanup(s.noting("last"), name="last")
            s.terminal.cleanup(s.failing("step", ExecutionError("fatal")), name="step", config=TWICE)
            s.terminal.cleanup_in_context(s.failing("context", ExecutionError("fatal")), name="context")

        played = play(form, body)
        assert played.effects == ["context", "step", "last"]
        assert played.run.status_of("s.cleanup.step") == "FAILED"
        assert played.run.status_of("s.cleanup.context") == "FAILED"


class Textless(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


class OwnList(Exception):
    """Has an attribute of its own where scopes list failures."""

    terminal_failures = ("of the class",)

    def __init__(self) -> None:
        super().__init__("own")
        if self.args:
            vars(self)["terminal_failures"] = ["of the user"]


class Delegating(Exception):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class TestOddErrors:
    """However odd the body's error is, the actions run, and what failed of them is listed."""

    @both_forms
    @pytest.mark.parametrize("kind", [Textless, OwnList, Delegating])
    def test_actions_run_whatever_the_bodys_error_is_like(self, form: str, kind: type[Exception]) -> None:
        left: list[Any] = []

        def body(s: Inside) -> None:
            s.terminal.cleanup(s.noting("clean"), name="clean")
            s.terminal.cleanup(s.failing("fails", kind()), name="fails", config=ONCE)
            raise kind

        def frame(around: Around) -> None:
            try:
                around.scope(around.context)
            except Exception as error:
                left.append(error)

        assert play(form, body, frame=frame).effects == ["fails", "clean"]
        (error,) = left
        assert type(error) is (kind if form == IN_PLACE else TerminalScopeError)
        (failure,) = vars(error)["terminal_failures"]
        assert (failure.name, failure.type) == ("fails", f"{__name__}.{kind.__name__}")

    @both_forms
    def test_an_error_object_that_is_raised_again_lists_only_its_own_scopes_failures(self, form: str) -> None:
        constant = ValueError("a module's constant")
        constant.add_note("the user's own")

        def frame(around: Around) -> list[list[str]]:
            listed = []
            for number in (1, 2):

                def body(_context: DurableContext, terminal: Any, number: int = number) -> None:
                    terminal.cleanup(raise_oops, name=f"fails-{number}", config=ONCE)
                    raise constant

                try:
                    scope_in(form, around.context, body, name=f"s{number}")
                except Exception as error:
                    listed.append([failure.name for failure in error.terminal_failures])  # type: ignore[attr-defined]
                    notes = [note for note in error.__notes__ if "fails-" in note]
                    assert len(notes) == 1
            return listed

        def raise_oops(_context: object) -> None:
            raise Oops

        assert play(form, lambda _: None, frame=frame).run.result == [["fails-1"], ["fails-2"]]
        assert constant.__notes__[0] == "the user's own"
