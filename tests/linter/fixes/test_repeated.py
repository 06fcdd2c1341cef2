"""LDC205: the manual workaround is found in its usual forms, and what it becomes runs the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

from tests.linter.fixes import cases, grammar, trial

if TYPE_CHECKING:
    from pathlib import Path

FOUND = [
    cases.case(
        "after_the_block",
        """
        try:
            PAUSE
            FAIL
        except Exception:  # it failed
            context.step(lambda _: note(NAME, "end"), name="end-after-failure")
            raise
        context.step(lambda _: note(NAME, "end"), name="end")  # it is over
        return "done"
        """,
        None,
        "# it failed",
        "# it is over",
    ),
    cases.case(
        "in_the_else",
        """
        try:
            PAUSE
            FAIL
        except Exception:
            note_step(context, NAME, "one")
            note_step(context, NAME, "two")
            raise
        else:
            note_step(context, NAME, "one")
            note_step(context, NAME, "two")
        return "done"
        """,
    ),
    cases.case(
        "at_the_end_of_the_body",
        """
        try:
            PAUSE
            FAIL
            note_step(context, NAME, "end")
            return "done"
        except Exception:
            note_step(context, NAME, "end")
            raise
        """,
    ),
    cases.case(
        "several_resources",
        """
        try:
            PAUSE
            try:
                PAUSE
                FAIL
            except Exception:
                note_step(context, NAME, "inner")
                raise
            note_step(context, NAME, "inner")
        except Exception:
            note_step(context, NAME, "outer")
            raise
        note_step(context, NAME, "outer")
        return "done"
        """,
    ),
    cases.case(
        "a_list_of_compensations_that_are_steps",
        """
        undos: list = []
        try:
            flight = context.step(lambda _: "flight", name="flight")
            undos.append(lambda: context.step(lambda _: note(NAME, f"cancel {flight}"), name="cancel", config=ONCE))
            PAUSE
            for room in ("a", "b"):
                undos.append(lambda room=room: context.step(lambda _: note(NAME, f"leave {room}"), name=f"leave-{room}"))
            FAIL
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        return "done"
        """,
        None,
        "terminal.compensate(lambda _: note(",
        "config=ONCE",
        "terminal.compensate_in_context(lambda action_context, room=room: action_context.step(",
    ),
    cases.case(
        "a_list_of_compensations_run_in_steps",
        """
        undos = []
        try:
            def first():
                note(NAME, "first")
            undos.append(first)
            PAUSE
            undos.append(functools.partial(note, NAME, "second"))
            FAIL
        except Exception:
            for undo in reversed(undos):
                context.step(lambda _, undo=undo: undo(), name="undo")
            raise
        return "done"
        """,
        None,
        "terminal.compensate(lambda *_, undo=first: undo(), ",
        "undo=functools.partial(",
        before="import functools",
    ),
    cases.case(
        "a_list_of_cleanups",
        """
        ends = []
        try:
            ends.append(lambda: note(NAME, "end"))
            PAUSE
            FAIL
        except Exception:
            for end in reversed(ends):
                end()
            raise
        for end in reversed(ends):
            end()
        return "done"
        """,
        None,
        "terminal.cleanup(",
    ),
    cases.case(
        "a_list_of_compensations",
        """
        undos = []
        try:
            flight = context.step(lambda _: "flight", name="flight")
            undos.append(lambda: note(NAME, f"cancel {flight}"))
            PAUSE
            hotel = context.step(lambda _: "hotel", name="hotel")
            undos.append(lambda hotel=hotel: note(NAME, f"cancel {hotel}"))
            FAIL
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        return "done"
        """,
        None,
        "terminal.compensate(",
    ),
]
LEFT = [
    cases.case(
        "handler_that_uses_the_exception",
        """
        try:
            PAUSE
        except Exception as error:
            note(NAME, f"end {error}")
            raise
        note(NAME, f"end {error}")
        """,
        "uses the exception",
    ),
    cases.case(
        "copies_on_one_line",
        """
        try:
            PAUSE
        except Exception:
            note(NAME, "end")
            raise
        note(NAME, "end"); note(NAME, "more")
        """,
        "stand on one line",
    ),
    cases.case(
        "list_with_else",
        """
        undos = []
        try:
            undos.append(lambda: note(NAME, "undo"))
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        else:
            note(NAME, "else")
        """,
        "else",
    ),
    cases.case(
        "list_that_is_counted",
        """
        undos = []
        try:
            undos.append(lambda: note(NAME, "undo"))
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        return len(undos)
        """,
        "another way than to append",
    ),
    cases.case(
        "list_that_is_given_values",
        """
        undos = []
        try:
            undos.append(lambda: note(NAME, "undo"))
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo(1)
            raise
        """,
        "more than to call",
    ),
    cases.case(
        "list_with_a_comment",
        """
        undos = []  # all of them
        try:
            undos.append(lambda: note(NAME, "undo"))
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        """,
        "comments or other code",
    ),
    cases.case(
        "list_that_is_not_empty",
        """
        undos = [print]
        try:
            undos.append(lambda: note(NAME, "undo"))
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        """,
        "not an empty list",
    ),
    cases.case(
        "list_of_lambdas_with_parameters",
        """
        undos = []
        try:
            undos.append(lambda *rest: note(NAME, "undo"))
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        """,
        "with parameters",
    ),
    cases.case(
        "list_of_what_is_computed",
        """
        undos = []
        try:
            undos.append(event["undo"])
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        """,
        "cannot be seen",
    ),
    cases.case(
        "list_of_several_lines",
        """
        undos = []
        try:
            undos.append(
                lambda: note(
                    NAME, "undo"
                )
            )
            PAUSE
        except Exception:
            for undo in reversed(undos):
                undo()
            raise
        """,
        "several lines",
    ),
]
NOT_FOUND = [
    cases.case(
        "other_cleanup_after_the_block",
        """
        try:
            PAUSE
            FAIL
        except Exception:
            note_step(context, NAME, "undo")
            raise
        note_step(context, NAME, "end")
        """,
    ),
    cases.case(
        "a_body_that_returns_past_the_second_copy",
        """
        try:
            PAUSE
            if event["fail"]:
                return "early"
        except Exception:
            note_step(context, NAME, "end")
            raise
        note_step(context, NAME, "end")
        """,
    ),
    cases.case(
        "a_narrower_handler",
        """
        try:
            PAUSE
            FAIL
        except ValueError:
            note_step(context, NAME, "end")
            raise
        note_step(context, NAME, "end")
        """,
    ),
    cases.case(
        "no_durable_call",
        """
        try:
            FAIL
        except Exception:
            note_step(context, NAME, "end")
            raise
        note_step(context, NAME, "end")
        """,
    ),
]


def _module(case: cases.Case) -> str:
    return grammar.HEADER + "from outside import note_step\n\n\n" + case.source


def _linter(folder: Path) -> Linter:
    return Linter(Settings(root=folder, src=(folder,), select=("LDC205",)), with_fixes=True)


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case.name)
def test_the_manual_workaround_becomes_a_scope_that_does_the_same(case: cases.Case, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    source = _module(case)
    linter = _linter(tmp_path)
    assert {finding.code for finding in linter.lint(path, source.encode()).findings} == {"LDC205"}
    done = Rewriter(linter, only=path).rewrite(path, source.encode())
    assert not done.result.findings, [finding.no_fix for finding in done.result.findings]
    after = done.contents[path].decode()
    for text in case.expected:
        assert text in after
    for fails in (False, True):
        old = trial.play_all(source, [case.name], {"pause": False, "fail": fails})
        assert trial.play_all(after, [case.name], {"pause": False, "fail": fails}) == old
        paused = trial.play_all(after, [case.name], {"pause": True, "fail": fails})[case.name]
        assert paused.effects == old[case.name].log
        assert (paused.result, paused.error) == (old[case.name].result, old[case.name].error)


@pytest.mark.parametrize("case", NOT_FOUND, ids=lambda case: case.name)
def test_what_is_not_a_repeated_cleanup_is_silent(case: cases.Case, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    assert not _linter(tmp_path).lint(path, _module(case).encode()).findings


def test_it_is_off_until_it_is_selected(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    linter = Linter(Settings(root=tmp_path, src=(tmp_path,)))
    assert not linter.lint(path, _module(FOUND[0]).encode()).findings


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.name)
def test_a_workaround_that_does_more_is_left_and_says_why(case: cases.Case, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    source = _module(case)
    done = Rewriter(_linter(tmp_path), unsafe_fixes=True, only=path).rewrite(path, source.encode())
    assert not done.contents
    assert case.why is not None
    assert [case.why in finding.no_fix for finding in done.result.findings] == [True], done.result.findings
