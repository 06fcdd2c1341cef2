"""LDC303: an end hook that can pass by its release, or leave before it, when the function is incomplete."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check
from tests.linter.rules.plugin_sources import ATTACHES, check_plugin

RELEASE = "OPERATION.reset(self._tokens.pop(info.operation_id))"
WORDS = {
    "TAKE_TOKEN": "token = self._tokens.pop(info.operation_id, None)",
    "RELEASE": RELEASE,
    "IS_INCOMPLETE": "info.outcome is UserFunctionOutcome.INCOMPLETE",
    "HAS_FAILED": "info.outcome is UserFunctionOutcome.FAILED",
}


def end(body: str, *, base: str = "DurableInstrumentationPlugin", sdk_version: str = "3.0.0") -> None:
    """Check an end hook with this body, in which the words of `WORDS` stand for what they say."""
    for word, meaning in WORDS.items():
        body = body.replace(word, meaning)
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    check_plugin(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n{lines}", base=base, sdk_version=sdk_version
    )


@pytest.mark.parametrize(
    "condition",
    [
        "info.outcome is UserFunctionOutcome.SUCCEEDED",
        "info.outcome == UserFunctionOutcome.FAILED or info.outcome == UserFunctionOutcome.SUCCEEDED",
        "info.outcome in (UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED)",
        "info.outcome in {UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED}",
        "info.outcome is not UserFunctionOutcome.INCOMPLETE",
        "not info.outcome == UserFunctionOutcome.INCOMPLETE",
        "info.outcome.value != 'INCOMPLETE'",
        "info.outcome.name in ('SUCCEEDED', 'FAILED')",
        "info.outcome.value == UserFunctionOutcome.FAILED.value",
        "info.outcome in self.ended()",
        "info.error is not None",
        "info.error",
        "getattr(info, 'outcome') is UserFunctionOutcome.FAILED",
    ],
)
def test_a_condition_that_is_false_for_an_incomplete_function_is_reported(condition: str) -> None:
    end(f"if {condition}:  # expect: LDC303\n    RELEASE")


@pytest.mark.parametrize(
    "condition",
    [
        "info.outcome is not UserFunctionOutcome.FAILED",
        "info.outcome is UserFunctionOutcome.INCOMPLETE or True",
        "info.outcome in (UserFunctionOutcome.INCOMPLETE, UserFunctionOutcome.SUCCEEDED)",
        "info.error is None",
        "not info.error",
    ],
)
def test_a_condition_that_holds_for_an_incomplete_function_is_silent(condition: str) -> None:
    end(f"if {condition}:\n    RELEASE")


@pytest.mark.parametrize(
    "early",
    [
        "if IS_INCOMPLETE:\n    return  # expect: LDC303",
        "if IS_INCOMPLETE:\n    raise RuntimeError('no end')  # expect: LDC303",
        "if info.error is None:\n    return  # expect: LDC303",
        "outcome = info.outcome\nif outcome == UserFunctionOutcome.INCOMPLETE:\n    return  # expect: LDC303",
        "incomplete = IS_INCOMPLETE\nif incomplete:\n    return  # expect: LDC303",
        "if info.outcome not in DONE:\n    return  # expect: LDC303",
    ],
)
def test_an_early_exit_before_the_release_is_reported_at_the_exit(early: str) -> None:
    body = early.replace("DONE", "(UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED)")
    end(f"{body}\nRELEASE")


@pytest.mark.parametrize(
    "fine",
    [
        "RELEASE\nif IS_INCOMPLETE:\n    return",
        "try:\n    if IS_INCOMPLETE:\n        return\nfinally:\n    RELEASE",
        "if IS_INCOMPLETE:\n    RELEASE\n    return\nRELEASE",
        "if HAS_FAILED:\n    return\nRELEASE",
        "TAKE_TOKEN\nif token is not None:\n    OPERATION.reset(token)",
        "TAKE_TOKEN\nif token is None:\n    return\nOPERATION.reset(token)",
        "if info.operation_id not in self._tokens:\n    return\nRELEASE",
        "if info.operation_id in self._tokens:\n    RELEASE",
        "if self._tokens[info.operation_id] is not None:\n    RELEASE",
        "token, *_ = self._tokens.pop(info.operation_id)\nif token is None:\n    return\nOPERATION.reset(token)",
        "with self._lock:\n    token = self._tokens.pop(info.operation_id)\nOPERATION.reset(token)",
        "for key in list(self._tokens):\n    OPERATION.reset(self._tokens.pop(key))",
        "if (token := self._tokens.pop(info.operation_id, None)) is not None:\n    OPERATION.reset(token)",
    ],
)
def test_a_release_that_no_incomplete_function_can_miss_is_silent(fine: str) -> None:
    end(fine)


@pytest.mark.parametrize(
    "body",
    [
        """
try:
    RELEASE
except KeyError:
    return
""",
        """
try:
    self.report(info)
except ValueError:
    pass
else:
    self.count()
finally:
    RELEASE
""",
        """
try:
    if IS_INCOMPLETE:
        raise LookupError
except LookupError:
    pass
RELEASE
""",
        """
try:
    if IS_INCOMPLETE:
        raise LookupError
    RELEASE
except LookupError:
    RELEASE
""",
        """
try:
    if IS_INCOMPLETE:
        raise LookupError  # expect: LDC303
    RELEASE
except LookupError:
    pass
""",
        """
try:
    if IS_INCOMPLETE:
        return  # expect: LDC303
    RELEASE
finally:
    self.count()
""",
        """
with suppress(ValueError):
    if IS_INCOMPLETE:
        return  # expect: LDC303
    RELEASE
""",
        """
while self._tokens:
    RELEASE
""",
        """
assert info.name
RELEASE
""",
        """
if self._tokens:
    if IS_INCOMPLETE:  # expect: LDC303
        self.count()
    else:
        RELEASE
""",
    ],
)
def test_the_ways_through_try_with_and_loops_are_followed(body: str) -> None:
    end(body)


def test_an_exit_after_something_else_was_not_found_is_reported() -> None:
    """The span may be gone although the token is not: the invocation has ended before the function."""
    end(
        """
span = self._spans.get(info.operation_id)
if span is None:
    raise RuntimeError("end without start")  # expect: LDC303
RELEASE
"""
    )


@pytest.mark.parametrize(
    ("statement", "mark"),
    [
        ("case UserFunctionOutcome.SUCCEEDED | UserFunctionOutcome.FAILED:", "# expect: LDC303"),
        ("case UserFunctionOutcome.SUCCEEDED:", "# expect: LDC303"),
        ("case _:", ""),
        ("case UserFunctionOutcome.INCOMPLETE | UserFunctionOutcome.SUCCEEDED:", ""),
    ],
)
def test_a_match_on_the_outcome_is_reported_at_the_match(statement: str, mark: str) -> None:
    end(f"match info.outcome:  {mark}\n    {statement}\n        RELEASE")


def test_an_if_chain_is_reported_at_its_first_if() -> None:
    end(
        """
if info.outcome is UserFunctionOutcome.SUCCEEDED:  # expect: LDC303
    RELEASE
elif info.outcome is UserFunctionOutcome.FAILED:
    RELEASE
"""
    )


def test_an_if_chain_that_covers_everything_is_silent() -> None:
    end(
        """
if info.outcome is UserFunctionOutcome.SUCCEEDED:
    RELEASE
elif info.outcome is UserFunctionOutcome.FAILED:
    RELEASE
else:
    RELEASE
"""
    )


def test_two_ways_out_are_two_findings() -> None:
    end(
        """
if info.outcome is UserFunctionOutcome.INCOMPLETE and self.quiet:
    return  # expect: LDC303
if info.error is None:
    return  # expect: LDC303
RELEASE
"""
    )


def test_what_stands_under_the_same_condition_in_both_hooks_is_silent() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            if not self._enabled:
                return
            if info.operation_type not in (OperationType.STEP, OperationType.CONTEXT):
                raise RuntimeError("unknown")
            if info.name is not None:
                self._token = OPERATION.set(info.name)

        def on_user_function_end(self, end):
            if not self._enabled:
                return
            if end.operation_type not in (OperationType.STEP, OperationType.CONTEXT):
                raise RuntimeError("unknown")
            if end.name is not None:
                OPERATION.reset(self._token)
        """
    )


@pytest.mark.parametrize(
    ("condition", "mark"),
    [
        ("info.outcome in ENDED", "  # expect: LDC303"),
        ("info.outcome in self.ENDED", "  # expect: LDC303"),
        ("is_over(info)", "  # expect: LDC303"),
        ("self._is_over(info)", "  # expect: LDC303"),
        ("not is_over(info) or info.error is None", ""),
        ("(outcome := info.outcome) is UserFunctionOutcome.FAILED", "  # expect: LDC303"),
        ("info.outcome is not UserFunctionOutcome('INCOMPLETE')", "  # expect: LDC303"),
    ],
)
def test_constants_and_functions_that_only_answer_are_looked_through(condition: str, mark: str) -> None:
    check_plugin(
        f"""
        ENDED = {{UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED}}

        def on_user_function_start(self, info):
            self._token = OPERATION.set(info.name)

        def on_user_function_end(self, info):
            if {condition}:{mark}
                OPERATION.reset(self._token)

        def _is_over(self, info):
            return info.outcome in ENDED
        """,
        before="""\
        class Names:
            PREFIX = "x"

        ENDED = frozenset({UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED})

        def is_over(info):
            \"\"\"Whether it has ended.\"\"\"
            return info.outcome is not UserFunctionOutcome.INCOMPLETE
        """,
    )


def test_a_condition_of_the_end_hook_alone_is_reported() -> None:
    end("if info.operation_type is OperationType.STEP:  # expect: LDC303\n    RELEASE")


def test_the_way_is_followed_into_methods_and_their_parameters() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            self._finish(info.operation_id, info.outcome)

        def _finish(self, key, outcome):
            if outcome is UserFunctionOutcome.INCOMPLETE:
                return  # expect: LDC303
            OPERATION.reset(self._tokens.pop(key))
        """
    )


def test_a_method_that_always_releases_is_a_release() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            self._release(info.operation_id)
            if info.outcome is UserFunctionOutcome.INCOMPLETE:
                return
            self.report(info)

        def _release(self, key):
            token = self._tokens.pop(key, None)
            if token is None:
                return
            OPERATION.reset(token)
        """
    )


def test_an_early_return_before_a_releasing_method_is_reported() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            if info.outcome is UserFunctionOutcome.INCOMPLETE:
                return  # expect: LDC303
            self._release(info.operation_id)

        def _release(self, key):
            OPERATION.reset(self._tokens.pop(key))
        """
    )


@pytest.mark.parametrize("version", ["1.6.0", "2.0.0", "2.1.0", "3.0.0"])
def test_only_sdk_2_and_later_know_incomplete_functions(version: str) -> None:
    mark = "  # expect: LDC303" if version >= "2" else ""
    end(f"if info.outcome is UserFunctionOutcome.SUCCEEDED:{mark}\n    RELEASE", sdk_version=version)


def test_a_completion_plugins_end_hook_sees_two_outcomes_and_may_choose() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            if info.outcome is UserFunctionOutcome.INCOMPLETE:
                return
            {RELEASE}

        def on_user_function_complete(self, info):
            {RELEASE}
        """,
        base="CompletionPlugin",
    )


def test_a_completion_hook_that_lets_go_for_some_reasons_only_is_reported() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            {RELEASE}

        def on_user_function_complete(self, info):
            if info.reason.name == "SUSPENDED":  # expect: LDC303
                {RELEASE}
        """,
        base="CompletionPlugin",
    )


def test_a_match_on_the_reason_that_leaves_one_out_is_reported() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            {RELEASE}

        def on_user_function_complete(self, info):
            match info.reason.name:  # expect: LDC303
                case "SUSPENDED" | "SUSPENDED_UNTIL":
                    {RELEASE}
                case "ORPHANED":
                    self.orphans += 1
        """,
        base="CompletionPlugin",
    )


def test_a_guard_of_a_match_may_fail() -> None:
    end(
        "match info.outcome:  # expect: LDC303\n"
        "    case UserFunctionOutcome.INCOMPLETE if self.releases:\n        RELEASE\n"
        "    case _:\n        self.count()"
    )


def test_the_message_names_the_release_that_is_missed() -> None:
    [finding] = check_plugin(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n"
        f"    if info.error is None:\n        return  # expect: LDC303\n    {RELEASE}\n"
    )
    assert finding.message.startswith("this `return` leaves before `OPERATION.reset` (line ")
    assert "`OPERATION.set` (line " in finding.message


def test_a_condition_on_an_item_is_the_same_in_both_hooks() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            if self._settings["names"]:
                self._token = OPERATION.set(info.name)

        def on_user_function_end(self, info):
            if self._settings["names"]:
                OPERATION.reset(self._token)
        """
    )


@pytest.mark.parametrize("condition", ["CURRENT is None", "CURRENT", "CURRENT.ready"])
@pytest.mark.parametrize("change", ["CURRENT = CURRENT.previous", "CURRENT = not CURRENT"])
def test_a_name_that_is_made_from_itself_says_nothing_of_the_outcome(condition: str, change: str) -> None:
    end(f"global CURRENT\n{change}\nif {condition}:  # expect: LDC303\n    RELEASE")


@pytest.mark.parametrize(
    ("method", "mark"),
    [
        ("return self._is_over(info.parent)", "  # expect: LDC303"),
        ("over = info.error\n            return over", "  # expect: LDC303"),
    ],
)
def test_a_method_that_does_more_than_answer_says_nothing_of_the_outcome(method: str, mark: str) -> None:
    check_plugin(
        f"""
        def on_user_function_start(self, info):
            self._token = OPERATION.set(info.name)

        def on_user_function_end(self, info):
            if self._is_over(info):{mark}
                OPERATION.reset(self._token)

        def _is_over(self, info):
            {method}
        """
    )


def test_a_condition_on_calling_a_method_that_releases_is_reported() -> None:
    """The method in the other branch calls itself, and releases nothing."""
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            if info.outcome is UserFunctionOutcome.SUCCEEDED:  # expect: LDC303
                self._release(key=info.operation_id)
            else:
                self._report(info)

        def _release(self, key):
            OPERATION.reset(self._tokens.pop(key))

        def _report(self, info):
            if info.parent:
                self._report(info.parent)
        """
    )


def test_a_parameter_given_by_its_name_is_looked_through() -> None:
    check_plugin(
        f"""
        {ATTACHES.strip().replace(chr(10), chr(10) + "        ")}

        def on_user_function_end(self, info):
            self._finish(outcome=info.outcome, key=info.operation_id, **self._more)

        def _finish(self, key, outcome, **more):
            if outcome is UserFunctionOutcome.INCOMPLETE:
                return  # expect: LDC303
            OPERATION.reset(self._tokens.pop(key))
        """
    )


def test_a_deletion_from_a_thread_local_is_a_release() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            local.operation = info.name

        def on_user_function_end(self, info):
            if info.outcome is not UserFunctionOutcome.INCOMPLETE:  # expect: LDC303
                del local.operation
        """
    )


def test_an_end_hook_of_another_module_is_not_reported_in_this_one() -> None:
    files = {
        "plugin.py": """\
            from tracing import OPERATION, Ending

            class Plugin(Ending):
                def on_user_function_start(self, info):
                    self._token = OPERATION.set(info.name)
            """,
        "tracing.py": """\
            from contextvars import ContextVar
            from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

            OPERATION = ContextVar("operation")

            class Ending(DurableInstrumentationPlugin):
                def on_user_function_end(self, info):
                    if info.error is None:
                        return
                    OPERATION.reset(self._token)
            """,
    }
    check(files, sdk_version="3.0.0")
