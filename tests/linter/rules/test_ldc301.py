"""LDC301: what a plugin attaches when a user function starts, and no hook lets go of."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check
from tests.linter.rules.plugin_sources import IMPORTS, check_plugin


@pytest.mark.parametrize(
    "attaching",
    [
        "otel_context.attach(trace.set_span_in_context(span))",
        "OPERATION.set(info.name)",
        "tracer.start_as_current_span('function').__enter__()",
        "trace.use_span(span).__enter__()",
        "self._cm = sentry_sdk.push_scope(); self._cm.__enter__()",
        "structlog.contextvars.bind_contextvars(operation=info.name)",
        "structlog.threadlocal.bind_threadlocal(operation=info.name)",
        "self._lock.acquire()",
        "self._stack.enter_context(tracer.start_as_current_span('function'))",
        "xray_recorder.begin_subsegment(info.name)",
        "dd_tracer.context_provider.activate(span)",
        "dd_tracer.trace('function')",
        "local.operation = info.name",
        "logging.setLogRecordFactory(self._factory)",
        "powertools.append_keys(operation=info.name)",
        "warnings.catch_warnings().__enter__()",
    ],
)
def test_each_way_to_attach_without_a_release_is_reported_at_the_attaching_call(attaching: str) -> None:
    check_plugin(
        f"""
        def __init__(self):
            self._lock = threading.Lock()
            self._stack = ExitStack()

        def on_user_function_start(self, info):
            span = tracer.start_span(info.name)
            {attaching}  # expect: LDC301
        """,
        before="import warnings",
    )


@pytest.mark.parametrize(
    ("attaching", "releasing"),
    [
        ("self._token = otel_context.attach(ctx)", "otel_context.detach(self._token)"),
        ("self._token = OPERATION.set(info.name)", "OPERATION.reset(self._token)"),
        ("self._old = OPERATION.get(); OPERATION.set(info.name)", "OPERATION.set(self._old)"),
        ("self._cm = trace.use_span(ctx); self._cm.__enter__()", "self._cm.__exit__(None, None, None)"),
        ("structlog.contextvars.bind_contextvars(a=1)", "structlog.contextvars.unbind_contextvars('a')"),
        (
            "self._tokens = structlog.contextvars.bind_contextvars(a=1)",
            "structlog.contextvars.reset_contextvars(**self._tokens)",
        ),
        ("structlog.contextvars.bind_contextvars(a=1)", "structlog.contextvars.clear_contextvars()"),
        ("self._lock.acquire()", "self._lock.release()"),
        ("self._stack.enter_context(trace.use_span(ctx))", "self._stack.close()"),
        ("self._stack.enter_context(trace.use_span(ctx))", "self._stack.pop_all().close()"),
        ("self._stack.enter_context(trace.use_span(ctx))", "self._stack.__exit__(None, None, None)"),
        ("dd_tracer.context_provider.activate(ctx)", "dd_tracer.context_provider.activate(None)"),
        ("local.operation = info.name", "del local.operation"),
        ("local.operation = info.name", "local.operation = None"),
        ("logging.setLogRecordFactory(self._new)", "logging.setLogRecordFactory(self._old)"),
        ("powertools.append_keys(a=1)", "powertools.remove_keys(['a'])"),
    ],
)
def test_each_way_to_let_go_in_the_end_hook_is_understood(attaching: str, releasing: str) -> None:
    check_plugin(
        f"""
        def __init__(self):
            self._lock = threading.Lock()
            self._stack = ExitStack()

        def on_user_function_start(self, info):
            ctx = info
            {attaching}

        def on_user_function_end(self, info):
            {releasing}
        """
    )


def test_a_restore_that_attaches_again_is_reported_at_both_calls() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            otel_context.attach(trace.set_span_in_context(self.span(info)))  # expect: LDC301

        def on_user_function_end(self, info):
            otel_context.attach(trace.set_span_in_context(self.parent(info)))  # expect: LDC301
        """
    )


def test_what_a_method_of_the_plugin_attaches_is_reported_where_it_is_attached() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._enter(info)

        def _enter(self, info):
            self._attach(info.operation_id)

        def _attach(self, key):
            OPERATION.set(key)  # expect: LDC301
        """
    )


def test_a_method_that_nobody_calls_attaches_nothing() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._log(info)

        def _log(self, info):
            pass

        def _attach(self, key):
            OPERATION.set(key)
        """
    )


def test_a_release_through_methods_of_a_base_class_counts() -> None:
    check(
        {
            "plugin.py": IMPORTS
            + """
class Base(DurableInstrumentationPlugin):
    def _release(self, key):
        OPERATION.reset(self._tokens.pop(key))

    def on_user_function_end(self, info):
        self._release(info.operation_id)


class Plugin(Base):
    def on_user_function_start(self, info):
        self._tokens[info.operation_id] = OPERATION.set(info.name)
"""
        },
        sdk_version="3.0.0",
    )


def test_a_release_in_a_subclass_counts_for_its_base() -> None:
    check(
        {
            "plugin.py": IMPORTS
            + """
class Base(DurableInstrumentationPlugin):
    def on_user_function_start(self, info):
        self._token = OPERATION.set(info.name)


class Plugin(Base):
    def on_user_function_end(self, info):
        OPERATION.reset(self._token)
"""
        },
        sdk_version="3.0.0",
    )


def test_a_base_class_in_another_module_is_followed() -> None:
    files = {
        "plugin.py": """\
            from tracing import Attaching

            class Plugin(Attaching):
                def on_user_function_start(self, info):
                    self.attach(info)  # expect: LDC301
            """,
        "tracing.py": """\
            from contextvars import ContextVar
            from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

            OPERATION = ContextVar("operation")

            class Attaching(DurableInstrumentationPlugin):
                def attach(self, info):
                    OPERATION.set(info.name)
            """,
    }
    check(files, sdk_version="3.0.0")


def test_a_base_class_that_cannot_be_seen_may_let_go_of_what_is_kept() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._tokens[info.operation_id] = OPERATION.set(info.name)
            self._stack.enter_context(trace.use_span(self.span))
            TENANT.set("acme")  # expect: LDC301
        """,
        base="ScopedPlugin",
        before="from company_tracing import ScopedPlugin",
    )


def test_of_two_variables_the_one_that_is_not_reset_is_reported() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._operation = OPERATION.set(info.name)
            self._tenant = TENANT.set("acme")  # expect: LDC301

        def on_user_function_end(self, info):
            OPERATION.reset(self._operation)
        """
    )


def test_tokens_that_are_reset_in_a_loop_may_be_of_any_variable() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._set = [(OPERATION, OPERATION.set(info.name)), (TENANT, TENANT.set("acme"))]

        def on_user_function_end(self, info):
            for variable, token in reversed(self._set):
                variable.reset(token)
        """
    )


def test_what_the_start_hook_lets_go_of_itself_is_balanced() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            token = OPERATION.set(info.name)
            try:
                self.announce(info)
            finally:
                OPERATION.reset(token)
        """
    )


def test_letting_go_of_the_previous_one_before_attaching_is_not_balanced() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            if self._token is not None:
                OPERATION.reset(self._token)
            self._token = OPERATION.set(info.name)  # expect: LDC301
        """
    )


def test_a_completion_hook_is_called_on_a_completion_plugin_only() -> None:
    body = """
        def on_user_function_start(self, info):
            self._token = OPERATION.set(info.name)  {}

        def on_user_function_complete(self, info):
            OPERATION.reset(self._token)
        """
    check_plugin(body.format("# expect: LDC301"))
    check_plugin(body.format(""), base="CompletionPlugin")


def test_what_bind_attaches_is_released_by_itself() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            super().on_user_function_start(info)
            self.bind(info, OPERATION, info.name)
            self.bind(info, trace.set_span_in_context(tracer.start_span(info.name)))
        """,
        base="CompletionPlugin",
    )


def test_a_helper_object_that_looks_after_what_it_attaches_is_left_alone() -> None:
    check_plugin(
        """
        def __init__(self):
            self._ids = Ids()

        def on_user_function_start(self, info):
            self._ids.use_next(info.operation_id)
            with self._ids.using(info.operation_id):
                tracer.start_span(info.name)
        """,
        before="""\
        class Ids:
            def __init__(self):
                self._next = ContextVar("next", default=None)

            def use_next(self, value):
                self._next.set(value)

            def take(self):
                value = self._next.get()
                self._next.set(None)
                return value

            @contextmanager
            def using(self, value):
                token = self._next.set(value)
                try:
                    yield
                finally:
                    self._next.reset(token)
        """,
    )


def test_a_function_that_attaches_for_the_plugin_is_followed() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            remember(info.name)
        """,
        before="""\
        def remember(name):
            OPERATION.set(name)  # expect: LDC301
            local.operation = name  # expect: LDC301
        """,
    )


@pytest.mark.parametrize(
    "harmless",
    [
        "self._busy.set()",
        "self._cache.set(info.operation_id, 'running')",
        "self._log.bind(operation=info.name)",
        "self.current = info.name",
        "(self._cache or self._busy).set(info.name)",
        "global CURRENT\n            CURRENT = CURRENT.child\n            local.operation = CURRENT",
        "with self._lock: self.running += 1",
        "with tracer.start_as_current_span('notify'): pass",
        "span.set_attribute('operation', info.name)",
    ],
)
def test_what_attaches_nothing_to_the_thread_is_silent(harmless: str) -> None:
    check_plugin(
        f"""
        def __init__(self, cache):
            self._busy = threading.Event()
            self._cache = cache
            self._lock = threading.Lock()

        def on_user_function_start(self, info):
            span = trace.get_current_span()
            {harmless}
        """
    )


def test_a_stack_of_tokens_for_each_thread_is_no_attachment_itself() -> None:
    check_plugin(
        """
        def __init__(self):
            self._local = threading.local()

        def on_user_function_start(self, info):
            tokens = getattr(self._local, "tokens", None)
            if tokens is None:
                self._local.tokens = tokens = []
            tokens.append(OPERATION.set(info.name))

        def on_user_function_end(self, info):
            OPERATION.reset(self._local.tokens.pop())
        """
    )


@pytest.mark.parametrize(
    "handed_on",
    [
        "self._undo[info.operation_id] = partial(OPERATION.reset, token)",
        "self._undo[info.operation_id] = lambda: OPERATION.reset(token)",
        "self._stack.callback(OPERATION.reset, token)",
        "def note(): self.count()\n            def undo(): OPERATION.reset(token)\n"
        "            self._undo[info.operation_id] = undo",
    ],
)
def test_a_release_that_is_handed_on_is_left_to_who_gets_it(handed_on: str) -> None:
    check_plugin(
        f"""
        def on_user_function_start(self, info):
            token = OPERATION.set(info.name)
            {handed_on}

        def on_user_function_end(self, info):
            self._undo.pop(info.operation_id)()
        """,
        before="from functools import partial",
    )


@pytest.mark.parametrize(
    "attaching",
    [
        "attach = OPERATION.set\n    attach(info.name)",
        "name = info.name\n    local.operation = name",
        "self._locks[info.name].acquire()",
        "self._stack.enter_context(info.manager)",
    ],
)
def test_an_attachment_is_seen_in_whatever_way_it_is_written(attaching: str) -> None:
    check_plugin(f"def on_user_function_start(self, info):\n    {attaching}  # expect: LDC301\n")


def test_a_hook_of_another_module_is_reported_there() -> None:
    files = {
        "plugin.py": """\
            from tracing import Attaching

            class Plugin(Attaching):
                pass
            """,
        "tracing.py": """\
            from contextvars import ContextVar
            from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

            OPERATION = ContextVar("operation")

            class Attaching(DurableInstrumentationPlugin):
                def on_user_function_start(self, info):
                    OPERATION.set(info.name)  # expect: LDC301
            """,
    }
    check(files, sdk_version="3.0.0")


def test_a_class_that_is_no_plugin_is_not_judged() -> None:
    check_plugin("def on_user_function_start(self, info): OPERATION.set(info.name)", base="object")


@pytest.mark.parametrize(
    "base", ["InvocationOtelPlugin", "ExecutionOtelPlugin", "CompletionPlugin, InvocationOtelPlugin"]
)
def test_a_subclass_of_the_sdks_opentelemetry_plugin_is_a_plugin(base: str) -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            super().on_user_function_start(info)
            OPERATION.set(info.name)  # expect: LDC301
        """,
        base=base,
        before="from aws_durable_execution_sdk_python_otel import ExecutionOtelPlugin, InvocationOtelPlugin",
    )


def test_a_plugin_made_in_a_function_is_judged() -> None:
    check(
        {
            "plugin.py": IMPORTS
            + """
def plugin_for(tenant):
    class TenantPlugin(DurableInstrumentationPlugin):
        def on_user_function_start(self, info):
            TENANT.set(tenant)  # expect: LDC301

    return TenantPlugin()
"""
        },
        sdk_version="3.0.0",
    )


def test_the_message_says_what_is_attached_and_the_help_what_to_do() -> None:
    [finding] = check_plugin(
        "def on_user_function_start(self, info): OPERATION.set(info.name)  # expect: LDC301"
    )
    assert finding.message == "`OPERATION.set` attaches the context variable, and no hook releases it"
    assert "`on_user_function_end`" in finding.help
    assert "`CompletionPlugin.bind`" in finding.help
