"""`bind` attaches for the duration of a user function, and lets go by itself."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.exceptions import OrphanedChildException, SuspendExecution
from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo
from opentelemetry.baggage import get_baggage, set_baggage
from opentelemetry.context import Context, get_current

from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by, worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aws_durable_execution_sdk_python.plugin import UserFunctionEndInfo, UserFunctionStartInfo

TENANT: ContextVar[str] = ContextVar("tenant", default="none")

exits = pytest.mark.parametrize(
    "error",
    [
        None,
        ValueError("no stock"),
        SuspendExecution("waits"),
        OrphanedChildException("gone", operation_id="x"),
        SystemExit(1),
    ],
    ids=["returns", "raises", "suspends", "orphaned", "exits"],
)


class Binding(CompletionPlugin):
    """Binds what the test says."""

    def __init__(self, bind: Callable[[Binding, UserFunctionStartInfo], Any]) -> None:
        self._bind = bind
        self.bound: list[Any] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.bound.append(self._bind(self, info))


def run(plugin: CompletionPlugin, error: BaseException | None, during: Callable[[], object]) -> None:
    def function() -> None:
        during()
        if error is not None:
            raise error

    with invocation(plugin) as invoked:
        attempt_to(lambda: invoked.run(function))


@exits
def test_a_context_variable_has_the_value_while_the_function_runs_and_its_old_one_afterwards(
    error: BaseException | None,
) -> None:
    seen: list[str] = []
    token = TENANT.set("before")
    run(
        Binding(lambda plugin, info: plugin.bind(info, TENANT, "acme")),
        error,
        lambda: seen.append(TENANT.get()),
    )
    assert seen == ["acme"]
    assert TENANT.get() == "before"
    TENANT.reset(token)


@exits
def test_an_opentelemetry_context_is_current_while_the_function_runs_and_detached_afterwards(
    error: BaseException | None,
) -> None:
    before = get_current()
    seen: list[object] = []
    run(
        Binding(lambda plugin, info: plugin.bind(info, set_baggage("tenant", "acme"))),
        error,
        lambda: seen.append(get_baggage("tenant")),
    )
    assert seen == ["acme"]
    assert get_current() is before


@exits
def test_a_context_manager_is_entered_before_the_function_and_left_once_without_an_exception(
    error: BaseException | None,
) -> None:
    told: list[object] = []

    class Segment:
        def __enter__(self) -> str:
            told.append("enter")
            return "segment"

        def __exit__(self, *exception: object) -> None:
            told.append(exception)

    plugin = Binding(lambda plugin, info: plugin.bind(info, Segment()))
    run(plugin, error, lambda: told.append("function"))
    assert told == ["enter", "function", (None, None, None)]
    assert plugin.bound == ["segment"]


@exits
def test_everything_is_released_in_reverse_order(error: BaseException | None) -> None:
    released: list[str] = []

    @contextmanager
    def scope(name: str) -> Iterator[None]:
        yield
        released.append(f"{name} with {TENANT.get()}")

    def bind(plugin: Binding, info: UserFunctionStartInfo) -> None:
        plugin.bind(info, scope("first"))
        plugin.bind(info, TENANT, "acme")
        plugin.bind(info, scope("second"))
        plugin.bind(info, TENANT, "zenith")
        plugin.bind(info, scope("third"))

    run(Binding(bind), error, lambda: None)
    assert released == ["third with zenith", "second with acme", "first with none"]


def test_plugins_that_bind_the_same_variable_leave_nothing_behind() -> None:
    """The SDK tells the first plugin of the end before the second, which has bound on top of it."""
    first = Binding(lambda plugin, info: plugin.bind(info, TENANT, "first"))
    second = Binding(lambda plugin, info: plugin.bind(info, TENANT, "second"))
    seen: list[str] = []
    with invocation(first, second) as invoked:
        invoked.run(lambda: seen.append(TENANT.get()))
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
    assert seen == ["second"]
    assert TENANT.get() == "none"


@exits
def test_the_hooks_still_see_what_is_bound(error: BaseException | None) -> None:
    seen: list[str] = []

    class Seeing(Binding):
        def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
            seen.append(TENANT.get())
            super().on_user_function_end(info)

        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:  # noqa: ARG002
            seen.append(TENANT.get())

    run(Seeing(lambda plugin, info: plugin.bind(info, TENANT, "acme")), error, lambda: None)
    assert seen == ["acme"]


def test_an_inner_function_releases_its_own_and_keeps_what_the_outer_one_bound() -> None:
    seen: list[str] = []
    with invocation(Binding(lambda plugin, info: plugin.bind(info, TENANT, info.operation_id))) as invoked:

        def outer() -> None:
            seen.append(TENANT.get())
            attempt_to(lambda: invoked.run(leaves_by(ValueError("no stock")), "inner", parent="outer"))
            seen.append(TENANT.get())

        invoked.run(outer, "outer")
    assert seen == ["outer", "outer"]
    assert TENANT.get() == "none"


def test_threads_do_not_see_each_others_bindings() -> None:
    with (
        invocation(Binding(lambda plugin, info: plugin.bind(info, TENANT, info.operation_id))) as invoked,
        worker() as on_first,
        worker() as on_second,
    ):
        seen = on_first(
            lambda: invoked.run(
                lambda: on_second(lambda: invoked.run(lambda: (TENANT.get(), "second"), "second")), "first"
            )
        )
        assert seen == ("second", "second")
        assert [on_first(TENANT.get), on_second(TENANT.get)] == ["none", "none"]


def test_a_plugin_that_fails_halfway_through_its_start_lets_go_of_what_it_had_bound() -> None:
    def bind(plugin: Binding, info: UserFunctionStartInfo) -> None:
        plugin.bind(info, TENANT, "acme")
        raise LookupError("no such tenant")

    run(Binding(bind), None, lambda: None)
    assert TENANT.get() == "none"


def test_an_operation_entered_again_without_a_report_of_its_last_run_starts_from_a_clean_thread() -> None:
    """As on SDK 1.7 without `install()`, or when a `SystemExit` of another plugin kept the report from it."""
    found: list[str] = []

    class Finding(Binding):
        def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
            found.append(TENANT.get())
            super().on_user_function_start(info)

    with invocation(Finding(lambda plugin, info: plugin.bind(info, TENANT, info.operation_id))) as invoked:
        invoked.start("outer")
        invoked.start("inner", parent="outer")
        assert TENANT.get() == "inner"
        invoked.run(lambda: None, "outer")
    assert found == ["none", "outer", "none"]
    assert TENANT.get() == "none"


def test_the_end_of_an_outer_function_closes_inner_ones_that_were_never_reported() -> None:
    with invocation(Binding(lambda plugin, info: plugin.bind(info, TENANT, info.operation_id))) as invoked:
        invoked.run(lambda: invoked.start("inner", parent="outer"), "outer")
    assert TENANT.get() == "none"


def test_a_release_that_fails_is_logged_and_the_others_still_run(caplog: pytest.LogCaptureFixture) -> None:
    @contextmanager
    def broken() -> Iterator[None]:
        yield
        raise LookupError("cannot close")

    def bind(plugin: Binding, info: UserFunctionStartInfo) -> None:
        plugin.bind(info, TENANT, "acme")
        plugin.bind(info, broken())

    with caplog.at_level(logging.ERROR, logger="durable_runtime.plugin"):
        run(Binding(bind), SuspendExecution("waits"), lambda: None)
    assert TENANT.get() == "none"
    assert [r.getMessage() for r in caplog.records] == ["A binding of operation operation failed to release"]


def test_an_interrupt_in_a_release_propagates_after_the_others_ran() -> None:
    @contextmanager
    def interrupted() -> Iterator[None]:
        yield
        raise SystemExit(7)

    def bind(plugin: Binding, info: UserFunctionStartInfo) -> None:
        plugin.bind(info, TENANT, "acme")
        plugin.bind(info, interrupted())

    with invocation(Binding(bind)) as invoked:
        error = attempt_to(lambda: invoked.run(lambda: None))
    assert isinstance(error, SystemExit)
    assert TENANT.get() == "none"


class TestRefused:
    """What can't be released on the right thread, or not at all, is refused at once."""

    def refused(self, bind: Callable[[Binding, UserFunctionStartInfo], Any]) -> BaseException:
        errors: list[BaseException] = []

        def attempt(plugin: Binding, info: UserFunctionStartInfo) -> None:
            error = attempt_to(lambda: bind(plugin, info))
            assert error is not None
            errors.append(error)

        run(Binding(attempt), None, lambda: None)
        [error] = errors
        return error

    def test_a_binding_from_another_thread(self) -> None:
        def elsewhere(plugin: Binding, info: UserFunctionStartInfo) -> None:
            with worker() as on_worker:
                on_worker(lambda: plugin.bind(info, TENANT, "acme"))

        error = self.refused(elsewhere)
        assert isinstance(error, RuntimeError)
        assert "call it in on_user_function_start" in str(error)

    def test_a_binding_after_the_function_is_over(self) -> None:
        kept: list[UserFunctionStartInfo] = []
        plugin = Binding(lambda _, info: kept.append(info))
        run(plugin, None, lambda: None)
        with pytest.raises(RuntimeError, match="no user function of operation operation runs on this thread"):
            plugin.bind(kept[0], TENANT, "acme")
        assert TENANT.get() == "none"

    def test_a_binding_for_a_plugin_that_was_not_told_of_the_function(self) -> None:
        stranger = Binding(lambda *_: None)
        assert isinstance(self.refused(lambda _, info: stranger.bind(info, TENANT, "acme")), RuntimeError)

    @pytest.mark.parametrize(
        "arguments",
        [("acme",), (TENANT,), (nullcontext(), "acme"), ({"tenant": "acme"},), (Context(), 1)],
        ids=["text", "variable without value", "manager with value", "mapping", "context with value"],
    )
    def test_what_is_no_variable_with_value_no_context_and_no_manager(
        self, arguments: tuple[Any, ...]
    ) -> None:
        error = self.refused(lambda plugin, info: plugin.bind(info, *arguments))
        assert isinstance(error, TypeError)
        assert str(error).startswith(
            "bind takes a ContextVar and its value, an OpenTelemetry context, or a context manager"
        )


def test_bind_does_not_need_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.context")
    errors: list[BaseException | None] = []
    run(
        Binding(
            lambda plugin, info: errors.append(attempt_to(lambda: plugin.bind(info, {"tenant": "acme"})))
        ),
        None,
        lambda: None,
    )
    assert [type(error) for error in errors] == [TypeError]
