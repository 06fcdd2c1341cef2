"""The nearest configuration file wins, `extend` builds on another, and a mistake is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from durable_lint.config.load import ConfigError, Resolver


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def message(path: str = "a.py") -> str:
    with pytest.raises(ConfigError) as caught:
        Resolver().for_path(Path(path))
    return str(caught.value)


def test_without_a_file_the_default_rules_run_and_the_project_file_marks_the_root() -> None:
    write("service/setup.py", "")
    settings = Resolver().for_path(Path("service/pkg/a.py"))
    assert settings.root == Path("service").absolute()
    assert settings.is_enabled("LDC101")
    assert not settings.is_enabled("LDC205")
    assert not settings.is_enabled("LDC901")


def test_without_a_project_file_what_was_asked_for_is_the_project_and_packages_stay_whole() -> None:
    for name in (
        "work/app/main.py",
        "work/app/flows/review.py",
        "work/pkg/__init__.py",
        "work/pkg/sub/__init__.py",
    ):
        write(name, "")
    asked = Resolver(asked=[Path("work/app"), Path("work/app/flows"), Path("work/pkg/sub/a.py")])
    assert asked.for_path(Path("work/app/flows/review.py")).root == Path("work/app").absolute()
    assert asked.for_path(Path("work/pkg/sub/a.py")).root == Path("work").absolute()
    assert Resolver().for_path(Path("work/app/flows/review.py")).root == Path("work/app/flows").absolute()
    outside = Resolver(config=write("work/ci/lint.toml", "strict = true\n"), asked=[Path("/nowhere")])
    elsewhere = outside.for_path(Path("/nowhere/at/all/a.py"))
    assert (elsewhere.strict, elsewhere.root) == (True, Path("/nowhere/at/all"))


def test_the_nearest_file_wins_and_nothing_of_the_farther_one_is_taken() -> None:
    write("pyproject.toml", '[tool.durable-lint]\nselect = ["LDC1"]\nstrict = true\n')
    write("inner/pyproject.toml", '[tool.durable-lint]\nignore = ["LDC101"]\n')
    resolver = Resolver()
    outer, inner = resolver.for_path(Path("a.py")), resolver.for_path(Path("inner/deep/a.py"))
    assert (outer.is_enabled("LDC101"), outer.is_enabled("LDC201"), outer.strict) == (True, False, True)
    assert (inner.is_enabled("LDC101"), inner.is_enabled("LDC201"), inner.strict) == (False, True, False)
    assert inner.root == Path("inner").absolute()


def test_a_pyproject_without_our_table_is_passed_over() -> None:
    write("pyproject.toml", "[tool.durable-lint]\nstrict = true\n")
    write("inner/pyproject.toml", '[project]\nname = "durable-lint-user"\n')
    assert Resolver().for_path(Path("inner/a.py")).strict


def test_an_own_file_stands_over_a_pyproject_in_the_same_directory() -> None:
    write("pyproject.toml", "[tool.durable-lint]\nstrict = true\n")
    write("durable-lint.toml", "strict = false\n")
    assert not Resolver().for_path(Path("a.py")).strict


def test_extend_builds_on_another_file_and_the_extending_one_has_the_last_word() -> None:
    write(
        "shared/base.toml",
        'select = ["LDC1", "LDC2"]\nstrict = true\nprocess-local = ["a.*"]\nsrc = ["lib"]\n',
    )
    write("durable-lint.toml", 'extend = "shared/base.toml"\nstrict = false\nextend-select = ["LDC301"]\n')
    settings = Resolver().for_path(Path("a.py"))
    assert not settings.strict
    assert settings.process_local == ("a.*",)
    assert [settings.is_enabled(code) for code in ("LDC101", "LDC201", "LDC301", "LDC302")] == [
        True,
        True,
        True,
        False,
    ]
    assert settings.src == (Path("shared/lib").absolute(),)
    assert settings.origin("process-local") == "shared/base.toml"
    assert settings.origin("strict") == "durable-lint.toml"


def test_extend_can_name_a_pyproject_in_another_directory_and_reads_its_table() -> None:
    write("company/pyproject.toml", '[tool.durable-lint]\neffects = ["x.y"]\n')
    write("app/durable-lint.toml", 'extend = "../company/pyproject.toml"\n')
    assert Resolver().for_path(Path("app/a.py")).effects == ("x.y",)


def test_extend_in_a_circle_is_an_error_that_shows_the_circle() -> None:
    write("durable-lint.toml", 'extend = "b.toml"\n')
    write("b.toml", 'extend = "durable-lint.toml"\n')
    assert "circle: durable-lint.toml -> b.toml -> durable-lint.toml" in message()


def test_extend_of_a_file_without_settings_says_so() -> None:
    write("durable-lint.toml", 'extend = "other/pyproject.toml"\n')
    write("other/pyproject.toml", '[project]\nname = "x"\n')
    assert message() == "other/pyproject.toml: has no [tool.durable-lint] table"


def test_settings_that_are_no_table_are_an_error() -> None:
    write("pyproject.toml", "[tool]\ndurable-lint = 1\n")
    assert message() == "pyproject.toml: `tool.durable-lint` must be a table"


def test_a_file_that_is_no_text_is_an_error() -> None:
    Path("durable-lint.toml").write_bytes(b"# \xff\n")
    assert message() == "durable-lint.toml: is not UTF-8"


def test_a_file_that_cannot_be_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    write("durable-lint.toml", "strict = true\n")

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert message() == "durable-lint.toml: can't be read: Permission denied"


def test_extend_of_a_missing_file_names_it() -> None:
    write("durable-lint.toml", 'extend = "gone.toml"\n')
    assert message() == "durable-lint.toml: `extend` names gone.toml, and there is no such file"


def test_the_command_line_stands_over_the_file_and_select_starts_afresh() -> None:
    write("durable-lint.toml", 'select = ["LDC2"]\nextend-select = ["LDC301"]\nignore = ["LDC101"]\n')
    settings = Resolver({"select": ["LDC1"]}).for_path(Path("a.py"))
    assert settings.is_enabled("LDC101")
    assert not settings.is_enabled("LDC201")
    assert not settings.is_enabled("LDC301")
    assert settings.origin("select") == "command line"


def test_ignore_on_the_command_line_adds_to_the_file_and_beats_its_select() -> None:
    write("durable-lint.toml", 'select = ["LDC101", "LDC201"]\nignore = ["LDC104"]\n')
    settings = Resolver({"ignore": ["LDC1"]}).for_path(Path("a.py"))
    assert [settings.is_enabled(code) for code in ("LDC101", "LDC104", "LDC201")] == [False, False, True]


def test_extend_select_on_the_command_line_beats_an_ignore_in_the_file() -> None:
    write("durable-lint.toml", 'ignore = ["LDC101", "LDC102"]\n')
    settings = Resolver({"extend-select": ["LDC101", "LDC205"]}).for_path(Path("a.py"))
    assert [settings.is_enabled(code) for code in ("LDC101", "LDC102", "LDC205", "LDC201")] == [
        True,
        False,
        True,
        True,
    ]


def test_the_longer_of_two_prefixes_decides_and_ignore_wins_a_tie() -> None:
    settings = Resolver({"select": ["LDC101", "LDC2"], "ignore": ["LDC1", "LDC2"]}).for_path(Path("a.py"))
    assert [settings.is_enabled(code) for code in ("LDC101", "LDC102", "LDC201")] == [True, False, False]


def test_rules_can_be_named_by_name_and_all_means_every_rule() -> None:
    settings = Resolver({"select": ["ALL"], "ignore": ["finally-around-suspension"]}).for_path(Path("a.py"))
    assert [settings.is_enabled(code) for code in ("LDC101", "LDC102", "LDC205", "LDC901")] == [
        False,
        True,
        True,
        True,
    ]


def test_a_prefix_does_not_switch_on_what_is_off_by_default() -> None:
    def enabled(**overrides: list[str]) -> list[bool]:
        settings = Resolver({key.replace("_", "-"): value for key, value in overrides.items()}).for_path(
            Path()
        )
        return [settings.is_enabled(code) for code in ("LDC201", "LDC205", "LDC901")]

    assert enabled(select=["LDC"]) == [True, False, False]
    assert enabled(select=["LDC2", "LDC9"]) == [True, False, False]
    assert enabled(select=["LDC205"]) == [False, True, False]
    assert enabled(select=["LDC2"], extend_select=["unused-suppression"]) == [True, False, True]
    assert enabled(select=["ALL"], ignore=["LDC2"]) == [False, False, True]
    assert enabled(select=["ALL", "LDC201"], ignore=["ALL"]) == [True, False, False]


def test_isolated_reads_no_file_and_config_reads_only_that_one() -> None:
    write("pyproject.toml", "[tool.durable-lint]\nstrict = true\n")
    write("ci/lint.toml", 'effects = ["a.b"]\n')
    assert not Resolver(isolated=True).for_path(Path("a.py")).strict
    settings = Resolver(config=Path("ci/lint.toml")).for_path(Path("deep/a.py"))
    assert (settings.strict, settings.effects, settings.root) == (False, ("a.b",), Path.cwd())


def test_per_file_ignores_hold_below_a_directory_by_glob_by_name_and_negated() -> None:
    write(
        "durable-lint.toml",
        '[per-file-ignores]\n"tests/**" = ["LDC1"]\n"legacy_*.py" = ["LDC201"]\n"!src/**" = ["LDC202"]\n',
    )
    settings = Resolver().for_path(Path("a.py"))

    def reports(code: str, path: str) -> bool:
        return settings.reports(code, Path(path).absolute())

    assert not reports("LDC101", "tests/deep/test_a.py")
    assert reports("LDC201", "tests/deep/test_a.py")
    assert reports("LDC101", "src/tests.py")
    assert not reports("LDC201", "src/legacy_a.py")
    assert not reports("LDC202", "other/a.py")
    assert reports("LDC202", "src/a.py")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("selct = []", "unknown key `selct` in this file; did you mean `select`?"),
        ("extend_select = []", "unknown key `extend_select` in this file; did you mean `extend-select`?"),
        ("zzz = 1", "unknown key `zzz` in this file"),
        ('select = ["LDC999"]', "`select` names an unknown rule `LDC999`"),
        (
            'ignore = ["syntax-eror"]',
            "`ignore` names an unknown rule `syntax-eror`; did you mean `syntax-error`?",
        ),
        ('select = "LDC1"', '`select` must be a list of strings, not "LDC1"'),
        ("select = [1]", "`select` must be a string, not 1"),
        ('strict = "yes"', '`strict` must be true or false, not "yes"'),
        ('fix-form = "calable"', '`fix-form` has the unknown value "calable"; did you mean `callable`?'),
        (
            'output-format = "xml"',
            '`output-format` has the unknown value "xml"; it is one of full, concise, json,',
        ),
        ('sdk-version = ">=2"', '`sdk-version` must be a version of the SDK such as `2.1.0`, not ">=2"'),
        ("max-file-size = 0", "`max-file-size` must be a number of bytes above 0, not 0"),
        (
            'per-file-ignores = ["LDC1"]',
            '`per-file-ignores` must be a table of globs and lists of rules, not ["LDC1"]',
        ),
        (
            'per-file-ignores = {"a" = "LDC1"}',
            "`per-file-ignores` has a value that must be a list of strings",
        ),
        ('per-file-ignores = {"a" = ["LDC9999"]}', "`per-file-ignores` names an unknown rule `LDC9999`"),
        ("[tool.durable-lint]", "keys stand at the top of this file, without [tool.durable-lint]"),
        ("strict = ", "is not valid TOML"),
        ("select = " + "[" * 5000, "is nested too deeply"),
        ("strict = 1979-05-27", "`strict` must be true or false, not 1979-05-27"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_key_and_remedy(line: str, said: str) -> None:
    write("durable-lint.toml", line + "\n")
    text = message()
    assert text.startswith("durable-lint.toml: ")
    assert said in text
    assert "\n" not in text


def test_every_mistake_of_a_file_is_said_at_once() -> None:
    write("durable-lint.toml", "selct = []\nstrict = 1\n")
    assert len(message().splitlines()) == 2


def test_a_mistake_in_one_project_does_not_touch_another() -> None:
    write("bad/durable-lint.toml", "selct = []\n")
    write("good/durable-lint.toml", "strict = true\n")
    resolver = Resolver()
    with pytest.raises(ConfigError):
        resolver.for_path(Path("bad/a.py"))
    assert resolver.for_path(Path("good/a.py")).strict


def test_a_file_is_read_once_and_read_again_when_it_is_to_be_forgotten() -> None:
    file = write("durable-lint.toml", "strict = true\n")
    resolver = Resolver()
    assert resolver.for_path(Path("a.py")).strict
    file.write_text("strict = false\n")
    assert resolver.for_path(Path("b.py")).strict
    resolver.forget()
    assert not resolver.for_path(Path("a.py")).strict


def test_a_config_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^gone\.toml: no such configuration file$"):
        Resolver(config=Path("gone.toml"))


def test_only_what_fixable_and_unfixable_allow_is_fixed() -> None:
    settings = Resolver().for_path(Path("a.py"))
    assert settings.is_fixable("LDC101")
    write("durable-lint.toml", 'fixable = ["LDC1"]\nunfixable = ["LDC102"]\n')
    settings = Resolver().for_path(Path("a.py"))
    assert [settings.is_fixable(code) for code in ("LDC101", "LDC102", "LDC201")] == [True, False, False]
