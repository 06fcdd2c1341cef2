"""Which files of a project imports join, and what a module's name leads to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from durable_lint.gate import ImportIndex

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = "from aws_durable_execution_sdk_python import durable_execution\n"


def project(root: Path, files: dict[str, str]) -> ImportIndex:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportIndex(root)


def resolved(index: ImportIndex, module: str, importer: str, level: int = 0) -> str | None:
    found = index.resolve(module, index.root / importer, level)
    return None if found is None else found.relative_to(index.root).as_posix()


@pytest.mark.parametrize(
    ("files", "module", "importer", "expected"),
    [
        (["app.py", "helpers.py"], "helpers", "app.py", "helpers.py"),
        (["pkg/__init__.py", "pkg/a.py", "pkg/b.py"], "pkg.b", "pkg/a.py", "pkg/b.py"),
        (["pkg/__init__.py", "pkg/a.py"], "pkg", "pkg/a.py", "pkg/__init__.py"),
        (["pkg/__init__.py", "pkg/a.py", "pkg/b.py"], ".b", "pkg/a.py", "pkg/b.py"),
        (["pkg/__init__.py", "pkg/a.py"], ".", "pkg/a.py", "pkg/__init__.py"),
        (
            ["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/a.py", "pkg/b.py"],
            "..b",
            "pkg/sub/a.py",
            "pkg/b.py",
        ),
        (["pkg/__init__.py", "pkg/b.py"], ".b", "pkg/__init__.py", "pkg/b.py"),
        (
            ["src/pkg/__init__.py", "src/pkg/a.py", "tests/test_a.py"],
            "pkg.a",
            "tests/test_a.py",
            "src/pkg/a.py",
        ),
        (
            ["src/ns/one/__init__.py", "src/ns/two/m.py"],
            "ns.two.m",
            "src/ns/one/__init__.py",
            "src/ns/two/m.py",
        ),
        (["lib/ns/a.py", "src/ns/b.py"], "ns.a", "src/ns/b.py", "lib/ns/a.py"),
        (["pkg/a.py", "pkg/m.pyi"], "m", "pkg/a.py", "pkg/m.pyi"),
        (["pkg/a.py", "pkg/m.pyi", "pkg/m.py"], "m", "pkg/a.py", "pkg/m.py"),
        (["pkg/m.py", "pkg/m/__init__.py", "pkg/a.py"], "m", "pkg/a.py", "pkg/m/__init__.py"),
        (
            ["functions/orders/app.py", "layers/common/python/common/db.py"],
            "common.db",
            "functions/orders/app.py",
            "layers/common/python/common/db.py",
        ),
        (
            ["functions/orders/app.py", "functions/orders/utils.py", "functions/users/utils.py"],
            "utils",
            "functions/orders/app.py",
            "functions/orders/utils.py",
        ),
        (
            ["services/orders/handlers/x.py", "services/orders/lib/db.py"],
            "lib.db",
            "services/orders/handlers/x.py",
            "services/orders/lib/db.py",
        ),
        (["app.py", "pkg/json.py"], "json", "app.py", None),
        (["app.py", "json.py"], "json", "app.py", "json.py"),
        (["app.py", "one/utils.py", "two/utils.py"], "utils", "app.py", None),
        (["app.py", "tests/fakes/requests.py"], "requests", "app.py", None),
        (["app.py"], "boto3", "app.py", None),
        (["pkg/__init__.py", "pkg/inner.py", "app.py"], "inner", "app.py", None),
        (["ns/m.py", "app.py"], "ns", "app.py", None),
        (["app.py", "build/gen.py"], "gen", "app.py", None),
        (["app.py", ".venv/lib/dep.py"], "dep", "app.py", None),
    ],
)
def test_a_module_name_leads_to_its_file(
    tmp_path: Path, files: list[str], module: str, importer: str, expected: str | None
) -> None:
    index = project(tmp_path, dict.fromkeys(files, ""))
    assert resolved(index, module, importer) == expected


def test_levels_may_be_given_apart(tmp_path: Path) -> None:
    index = project(tmp_path, dict.fromkeys(["pkg/__init__.py", "pkg/a.py", "pkg/sub/b.py"], ""))
    assert resolved(index, "a", "pkg/sub/b.py", 2) == "pkg/a.py"
    assert resolved(index, "", "pkg/a.py", 1) == "pkg/__init__.py"


def test_configured_import_roots_come_first(tmp_path: Path) -> None:
    project(tmp_path, dict.fromkeys(["code/lib/m.py", "app/m.py", "app/x.py"], ""))
    index = ImportIndex(tmp_path, [tmp_path / "code/lib"])
    assert resolved(index, "m", "app/x.py") == "code/lib/m.py"


def test_a_file_has_every_name_it_can_be_imported_by(tmp_path: Path) -> None:
    index = project(tmp_path, dict.fromkeys(["src/ns/pkg/__init__.py", "src/ns/pkg/mod.py"], ""))
    assert index.module_names(tmp_path / "src/ns/pkg/mod.py") == ("pkg.mod", "ns.pkg.mod", "src.ns.pkg.mod")
    assert index.module_names(tmp_path / "src/ns/pkg/__init__.py")[0] == "pkg"


def test_importers_are_found_through_every_kind_of_import(tmp_path: Path) -> None:
    index = project(
        tmp_path,
        {
            "pkg/__init__.py": "from .core import run\n",
            "pkg/core.py": "",
            "pkg/a.py": "from . import core\n",
            "pkg/b.py": "import pkg.core as c\n",
            "pkg/c.py": "def f():\n    from pkg.core import (\n        run,\n    )\n",
            "pkg/d.py": "from pkg import *\n",
            "pkg/e.py": "import json\n",
        },
    )
    names = [path.relative_to(tmp_path).as_posix() for path in index.importers_of(tmp_path / "pkg/core.py")]
    assert names == ["pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/c.py"]
    assert [path.name for path in index.importers_of(tmp_path / "pkg/__init__.py")] == [
        "a.py",
        "b.py",
        "d.py",
    ]


def test_imports_reach_a_helper_and_a_caller_that_do_not_mention_the_sdk(tmp_path: Path) -> None:
    index = project(
        tmp_path,
        {
            "handler.py": HANDLER + "import helper\n",
            "helper.py": "import deeper\n",
            "deeper.py": "",
            "caller.py": "import handler\n",
            "above.py": "from caller import f\n",
            "apart.py": "import json\n",
        },
    )
    connected = [path.name for path in index.files() if index.is_connected(path)]
    assert connected == ["above.py", "caller.py", "deeper.py", "handler.py", "helper.py"]


def test_without_durable_code_nothing_is_connected_and_no_import_is_resolved(tmp_path: Path) -> None:
    index = project(tmp_path, {"a.py": "import b\n", "b.py": ""})
    assert not index.has_durable_code()
    assert not index.is_connected(tmp_path / "a.py")


def test_hooks_of_a_plugin_are_known_to_the_files_they_call(tmp_path: Path) -> None:
    index = project(
        tmp_path,
        {
            "plugin.py": HANDLER
            + "import tracing\nclass P:\n  def on_user_function_start(self, info): ...\n",
            "tracing.py": "",
            "other.py": "",
        },
    )
    assert index.is_connected_to_plugin(tmp_path / "tracing.py")
    assert not index.is_connected_to_plugin(tmp_path / "other.py")


def test_a_buffer_stands_for_the_file_until_it_is_given_back(tmp_path: Path) -> None:
    index = project(tmp_path, {"a.py": "import b\n", "b.py": ""})
    b = tmp_path / "b.py"
    assert not index.is_connected(b)
    index.add(tmp_path / "a.py", HANDLER.encode() + b"import b\n")
    assert index.is_connected(b)
    assert index.read(tmp_path / "a.py").startswith(HANDLER.encode())
    index.add(tmp_path / "a.py")
    assert not index.is_connected(b)
    assert index.read(tmp_path / "a.py") == b"import b\n"


def test_a_change_that_leads_nowhere_new_joins_nothing_anew(tmp_path: Path) -> None:
    files = {f"m{number}.py": f"import m{number + 1}\n" for number in range(3)}
    index = project(tmp_path, {**files, "m3.py": HANDLER})
    assert index.is_connected(tmp_path / "m0.py")
    joined = index._components
    index.add(tmp_path / "m2.py", b"import json\nimport m3\nprint(json)\n")
    assert index.is_connected(tmp_path / "m0.py")
    assert index._components is joined
    assert [path.name for path in index.importers_of(tmp_path / "m3.py")] == ["m2.py"]
    assert [one.statement.module for one in index.imports_of(tmp_path / "m2.py")] == ["json", "m3"]


@pytest.mark.parametrize("raw", [b"import json\n", b"import m1\n"])
def test_a_change_of_imports_is_seen_by_all_files(tmp_path: Path, raw: bytes) -> None:
    index = project(tmp_path, {"m0.py": "import m1\n", "m1.py": "import m2\n", "m2.py": HANDLER})
    assert index.is_connected(tmp_path / "m0.py")
    index.add(tmp_path / "m1.py", raw)
    assert not index.is_connected(tmp_path / "m0.py")
    assert index.importers_of(tmp_path / "m2.py") == ()


@pytest.mark.parametrize("library", ["logging", "redis"])
def test_a_module_that_imports_its_own_name_is_not_what_the_name_means(tmp_path: Path, library: str) -> None:
    wrapper = f"clients/{library}.py"
    files = {wrapper: f"import {library}\n", "clients/other.py": f"import {library}\n"}
    index = project(tmp_path, {**files, "app.py": f"from clients import {library}\n"})
    assert resolved(index, library, wrapper) is None
    assert resolved(index, library, "clients/other.py") is None
    assert resolved(index, f"clients.{library}", "app.py") == wrapper
    index.add(tmp_path / wrapper, f'"""Use it so:\n\nimport {library}\n"""\n'.encode())
    assert resolved(index, library, "clients/other.py") == wrapper
    index.add(tmp_path / wrapper, f"def f():\n    from {library} import Client\n".encode())
    assert resolved(index, library, "clients/other.py") is None


def test_a_file_that_no_longer_names_the_sdk_takes_it_from_all_that_it_joins(tmp_path: Path) -> None:
    index = project(tmp_path, {"m0.py": "import m1\n", "m1.py": HANDLER})
    assert index.is_connected(tmp_path / "m0.py")
    index.add(tmp_path / "m1.py", b"")
    assert not index.has_durable_code()
    assert not index.is_connected(tmp_path / "m0.py")


def test_a_change_is_seen_in_the_digest_though_the_imports_stay(tmp_path: Path) -> None:
    index = project(tmp_path, {"m0.py": "import m1\n", "m1.py": HANDLER})
    before = index.digest(tmp_path / "m0.py"), index.project_digest()
    index.add(tmp_path / "m1.py", HANDLER.encode() + b"# more\n")
    assert index.digest(tmp_path / "m0.py") != before[0]
    assert index.project_digest() != before[1]


def test_a_buffer_need_not_exist_on_disk(tmp_path: Path) -> None:
    index = project(tmp_path, {"helper.py": ""})
    index.add(tmp_path / "new.py", HANDLER.encode() + b"import helper\n")
    assert index.is_connected(tmp_path / "helper.py")
    assert [path.name for path in index.importers_of(tmp_path / "helper.py")] == ["new.py"]


def test_what_git_ignores_is_no_part_of_the_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    files = {"a.py": "", ".gitignore": "generated/\n", "generated/handler.py": HANDLER + "import a\n"}
    index = project(tmp_path, files)
    assert not index.has_durable_code()
    assert ImportIndex(tmp_path, respect_gitignore=False).has_durable_code()


def test_files_of_the_run_outside_the_root_belong_to_it(tmp_path: Path) -> None:
    project(tmp_path, {"root/a.py": "", "else/handler.py": HANDLER + "import helper\n", "else/helper.py": ""})
    files = [tmp_path / "else/handler.py", tmp_path / "else/helper.py"]
    assert ImportIndex(tmp_path / "root", files=files).is_connected(files[1])


def test_paths_may_lead_through_links(tmp_path: Path) -> None:
    index = project(tmp_path / "real", {"handler.py": HANDLER + "import helper\n", "helper.py": ""})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert index.is_connected(tmp_path / "link/helper.py")
    loop = tmp_path / "real/loop"
    loop.symlink_to(loop)
    assert not ImportIndex(tmp_path / "real").is_connected(loop / "x.py")


def test_unreadable_files_have_no_imports(tmp_path: Path) -> None:
    index = project(tmp_path, {"a.py": HANDLER})
    assert index.imports_of(tmp_path / "missing.py") == ()
    os.mkfifo(tmp_path / "pipe.py")
    assert [path.name for path in ImportIndex(tmp_path).files()] == ["a.py"]


def test_only_files_that_mention_a_name_are_worth_loading(tmp_path: Path) -> None:
    index = project(tmp_path, {"a.py": "x = launch()\n", "b.py": "x = 1\n"})
    assert [path.name for path in index.mentioning("launch", index.files())] == ["a.py"]
