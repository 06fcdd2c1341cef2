"""`--fix` and its relatives: what is written, what is only shown, what is left, and each exit status."""

from __future__ import annotations

import subprocess
from pathlib import Path

import durable_lint
import pytest
from durable_lint.rules.finding import Applicability, Edit, Finding, Fix, Position

from tests.linter.cli.project import CLEAN, HAZARD, PLACE, Capture, process, run, write

UNSAFE = HAZARD[: HAZARD.index("    finally:")] + "    except BaseException:\n        return\n"
SCOPE = "with terminal_scope(context"


def test_fix_writes_the_file_and_a_second_run_is_clean(capsys: Capture) -> None:
    file = write("review.py")
    outcome = run(capsys, "--fix")
    assert outcome.status == 0
    assert outcome.out == "Fixed 1 finding.\nNo findings left in 1 file.\n"
    assert SCOPE in file.read_text()
    assert run(capsys).status == 0
    before = file.read_bytes()
    assert run(capsys, "--fix").out == "Fixed 0 findings.\nNo findings left in 1 file.\n"
    assert file.read_bytes() == before


def test_fix_says_once_how_rewritten_code_has_to_be_deployed(capsys: Capture) -> None:
    write("a.py")
    write("b.py")
    said = run(capsys, "--fix").err
    assert said.count("new function version behind the alias") == 1
    assert "needs the package durable-runtime" in said
    assert run(capsys, "--fix").err == ""
    write("c.py", "x = 1  # noqa: LDC101\n")
    assert run(capsys, "--fix", "--select", "LDC901").err == ""


def test_everything_outside_the_rewrite_stays_to_the_byte(capsys: Capture) -> None:
    tail = "\n\n\nx   =  '\N{SNOWMAN}' ;y=2 # odd\t\n\x0c\nz = 3"
    raw = b"\xef\xbb\xbf" + (HAZARD + tail).replace("\n", "\r\n").encode()
    file = write("review.py", raw)
    file.chmod(0o754)
    run(capsys, "--fix")
    fixed = file.read_bytes()
    assert fixed != raw
    assert fixed.startswith(b"\xef\xbb\xbf")
    assert fixed.endswith(tail.replace("\n", "\r\n").encode())
    assert fixed.count(b"\n") == fixed.count(b"\r\n")
    assert file.stat().st_mode & 0o777 == 0o754


def test_an_unsafe_fix_needs_its_own_option(capsys: Capture) -> None:
    file = write("review.py", UNSAFE)
    outcome = run(capsys, "--fix")
    assert outcome.status == 1
    assert file.read_text() == UNSAFE
    assert "1 more can be fixed with `--unsafe-fixes`." in outcome.out
    assert run(capsys, "--fix", "--unsafe-fixes").status == 0
    assert "except Exception:" in file.read_text()


def test_unsafe_fixes_can_be_configured_and_switched_off_again(capsys: Capture) -> None:
    file = write("review.py", UNSAFE)
    write("durable-lint.toml", "unsafe-fixes = true\n")
    assert run(capsys, "--fix", "--no-unsafe-fixes").status == 1
    assert file.read_text() == UNSAFE
    assert "LDC201 [*]" in run(capsys).out
    assert run(capsys, "--fix").status == 0


def test_diff_shows_what_fix_would_do_and_writes_nothing(capsys: Capture) -> None:
    file = write("review.py")
    outcome = run(capsys, "--diff")
    assert outcome.status == 1
    assert file.read_text() == HAZARD
    assert outcome.out.startswith("--- review.py\n+++ review.py\n@@ ")
    assert f"+    {SCOPE}" in outcome.out
    assert outcome.err == "durable-lint: would fix 1 finding, and 0 would be left\n"
    subprocess.run(["patch", "-p0", "--quiet"], input=outcome.out.encode(), check=True, timeout=60)
    patched = file.read_bytes()
    file.write_text(HAZARD)
    run(capsys, "--fix")
    assert file.read_bytes() == patched


def test_diff_of_a_clean_tree_is_empty_and_0(capsys: Capture) -> None:
    write("a.py", CLEAN)
    outcome = run(capsys, "--diff", "-q")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


def test_diff_keeps_line_ends_and_says_where_the_last_one_is_missing(capsys: Capture) -> None:
    write("review.py", HAZARD.rstrip("\n").replace("\n", "\r\n"))
    out = run(capsys, "--diff").out
    assert "\\ No newline at end of file\n" in out
    assert "-    try:\r\n" in out


def test_fix_only_reports_nothing_and_exits_with_0(capsys: Capture) -> None:
    write("review.py", HAZARD)
    write("other.py", UNSAFE)
    outcome = run(capsys, "--fix-only", "-q")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    assert SCOPE in Path("review.py").read_text()


def test_a_fix_can_be_made_to_exit_with_1(capsys: Capture) -> None:
    write("review.py")
    assert run(capsys, "--fix", "--exit-non-zero-on-fix").status == 1
    assert run(capsys, "--fix", "--exit-non-zero-on-fix").status == 0
    write("review.py")
    assert run(capsys, "--fix-only", "--exit-non-zero-on-fix").status == 1


def test_show_fixes_lists_what_was_applied(capsys: Capture) -> None:
    write("pkg/review.py")
    assert run(capsys, "--fix", "--show-fixes").out.startswith(
        "pkg/review.py:\n    1 x LDC101 (finally-around-suspension)\n"
    )


def test_only_fixable_rules_are_fixed(capsys: Capture) -> None:
    file = write("review.py")
    write("durable-lint.toml", 'unfixable = ["LDC1"]\n')
    assert run(capsys, "--fix").status == 1
    assert file.read_text() == HAZARD
    assert "no fix: switched off by `fixable` or `unfixable`" in run(capsys, "--output-format", "full").out


def test_suppressed_and_ignored_findings_are_not_fixed(capsys: Capture) -> None:
    suppressed = HAZARD.replace("    finally:", "    finally:  # noqa: LDC101")
    file = write("review.py", suppressed)
    run(capsys, "--fix")
    assert file.read_text() == suppressed
    file.write_text(HAZARD)
    run(capsys, "--fix", "--ignore", "LDC101")
    assert file.read_text() == HAZARD


def test_standard_input_is_fixed_onto_standard_output() -> None:
    done = process("--fix", "-", "--stdin-filename", "review.py", stdin=HAZARD.encode())
    assert done.returncode == 0
    assert SCOPE.encode() in done.stdout
    assert done.stderr == b""
    assert not Path("review.py").exists()
    unchanged = process("--fix", "-", "--stdin-filename", "review.py", stdin=UNSAFE.encode())
    assert unchanged.returncode == 1
    assert unchanged.stdout == UNSAFE.encode()
    assert unchanged.stderr.startswith(b"review.py:16:5: LDC201")
    excluded = process(
        "--fix", "-", "--stdin-filename", "build/a.py", "--force-exclude", stdin=HAZARD.encode()
    )
    assert (excluded.returncode, excluded.stdout) == (0, HAZARD.encode())


def test_the_diff_of_standard_input_has_its_name() -> None:
    done = process("--diff", "-", "--stdin-filename", "review.py", stdin=HAZARD.encode())
    assert done.stdout.startswith(b"--- review.py\n+++ review.py\n")


def test_a_file_that_cannot_be_written_is_one_line_and_the_others_are_fixed(capsys: Capture) -> None:
    write("a.py").chmod(0o444)
    other = write("b.py")
    outcome = run(capsys, "--fix", "-q")
    assert outcome.status == 2
    assert outcome.err == "durable-lint: a.py: can't be written: it is read-only\n"
    assert SCOPE in other.read_text()


def test_a_link_stays_a_link(capsys: Capture) -> None:
    real = write("real/review.py")
    Path("review.py").symlink_to(real)
    run(capsys, "--fix", "review.py")
    assert Path("review.py").is_symlink()
    assert SCOPE in real.read_text()


def test_a_managers_own_module_is_mended_and_its_users_come_out_clean(capsys: Capture) -> None:
    write(
        "leases.py",
        "from contextlib import contextmanager\n\n\n@contextmanager\ndef lease(context, vm):\n"
        "    context.step(lambda _: launch(vm), name='launch')\n    try:\n        yield vm\n    finally:\n"
        "        context.step(lambda _: terminate(vm), name='terminate')\n",
    )
    user = HAZARD[: HAZARD.index("    try:")] + (
        "    with lease(context, vm):\n        context.wait(Duration.from_minutes(5))\n"
    )
    write("review.py", f"from leases import lease\n{user}")
    assert "LDC102" in run(capsys).out
    outcome = run(capsys, "--fix")
    assert outcome.status == 0, outcome.out + outcome.err
    assert SCOPE in Path("leases.py").read_text()
    assert Path("review.py").read_text() == f"from leases import lease\n{user}"


def propose(monkeypatch: pytest.MonkeyPatch, *edits: Edit) -> None:
    """Make every finding of the sample carry these edits as its fix."""
    from dataclasses import replace

    from durable_lint.analysis import Analysis

    def with_fixes(_self: Analysis, _path: Path, findings: list[Finding]) -> list[Finding]:
        return [replace(one, fix=Fix(Applicability.SAFE, "bad", edits)) for one in findings]

    monkeypatch.setattr(Analysis, "with_fixes", with_fixes)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Edit(Position(16, 5), Position(16, 12), "finally finally"), "does not parse"),
        (Edit(Position(17, 9), Position(17, 9), "pass; "), "would still have the finding"),
        (Edit(Position(999, 1), Position(999, 1), ""), "does not parse"),
    ],
)
def test_a_wrong_fix_is_refused_and_the_file_stays(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, edit: Edit, why: str
) -> None:
    propose(monkeypatch, edit)
    file = write("review.py")
    outcome = run(capsys, "--fix", "--output-format", "full")
    assert outcome.status == 1
    assert file.read_text() == HAZARD
    assert outcome.out.startswith(PLACE)
    assert f"no fix: the rewritten code {why}" in outcome.out


def test_a_fix_that_the_files_encoding_cannot_hold_is_refused(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(monkeypatch, Edit(Position(17, 5), Position(18, 8), "    except '\N{SNOWMAN}':"))
    raw = b"# coding: latin-1\n" + HAZARD.encode()
    file = write("review.py", raw)
    assert run(capsys, "--fix").status == 1
    assert file.read_bytes() == raw


def test_the_library_lints_and_fixes_bytes() -> None:
    (finding,) = durable_lint.lint(HAZARD.encode(), "review.py")
    assert (finding.code, finding.start) == ("LDC101", Position(16, 5))
    fixed = durable_lint.fix(HAZARD.encode(), "review.py")
    assert SCOPE.encode() in fixed
    assert durable_lint.lint(fixed, Path("review.py")) == []
    assert durable_lint.fix(fixed, "review.py") == fixed
    assert durable_lint.fix(UNSAFE.encode(), "review.py") == UNSAFE.encode()
    assert b"except Exception" in durable_lint.fix(UNSAFE.encode(), "review.py", unsafe_fixes=True)
    assert [path.name for path in Path().iterdir()] == [".git"]


def test_the_library_says_what_it_cannot_judge() -> None:
    with pytest.raises(ValueError, match="cannot be decoded as utf-8"):
        durable_lint.lint(b"x = '\xe9'\n", "a.py")
    with pytest.raises(ValueError, match="cannot be decoded as utf-8"):
        durable_lint.fix(b"x = '\xe9'\n", "a.py")


def test_the_library_holds_to_the_nearest_configuration() -> None:
    write("pkg/durable-lint.toml", 'ignore = ["LDC101"]\n')
    assert durable_lint.lint(HAZARD.encode(), "pkg/review.py") == []
    assert len(durable_lint.lint(HAZARD.encode(), "review.py")) == 1
