"""LDC302: a release only in an end hook that is not called for a function that is suspended."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check
from tests.linter.rules.plugin_sources import ATTACHES, IMPORTS, check_plugin, source

RELEASES = "OPERATION.reset(self._tokens.pop(info.operation_id))"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.7.0", True),
        ("1.7.5", True),
        ("1.6.0", False),
        ("2.0.0", False),
        ("2.1.0", False),
        ("3.0.0", False),
    ],
)
def test_it_is_sdk_17_that_does_not_call_the_end_hook_for_a_suspension(version: str, expected: bool) -> None:
    mark = "# expect: LDC302" if expected else ""
    check_plugin(
        f"{ATTACHES}\ndef on_user_function_end(self, info):  {mark}\n    {RELEASES}\n", sdk_version=version
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"requirements.txt": "aws-durable-execution-sdk-python==1.7.0\n"}, True),
        ({"requirements.txt": "aws-durable-execution-sdk-python>=1.7\n"}, True),
        ({"pyproject.toml": '[project]\ndependencies = ["aws-durable-execution-sdk-python~=1.7"]\n'}, True),
        (
            {
                "pyproject.toml": '[tool.poetry.dependencies]\naws-durable-execution-sdk-python = "^1.7"\n',
                "poetry.lock": '[[package]]\nname = "aws-durable-execution-sdk-python"\nversion = "1.7.0"\n',
            },
            True,
        ),
        (
            {"pyproject.toml": '[dependency-groups]\ndev = ["aws-durable-execution-sdk-python==3.0.0"]\n'},
            False,
        ),
        ({"requirements.txt": "aws-durable-execution-sdk-python>=2\n"}, False),
        ({"requirements.txt": "structlog\n"}, False),
    ],
    ids=["pinned", "lowest", "compatible", "locked", "group", "newer", "not named"],
)
def test_the_version_is_read_from_the_projects_dependency_files(
    files: dict[str, str], expected: bool
) -> None:
    mark = "# expect: LDC302" if expected else ""
    plugin = source(f"{ATTACHES}\ndef on_user_function_end(self, info):  {mark}\n    {RELEASES}\n")
    check({"plugin.py": plugin}, extra_files=files)


def test_a_completion_plugin_needs_the_completion_hook_on_every_sdk() -> None:
    for version in ("1.7.0", "2.1.0", "3.0.0"):
        check_plugin(
            f"{ATTACHES}\ndef on_user_function_end(self, info):  # expect: LDC302\n    {RELEASES}\n",
            base="CompletionPlugin",
            sdk_version=version,
        )


def test_a_completion_plugin_with_the_hook_is_silent() -> None:
    check_plugin(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n    {RELEASES}\n"
        f"\ndef on_user_function_complete(self, info):\n    {RELEASES}\n",
        base="CompletionPlugin",
        sdk_version="1.7.0",
    )


def test_a_completion_hook_of_another_plugin_does_not_help() -> None:
    check_plugin(
        f"{ATTACHES}\ndef on_user_function_end(self, info):  # expect: LDC302\n    {RELEASES}\n"
        f"\ndef on_user_function_complete(self, info):\n    {RELEASES}\n",
        sdk_version="1.7.0",
    )


def test_a_base_class_behind_the_mixin_is_told_that_a_function_is_incomplete() -> None:
    """Only overrides in classes that derive from `CompletionPlugin` see the two-valued end."""
    check(
        {
            "plugin.py": IMPORTS
            + """
class Attaching(DurableInstrumentationPlugin):
    def on_user_function_start(self, info):
        self._token = OPERATION.set(info.name)

    def on_user_function_end(self, info):
        OPERATION.reset(self._token)


class Plugin(CompletionPlugin, Attaching):
    pass


class Counting(CompletionPlugin, Attaching):
    def on_user_function_end(self, info):
        self.ended += 1
        super().on_user_function_end(info)


class Tenants(CompletionPlugin, Attaching):
    def on_user_function_start(self, info):
        super().on_user_function_start(info)
        self._tenant = TENANT.set("acme")

    def on_user_function_end(self, info):  # expect: LDC302
        TENANT.reset(self._tenant)
        super().on_user_function_end(info)
"""
        },
        sdk_version="3.0.0",
    )


def test_one_finding_for_a_hook_that_releases_several_things() -> None:
    check_plugin(
        """
        def on_user_function_start(self, info):
            self._operation = OPERATION.set(info.name)
            self._tenant = TENANT.set("acme")

        def on_user_function_end(self, info):  # expect: LDC302
            OPERATION.reset(self._operation)
            TENANT.reset(self._tenant)
        """,
        sdk_version="1.7.0",
    )


def test_a_plugin_that_attaches_nothing_is_silent() -> None:
    check_plugin(
        """
        def on_user_function_end(self, info):
            self.count += 1
        """,
        sdk_version="1.7.0",
    )


def test_what_may_be_released_on_any_thread_may_be_released_when_the_invocation_ends() -> None:
    check_plugin(
        """
        def __init__(self):
            self._slots = threading.Semaphore(4)

        def on_user_function_start(self, info):
            self._slots.acquire()

        def on_user_function_end(self, info):
            self._slots.release()

        def on_invocation_end(self, info):
            for _ in self.left:
                self._slots.release()
        """,
        sdk_version="1.7.0",
    )


def test_the_message_names_the_sdk_and_what_is_attached() -> None:
    [finding] = check_plugin(
        f"{ATTACHES}\ndef on_user_function_end(self, info):  # expect: LDC302\n    {RELEASES}\n",
        sdk_version="1.7.0",
    )
    assert "SDK 1.7 does not call it" in finding.message
    assert "`OPERATION.set` (line " in finding.message
    assert "`install()`" in finding.help


def test_an_end_hook_of_another_module_is_reported_at_the_class_that_inherits_it() -> None:
    files = {
        "plugin.py": """\
            from tracing import OPERATION, Ending

            class Plugin(Ending):  # expect: LDC302
                def on_user_function_start(self, info):
                    self._token = OPERATION.set(info.name)
            """,
        "tracing.py": """\
            from contextvars import ContextVar
            from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

            OPERATION = ContextVar("operation")

            class Ending(DurableInstrumentationPlugin):
                def on_user_function_end(self, info):
                    OPERATION.reset(self._token)
            """,
    }
    check(files, sdk_version="1.7.0")
