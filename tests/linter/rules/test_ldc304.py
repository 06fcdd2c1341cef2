"""LDC304: thread-bound state that is let go of only in a hook that can run on another thread."""

from __future__ import annotations

import pytest

from tests.linter.rules.plugin_sources import ATTACHES, check_plugin

RELEASE = "OPERATION.reset(self._tokens.pop(info.operation_id))"


@pytest.mark.parametrize("hook", ["on_operation_end", "on_invocation_end", "on_operation_change"])
def test_a_release_in_a_hook_of_another_thread_is_reported_at_the_releasing_call(hook: str) -> None:
    check_plugin(f"{ATTACHES}\ndef {hook}(self, info):\n    {RELEASE}  # expect: LDC304\n")


@pytest.mark.parametrize(
    ("attaching", "releasing"),
    [
        ("self._token = otel_context.attach(ctx)", "otel_context.detach(self._token)"),
        ("self._cm = trace.use_span(ctx); self._cm.__enter__()", "self._cm.__exit__(None, None, None)"),
        ("structlog.contextvars.bind_contextvars(a=1)", "structlog.contextvars.unbind_contextvars('a')"),
        ("self._stack.enter_context(trace.use_span(ctx))", "self._stack.close()"),
        ("self._rlock.acquire()", "self._rlock.release()"),
        ("local.operation = info.name", "local.operation = None"),
        ("xray_recorder.begin_subsegment('f')", "xray_recorder.end_subsegment()"),
    ],
)
def test_what_is_bound_to_its_thread_is_reported(attaching: str, releasing: str) -> None:
    check_plugin(
        f"""
        def __init__(self):
            self._rlock = threading.RLock()
            self._stack = ExitStack()

        def on_user_function_start(self, info):
            ctx = info
            {attaching}

        def on_invocation_end(self, info):
            {releasing}  # expect: LDC304
        """
    )


@pytest.mark.parametrize(
    ("attaching", "releasing"),
    [
        ("self._lock.acquire()", "self._lock.release()"),
        ("logging.setLogRecordFactory(self._new)", "logging.setLogRecordFactory(self._old)"),
        ("self._cm = self.resource(); self._cm.__enter__()", "self._cm.__exit__(None, None, None)"),
    ],
)
def test_what_any_thread_may_let_go_of_is_silent(attaching: str, releasing: str) -> None:
    check_plugin(
        f"""
        def __init__(self):
            self._lock = threading.Lock()

        def on_user_function_start(self, info):
            {attaching}

        def on_invocation_end(self, info):
            {releasing}
        """
    )


def test_leftovers_may_be_swept_up_when_the_end_hook_releases() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            {RELEASE}

        def on_invocation_end(self, info):
            for token in self._tokens.values():
                OPERATION.reset(token)
        """
    )


def test_each_releasing_call_is_reported() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_operation_end(self, info):
            {RELEASE}  # expect: LDC304

        def on_invocation_end(self, info):
            for token in self._tokens.values():
                OPERATION.reset(token)  # expect: LDC304
        """
    )


def test_a_release_through_a_method_is_reported_once_where_it_releases() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_operation_end(self, info):
            self._release(info.operation_id)

        def on_invocation_end(self, info):
            for key in list(self._tokens):
                self._release(key)

        def _release(self, key):
            OPERATION.reset(self._tokens.pop(key))  # expect: LDC304
        """
    )


def test_what_is_attached_when_the_invocation_starts_may_be_released_when_it_ends() -> None:
    check_plugin(
        """
        def on_invocation_start(self, info):
            self._token = TENANT.set("acme")

        def on_invocation_end(self, info):
            TENANT.reset(self._token)
        """
    )


def test_the_message_names_the_hook_and_where_it_was_attached() -> None:
    [finding] = check_plugin(
        f"{ATTACHES}\ndef on_operation_end(self, info):\n    {RELEASE}  # expect: LDC304\n"
    )
    assert "`on_operation_end`, which can run on another thread" in finding.message
    assert "`OPERATION.set` (line " in finding.message
