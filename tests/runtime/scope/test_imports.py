"""The package imports lazily, and says in one sentence which SDK scopes need."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import durable_runtime
import pytest
from durable_runtime import sdk


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def with_sdk(version: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code where the SDK says it is another version. The SDKs 1.6 and 1.7 themselves run in the CI."""
    return run(f"import aws_durable_execution_sdk_python as sdk\nsdk.__version__ = {version!r}\n{code}")


@pytest.mark.parametrize("version", ["1.6.0", "1.7.0", "4.0.0"])
@pytest.mark.parametrize("name", ["terminal_scope", "ScopeCancelled", "on_scope_event"])
def test_on_another_sdk_every_name_fails_with_one_sentence(version: str, name: str) -> None:
    done = with_sdk(version, f"from durable_runtime import {name}")
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: durable_runtime's terminal_scope needs aws-durable-execution-sdk-python >=2.0,<4, "
        f"but {version} is installed."
    )


def test_on_another_sdk_the_package_and_the_plugin_import() -> None:
    done = with_sdk("1.7.0", "import durable_runtime, durable_runtime.plugin\nprint('imported')")
    assert done.stdout.strip() == "imported", done.stderr


def test_an_sdk_without_a_name_that_scopes_need_is_refused() -> None:
    done = run(
        "from aws_durable_execution_sdk_python.context import DurableContext\n"
        "del DurableContext._peek_next_checkpoint\n"
        "from durable_runtime import terminal_scope"
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: durable_runtime's terminal_scope can't run on")
    assert last.endswith("which has no DurableContext._peek_next_checkpoint.")


def test_the_check_names_the_version_or_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_NEEDED", ((object, "no_such_name"),))
    with pytest.raises(ImportError, match=r"which has no object\.no_such_name"):
        sdk._check()
    monkeypatch.setattr("aws_durable_execution_sdk_python.__version__", "1.7.0")
    with pytest.raises(ImportError, match=r"needs .* >=2\.0,<4, but 1\.7\.0 is installed"):
        sdk._check()


def test_importing_the_package_imports_no_sdk() -> None:
    done = run("import sys, durable_runtime\nprint('aws_durable_execution_sdk_python' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


def test_every_public_name_is_there_and_listed() -> None:
    for name in durable_runtime.__all__:
        value: Any = getattr(durable_runtime, name)
        assert value is getattr(durable_runtime, name)
        assert value.__name__ == name
        assert value.__doc__ or name == "ScopeEventKind"
    assert set(durable_runtime.__all__) <= set(dir(durable_runtime))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        durable_runtime.no_such_name  # noqa: B018


def test_no_module_bears_a_public_name() -> None:
    """A lazy package would hand out the module instead of the name."""
    done = run(
        "import pkgutil, durable_runtime\n"
        "modules = {module.name for module in pkgutil.iter_modules(durable_runtime.__path__)}\n"
        "print(modules & set(durable_runtime.__all__))"
    )
    assert done.stdout.strip() == "set()", done.stderr
