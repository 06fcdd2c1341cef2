"""LDC305: a span that is ended, or a success that is counted, for a function that is incomplete."""

from __future__ import annotations

import pytest

from tests.linter.rules.plugin_sources import check_plugin


def end(
    body: str, *, base: str = "DurableInstrumentationPlugin", sdk_version: str = "3.0.0", hook: str = "end"
) -> None:
    """Check a hook with this body."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    check_plugin(f"def on_user_function_{hook}(self, info):\n{lines}", base=base, sdk_version=sdk_version)


@pytest.mark.parametrize(
    "ending",
    [
        "self._spans.pop(info.operation_id).end()",
        "span = self._spans.pop(info.operation_id)\nspan.end(end_time=self.now())",
        "self.span.finish()",
        "xray_recorder.end_subsegment()",
        "transaction = self._open.pop(info.operation_id)\ntransaction.finish()",
        "self._spans[info.operation_id].end()",
        "with self._transaction(info) as opened:\n    opened.finish()",
    ],
)
def test_a_span_that_is_ended_whatever_the_outcome_is_reported_at_the_ending_call(ending: str) -> None:
    end(f"{ending}  # expect: LDC305")


@pytest.mark.parametrize(
    "counting",
    [
        "self._ledger.record_success(info.name)",
        "self.metrics.increment('functions.succeeded')",
        "self.counter.add(1, {'outcome': 'success'})",
        "self.mark_completed(info.operation_id)",
        "self.succeeded += 1",
        "self.counts['success'] += 1",
        "global succeeded\n    succeeded += 1",
        "self.records.append(Record(info.name, status='ok'))",
    ],
)
def test_not_failed_taken_for_success_is_reported_at_the_counting(counting: str) -> None:
    end(
        f"""
if info.outcome is UserFunctionOutcome.FAILED:
    self.failures += 1
else:
    {counting}  # expect: LDC305
"""
    )


@pytest.mark.parametrize(
    "condition",
    [
        "info.error is None",
        "not info.error",
        "info.outcome != UserFunctionOutcome.FAILED",
        "info.outcome is not UserFunctionOutcome.FAILED",
        "info.outcome.value != 'FAILED'",
    ],
)
def test_each_way_to_ask_for_not_failed_is_understood(condition: str) -> None:
    end(f"if {condition}:\n    self._ledger.record_success(info.name)  # expect: LDC305")


@pytest.mark.parametrize(
    "condition",
    [
        "info.outcome is UserFunctionOutcome.SUCCEEDED",
        "info.outcome is not UserFunctionOutcome.INCOMPLETE and not info.error",
        "info.outcome in (UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED)",
    ],
)
def test_a_condition_that_leaves_out_the_incomplete_function_is_silent(condition: str) -> None:
    end(f"if {condition}:\n    self._ledger.record_success(info.name)\n    self.span.end()")


@pytest.mark.parametrize(
    ("argument", "mark"),
    [
        ("'failure' if info.error else 'success'", "  # expect: LDC305"),
        ("'success' if info.outcome is UserFunctionOutcome.SUCCEEDED else 'other'", ""),
        ("{'outcome': 'ok' if info.error is None else 'error'}", "  # expect: LDC305"),
    ],
)
def test_a_text_that_a_condition_chooses_is_read_for_the_incomplete_function(
    argument: str, mark: str
) -> None:
    end(f"self.counter.add(1, {argument}){mark}")
    end(f"how = {argument}\nself.counter.add(1, how){mark if '{' not in argument else ''}")


def test_an_early_return_for_the_incomplete_function_is_silent() -> None:
    end(
        """
if info.outcome is UserFunctionOutcome.INCOMPLETE:
    return
self.succeeded += info.error is None
self.span.end()
"""
    )


def test_a_match_that_leaves_out_the_incomplete_function_is_silent() -> None:
    end(
        """
match info.outcome:
    case UserFunctionOutcome.SUCCEEDED:
        self.succeeded += 1
    case UserFunctionOutcome.FAILED:
        self.failed += 1
"""
    )


def test_what_follows_a_match_that_always_leaves_is_silent() -> None:
    end(
        """
match info.outcome:
    case UserFunctionOutcome.FAILED:
        self.failed += 1
        return
    case _:
        return
self.span.end()
"""
    )


def test_the_catch_all_of_a_match_is_reported() -> None:
    end(
        """
match info.outcome:
    case UserFunctionOutcome.FAILED:
        self.failed += 1
    case _:
        self.succeeded += 1  # expect: LDC305
"""
    )


def test_a_status_that_is_set_before_the_span_is_ended_is_not_reported_besides() -> None:
    end(
        """
span = self._spans.pop(info.operation_id)
if info.error:
    span.set_status(trace.StatusCode.ERROR)
else:
    span.set_status(trace.StatusCode.OK)
span.end()  # expect: LDC305
"""
    )


def test_a_status_alone_is_reported() -> None:
    end(
        """
if info.error is None:
    self.span.set_status(trace.StatusCode.OK)  # expect: LDC305
"""
    )


def test_a_span_ended_by_a_method_is_reported_where_it_is_ended() -> None:
    check_plugin(
        """
        def on_user_function_end(self, info):
            self._close(info.operation_id)

        def _close(self, key):
            span = self._spans.pop(key, None)
            if span is not None:
                span.end()  # expect: LDC305
        """
    )


def test_a_manager_whose_exit_ends_the_span_is_reported_at_its_exit() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._cm = tracer.start_as_current_span(info.name)
            self._cm.__enter__()

        def on_user_function_end(self, info):
            self._cm.__exit__(None, None, None)  # expect: LDC305
        """
    )


@pytest.mark.parametrize(
    "manager",
    ["tracer.start_as_current_span(info.name, end_on_exit=False)", "trace.use_span(self.span)"],
)
def test_a_manager_whose_exit_leaves_the_span_open_is_silent(manager: str) -> None:
    check_plugin(
        f"""
        def on_user_function_start(self, info):
            self._cm = {manager}
            self._cm.__enter__()

        def on_user_function_end(self, info):
            self._cm.__exit__(None, None, None)
        """
    )


def test_nothing_may_be_ended_or_counted_in_the_completion_hook() -> None:
    end("self.span.end()  # expect: LDC305", base="CompletionPlugin", hook="complete")
    end("self.ledger.record_success(info.name)  # expect: LDC305", base="CompletionPlugin", hook="complete")


def test_a_completion_plugins_end_hook_is_not_called_for_an_incomplete_function() -> None:
    end("self.span.end()\nself.ledger.record_success(info.name)", base="CompletionPlugin")


def test_the_completion_hook_of_another_plugin_is_never_called() -> None:
    end("self.span.end()", hook="complete")


@pytest.mark.parametrize(("version", "mark"), [("1.6.0", True), ("1.7.0", False), ("2.0.0", True)])
def test_it_depends_on_whether_the_sdk_calls_the_end_hook_at_all(version: str, mark: bool) -> None:
    end("self.span.end()" + ("  # expect: LDC305" if mark else ""), sdk_version=version)


@pytest.mark.parametrize(
    "harmless",
    [
        "self._log.info('function succeeded or is suspended')",
        "self.span.add_event('success so far')",
        "self.span.set_attribute('outcome', info.outcome.value)",
        "self.finished.append(info.operation_id)",
        "self.server.end()",
        "(self.server or self.client).end()",
        "self.counts()['all'] += 1",
        "global LABEL\nLABEL = LABEL if LABEL else 'none'\nself.counter.add(1, LABEL)",
        "if info.outcome is UserFunctionOutcome.SUCCEEDED: self.succeeded += 1",
    ],
)
def test_what_neither_ends_nor_counts_is_silent(harmless: str) -> None:
    end(harmless)


def test_spans_may_be_ended_when_the_operation_or_the_invocation_ends() -> None:
    check_plugin(
        """
        def on_operation_end(self, info):
            self._spans.pop(info.operation_id).end()

        def on_invocation_end(self, info):
            for span in self._spans.values():
                span.end()
        """
    )


def test_the_message_says_with_which_outcome_the_hook_is_called() -> None:
    [finding] = check_plugin("def on_user_function_end(self, info): self.span.end()  # expect: LDC305")
    assert finding.message == (
        "`self.span.end` ends the span, but `on_user_function_end` is also called with INCOMPLETE"
    )
