"""What is printed where: formats, files, standard input, colours, counts, what the tool says of itself."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from durable_lint import __version__
from durable_lint.cli import main
from durable_lint.rules import RULES

from tests.linter.cli.project import CLEAN, HAZARD, PLACE, Capture, process, run, write


def test_piped_output_is_concise_and_has_no_colour_and_no_progress() -> None:
    write("review.py")
    done = process()
    first, *rest = done.stdout.decode().splitlines()
    assert first.startswith(PLACE)
    assert rest[0] == "Found 1 finding in 1 file."
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b""


def on_terminal(*arguments: str, **environment: str) -> str:
    """Run the command line with a terminal as its output, and return what the terminal was sent."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    command = [sys.executable, "-m", "durable_lint", *arguments]
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE, env=env):
        os.close(slave)
        pieces = []
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            if not piece:
                break
            pieces.append(piece)
    os.close(master)
    return b"".join(pieces).decode()


def test_on_a_terminal_the_report_is_full_coloured_unless_no_color_says_no() -> None:
    write("review.py")
    text = on_terminal()
    assert "\x1b[31;1mLDC101\x1b[0m" in text
    assert "\x1b]8" not in text  # a link, once the rules' pages have an address
    assert "can suspend here" in text
    plain = on_terminal(NO_COLOR="1")
    assert "\x1b" not in plain
    assert "can suspend here" in plain
    assert "\x1b" not in on_terminal(TERM="dumb")
    assert "\x1b[31;1mLDC101" in on_terminal("--color", "always", NO_COLOR="1")


def test_colour_can_be_forced_into_a_pipe() -> None:
    write("review.py")
    assert b"\x1b[31" in process("--color", "always").stdout
    assert b"\x1b[31" in process(FORCE_COLOR="1").stdout
    assert b"\x1b" not in process("--color", "never", FORCE_COLOR="1").stdout


def test_json_is_a_list_on_standard_output_and_nothing_else(capsys: Capture) -> None:
    file = write("review.py")
    outcome = run(capsys, "--output-format", "json")
    (item,) = json.loads(outcome.out)
    assert (item["code"], item["filename"], item["location"]) == (
        "LDC101",
        str(file.absolute()),
        {"row": 16, "column": 5},
    )
    assert item["related"][0]["location"]["row"] == 15
    assert outcome.err == ""


def test_several_formats_in_one_run_each_go_where_they_are_told(capsys: Capture) -> None:
    write("review.py")
    outcome = run(
        capsys, "--output-format", "concise,github,sarif=out.sarif", "--output-format", "junit=out.xml"
    )
    assert outcome.status == 1
    assert PLACE in outcome.out
    assert "::error title=durable-lint (LDC101)" in outcome.out
    assert json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"
    assert Path("out.xml").read_text().startswith("<?xml")


def test_a_report_goes_to_a_file_and_replaces_it_whole(capsys: Capture) -> None:
    write("review.py")
    write("out.json", "x" * 100_000)
    outcome = run(capsys, "--output-format", "json", "--output-file", "out.json")
    assert (outcome.status, outcome.out) == (1, "")
    assert json.loads(Path("out.json").read_text())[0]["code"] == "LDC101"


def test_the_configured_format_holds_until_the_command_line_says_otherwise(
    capsys: Capture,
) -> None:
    write("durable-lint.toml", 'output-format = "json"\n')
    write("review.py")
    assert json.loads(run(capsys).out)
    assert run(capsys, "--output-format", "concise").out.startswith(PLACE)


def test_quiet_prints_findings_only(capsys: Capture) -> None:
    write("review.py")
    assert len(run(capsys, "-q").out.splitlines()) == 1
    Path("review.py").write_text(CLEAN)
    assert run(capsys, "--quiet").out == ""


def test_quiet_adopting_prints_nothing(capsys: Capture) -> None:
    file = write("review.py")
    done = run(capsys, "--quiet", "--write-baseline", "known.json")
    assert (done.status, done.out, done.err) == (0, "", "")
    file.unlink()
    write("other.py", CLEAN)
    known = run(capsys, "--quiet", "--baseline", "known.json")
    assert (known.status, known.out, known.err) == (0, "", "")
    write("review.py")
    added = run(capsys, "--quiet", "--add-noqa")
    assert (added.status, added.out, added.err) == (0, "", "")
    assert "# noqa: LDC101" in Path("review.py").read_text()


def test_help_is_as_wide_as_it_is_told_and_100_columns_where_nobody_knows(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = {}
    for columns in ("70", "wide"):
        monkeypatch.setenv("COLUMNS", columns)
        with pytest.raises(SystemExit):
            main(["--help"])
        widths[columns] = max(map(len, capsys.readouterr().out.splitlines()))
    assert widths["70"] < widths["wide"] <= 100


def test_results_are_kept_where_the_command_line_says(capsys: Capture) -> None:
    write("review.py")
    run(capsys, "--cache-dir", "kept")
    assert list(Path("kept").iterdir())
    assert not Path(".durable_lint_cache").exists()


def test_statistics_replace_the_findings_as_text_and_as_json(capsys: Capture) -> None:
    write("a.py")
    write("b.py")
    assert run(capsys, "--statistics", "-q").out.split()[:2] == ["2", "LDC101"]
    (row,) = json.loads(run(capsys, "--statistics", "--output-format", "json").out)
    assert (row["code"], row["count"]) == ("LDC101", 2)


def test_verbose_says_what_could_not_be_resolved(capsys: Capture) -> None:
    text = HAZARD.replace("    try:", "    unknown.library(context)\n    try:").replace(
        "from aws", "import unknown\nfrom aws", 1
    )
    write("review.py", text)
    assert "unknown.library" in run(capsys, "--verbose").err
    assert run(capsys).err == ""


def test_rules_can_be_chosen_by_code_prefix_and_name(capsys: Capture) -> None:
    write("review.py")
    assert run(capsys, "--select", "LDC2").status == 0
    assert run(capsys, "--select", "LDC2,finally-around-suspension").status == 1
    assert run(capsys, "--ignore", "LDC1").status == 0
    assert run(capsys, "--select", "LDC2", "--extend-select", "LDC101").status == 1


def test_standard_input_is_linted_under_the_name_and_with_the_settings_of_a_file() -> None:
    write("pkg/durable-lint.toml", 'ignore = ["LDC101"]\n')
    done = process("-", "--stdin-filename", "app/review.py", stdin=HAZARD.encode())
    assert done.returncode == 1
    assert done.stdout.decode().startswith("app/review.py:16:5: LDC101")
    assert process("--stdin-filename", "pkg/review.py", "-", stdin=HAZARD.encode()).returncode == 0
    assert process("-", stdin=HAZARD.encode()).stdout.decode().startswith("-:16:5: LDC101")
    assert process("-", stdin=b"").returncode == 0


def test_standard_input_stands_for_the_file_on_disk(capsys: Capture) -> None:
    write("review.py", CLEAN)
    done = process("-", "--stdin-filename", "review.py", stdin=HAZARD.encode())
    assert done.returncode == 1
    assert run(capsys, "review.py").status == 0


def test_version_and_help_exit_with_0() -> None:
    assert process("--version").stdout.decode() == f"durable-lint {__version__}\n"
    done = process("--help")
    assert done.returncode == 0
    assert done.stdout.startswith(b"usage: durable-lint [OPTIONS] [PATHS]...")


def test_list_rules_names_every_rule(capsys: Capture) -> None:
    lines = run(capsys, "--list-rules").out.splitlines()
    assert [line.split()[0] for line in lines] == list(RULES)
    assert "off by default" in next(line for line in lines if line.startswith("LDC205"))
    listed = json.loads(run(capsys, "--list-rules", "--output-format", "json").out)
    assert [rule["code"] for rule in listed] == list(RULES)


@pytest.mark.parametrize("code", ["LDC101", "ldc101", "finally-around-suspension"])
def test_explain_prints_the_rules_page(capsys: Capture, code: str) -> None:
    outcome = run(capsys, "--explain", code)
    assert outcome.status == 0
    assert "finally-around-suspension" in outcome.out
    assert len(outcome.out.splitlines()) > 15
    coloured = run(capsys, "--explain", code, "--color", "always").out
    assert "\x1b[1;34m" in coloured
    assert "```" not in coloured
    told = json.loads(run(capsys, "--explain", code, "--output-format", "json").out)
    assert told["code"] == "LDC101"
    assert "finally-around-suspension" in told["explanation"]


def test_every_rule_has_a_page(capsys: Capture) -> None:
    for code, rule in RULES.items():
        text = run(capsys, "--explain", code).out
        assert rule.name in text, code
        assert len(text.splitlines()) > 10, code


def test_show_settings_gives_each_value_and_where_it_came_from(capsys: Capture) -> None:
    write("base.toml", "strict = true\n")
    write("durable-lint.toml", 'extend = "base.toml"\nprocess-local = ["a.*"]\n')
    write("requirements.txt", "aws-durable-execution-sdk-python==2.1.0\n")
    write("review.py")
    lines = run(capsys, "--show-settings", "--ignore", "LDC2", "review.py").out.splitlines()
    assert "strict = true  # base.toml" in lines
    assert 'process-local = ["a.*"]  # durable-lint.toml' in lines
    assert 'ignore = ["LDC2"]  # command line' in lines
    assert 'sdk-version = "2.1.0"  # requirements.txt' in lines
    assert "unsafe-fixes = false  # default" in lines
    assert f"# project root: {Path.cwd()}" in lines
    told = json.loads(run(capsys, "--show-settings", "--output-format", "json", "review.py").out)
    assert told["settings"]["sdk-version"] == {"value": "2.1.0", "origin": "requirements.txt"}


def test_show_files_lists_what_would_be_linted(capsys: Capture) -> None:
    write("durable-lint.toml", 'extend-exclude = ["generated"]\n')
    for name in ("a.py", "b.pyi", "notes.txt", "generated/c.py", ".venv/lib/d.py", "pkg/e.py"):
        write(name, "")
    assert run(capsys, "--show-files").out.splitlines() == ["a.py", "b.pyi", "pkg/e.py"]


def test_a_nested_configuration_excludes_in_its_own_directory(capsys: Capture) -> None:
    write("inner/durable-lint.toml", 'exclude = ["old_*.py"]\n')
    for name in ("old_a.py", "inner/old_b.py", "inner/c.py"):
        write(name, "")
    assert run(capsys, "--show-files").out.splitlines() == ["inner/c.py", "old_a.py"]


def test_excluded_files_given_by_name_are_linted_unless_exclusion_is_forced(
    capsys: Capture,
) -> None:
    write("durable-lint.toml", 'extend-exclude = ["generated"]\n')
    write("generated/review.py")
    assert run(capsys, "generated/review.py").status == 1
    assert run(capsys, "--force-exclude", "generated/review.py").status == 0
    done = process("-", "--stdin-filename", "generated/review.py", "--force-exclude", stdin=HAZARD.encode())
    assert done.returncode == 0


def test_a_clean_run_help_and_version_do_not_load_libcst_or_a_report_for_machines() -> None:
    write("a.py", CLEAN)
    script = (
        "import sys; from durable_lint.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'libcst', 'durable_lint.report.sarif', 'asyncio', 'multiprocessing', 'xml', 'json'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for arguments in (["a.py"], ["--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stderr == "[]\n", arguments
