"""Which files a run reads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from durable_lint.source.files import DEFAULT_EXCLUDE, PathError, Selection, compiled, python_files


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")


def found(
    root: Path,
    *paths: str,
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE,
    respect_gitignore: bool = True,
    force_exclude: bool = False,
) -> list[str]:
    selection = Selection(root, exclude, respect_gitignore, force_exclude)
    given = [root / path for path in paths] or [root]
    entries = list(python_files(given, selection))
    assert not [entry for entry in entries if isinstance(entry, PathError)]
    return [os.path.relpath(entry, root) for entry in entries if isinstance(entry, Path)]


def test_python_files_and_stubs_come_sorted_within_each_directory(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a/b.pyi", "a.py", "a/c.txt", "A.py", "c.pyx", "d.ipynb")
    assert found(tmp_path) == ["A.py", "a/b.pyi", "a/z.py", "a.py", "b.py"]


def test_paths_come_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "pkg/a.py")
    monkeypatch.chdir(tmp_path)
    for given, expected in [
        (".", "pkg/a.py"),
        ("pkg", "pkg/a.py"),
        ("pkg/", "pkg/a.py"),
        ("./pkg", "pkg/a.py"),
    ]:
        assert list(python_files([Path(given)], Selection(tmp_path))) == [Path(expected)]
    assert list(python_files([tmp_path], Selection(tmp_path))) == [tmp_path / "pkg/a.py"]


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py")
    (tmp_path / "link.py").symlink_to("a.py")
    assert found(tmp_path, "b.py", ".", "./b.py", "a.py", "link.py") == ["b.py", "a.py"]


def test_a_file_given_by_name_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    make(tmp_path, "script", "build/gen.py")
    assert found(tmp_path, "script", "build/gen.py") == ["script", "build/gen.py"]
    assert found(tmp_path, "build") == ["build/gen.py"]
    assert found(tmp_path, "script", "build/gen.py", force_exclude=True) == ["script"]


def test_what_no_project_means_is_left_out(tmp_path: Path) -> None:
    make(
        tmp_path,
        "a.py",
        ".venv/b.py",
        "node_modules/x/c.py",
        "pkg/__pycache__/d.py",
        "pkg/build/e.py",
        "env39/pyvenv.cfg",
        "env39/lib/f.py",
        ".github/scripts/g.py",
    )
    assert found(tmp_path) == [".github/scripts/g.py", "a.py"]
    assert found(tmp_path, "env39") == ["env39/lib/f.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("gen", ["a.py", "sub/gen_x.py", "sub/b.py"]),
        ("gen/", ["a.py", "sub/gen_x.py", "sub/b.py"]),
        ("*_x.py", ["a.py", "gen/c.py", "sub/b.py", "sub/gen/d.py"]),
        ("sub/gen", ["a.py", "gen/c.py", "sub/b.py", "sub/gen_x.py"]),
        ("/gen", ["a.py", "sub/b.py", "sub/gen/d.py", "sub/gen_x.py"]),
        ("sub/**", ["a.py", "gen/c.py"]),
        ("**/gen/*.py", ["a.py", "sub/b.py", "sub/gen_x.py"]),
        ("s?b", ["a.py", "gen/c.py"]),
        ("[abc].py", ["sub/gen/d.py", "sub/gen_x.py"]),
    ],
)
def test_exclude_patterns_mean_what_they_mean_to_git(tmp_path: Path, pattern: str, left: list[str]) -> None:
    make(tmp_path, "a.py", "gen/c.py", "sub/b.py", "sub/gen/d.py", "sub/gen_x.py")
    assert sorted(found(tmp_path, exclude=(pattern,))) == sorted(
        name for name in left if name.endswith(".py")
    )


def test_a_file_is_excluded_by_the_directories_it_is_in(tmp_path: Path) -> None:
    selection = Selection(tmp_path, ("gen", "tests/*.py"))
    assert selection.excludes(tmp_path / "gen/a/b.py")
    assert selection.excludes(tmp_path / "tests/a.py")
    assert not selection.excludes(tmp_path / "tests/unit/a.py")
    assert not selection.excludes(tmp_path / "generated.py")


GITIGNORES = {
    ".gitignore": (
        "# a comment\n\n*.gen.py\n!keep.gen.py\n/top.py\nout/\nsub/deep/x*.py\n\\!odd.py\ntrailing.py   \n"
    ),
    "sub/.gitignore": "local.py\n!out/\n/anchored.py\n",
    "sub/deep/.gitignore": "!x1.py\n",
    "all/.gitignore": "*\n!kept.py\n",
}
NAMES = [
    "a.gen.py",
    "keep.gen.py",
    "top.py",
    "sub/top.py",
    "out/a.py",
    "sub/out/a.py",
    "out.py",
    "sub/deep/x1.py",
    "sub/deep/x2.py",
    "!odd.py",
    "trailing.py",
    "sub/local.py",
    "local.py",
    "sub/anchored.py",
    "sub/deep/anchored.py",
    "all/a.py",
    "all/kept.py",
    "all/sub/kept.py",
]


def test_gitignore_files_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    make(tmp_path, *NAMES)
    for name, text in GITIGNORES.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git/info/exclude").write_text("local.py\n")
    listed = subprocess.run(
        ["git", "-C", tmp_path, "ls-files", "-z", "--others", "--exclude-standard", "*.py"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    expected = sorted(name for name in listed.split("\0") if name)
    assert 0 < len(expected) < len(NAMES)
    assert sorted(found(tmp_path, exclude=())) == expected
    assert sorted(found(tmp_path, "sub", exclude=())) == [
        name for name in expected if name.startswith("sub/")
    ]
    assert sorted(found(tmp_path, exclude=(), respect_gitignore=False)) == sorted(NAMES)


def test_a_repository_inside_another_answers_for_itself(tmp_path: Path) -> None:
    make(tmp_path, ".git/", "inner/.git/", "inner/a.py", "b.py", "a.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert found(tmp_path) == ["b.py", "inner/a.py"]


def test_a_malformed_pattern_names_nothing() -> None:
    for line in ("[", "a[", "[z-a]", "\\", "", "!", "#x"):
        assert compiled((line,)).verdict("a", False) is None


def test_links_that_lead_nowhere_or_in_circles_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "gone.py").symlink_to("missing.py")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "dir.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    assert found(tmp_path) == ["a.py"]


def test_a_linked_directory_is_read_when_it_is_given(tmp_path: Path) -> None:
    make(tmp_path, "real/a.py")
    (tmp_path / "link").symlink_to("real")
    assert found(tmp_path, "link") == ["link/a.py"]


def test_what_cannot_be_read_is_an_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    given = [tmp_path / "missing", loop, tmp_path / "pipe", Path("nul\0"), tmp_path / "a.py"]
    entries = list(python_files(given, Selection(tmp_path)))
    assert entries[-1] == tmp_path / "a.py"
    messages = [entry.message for entry in entries[:-1] if isinstance(entry, PathError)]
    assert len(messages) == 4
    assert messages[0] == "does not exist"
    assert messages[2] == "is not a regular file"


def test_files_come_while_the_walk_goes_on(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c.py")
    walk = python_files([tmp_path], Selection(tmp_path))
    assert next(walk) == tmp_path / "a.py"
    make(tmp_path, "b/d.py")
    assert list(walk) == [tmp_path / "b/c.py", tmp_path / "b/d.py"]
