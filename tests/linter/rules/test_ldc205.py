"""LDC205: cleanup that is written in a handler that raises again, and once more for the way without an error."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.linter.rules.checking import check


def check_body(body: str) -> None:
    source = (
        f"@durable_execution\ndef handler(event, context):\n{indent(body.strip(chr(10)), '    ')}\n"
        "def undo(vm): ...\n"
    )
    check(source, extend_select=("LDC205",))


TWICE = {
    "after the try": """
try:
    context.wait(SECOND)
except Exception:  # expect: LDC205
    release()
    raise
release()
""",
    "raised by its name": """
try:
    context.wait(SECOND)
except Exception as error:  # expect: LDC205
    release()
    raise error
release()
""",
    "in the else": """
try:
    context.wait(SECOND)
except Exception:  # expect: LDC205
    release()
    raise
else:
    release()
""",
    "at the end of the try": """
try:
    context.wait(SECOND)
    release()
    return
except Exception:  # expect: LDC205
    release()
    raise
""",
    "the operations' names apart, whatever way they are given": """
try:
    context.wait(SECOND)
except Exception:  # expect: LDC205
    context.step(lambda _: release(), "release after an error")
    context.step(lambda _: release(), name=f"again {event}")
    context.step(lambda _: release(), None, None)
    raise
context.step(lambda _: release(), "release")
context.step(lambda _: release())
context.step(lambda _: release())
""",
    "a list run in reverse": """
undos = []
try:
    if event:
        undos.append(lambda: release(1))
    context.wait(SECOND)
except Exception:  # expect: LDC205
    for undo in reversed(undos):
        undo()
    raise
""",
    "a list run in reverse, sliced, by steps": """
undos = []
try:
    undos.append(lambda: release(1))
    context.wait(SECOND)
except Exception:  # expect: LDC205
    for undo in undos[::-1]:
        context.step(lambda _: undo())
    raise
""",
}
ONCE = {
    "nothing but a message": """
try:
    context.wait(SECOND)
except Exception:
    print("over")
    raise
print("over")
""",
    "every exception, which a suspension is too (another rule says so)": """
try:
    context.wait(SECOND)
except BaseException:  # expect: LDC204
    release()
    raise
release()
""",
    "some errors only": """
try:
    context.wait(SECOND)
except ValueError:
    release()
    raise
release()
""",
    "another error is raised": """
try:
    context.wait(SECOND)
except Exception as error:
    release()
    raise ValueError(error)
release()
""",
    "another cleanup": """
try:
    context.wait(SECOND)
except Exception:
    context.step(lambda _: release(1))
    raise
context.step(lambda _: release(2))
""",
    "left before the second": """
try:
    context.wait(SECOND)
    for x in event:
        break
    if event:
        return 1
except Exception:
    release()
    raise
release()
""",
    "nothing that can suspend": """
try:
    work()
except Exception:
    release()
    raise
release()
""",
    "a list that nobody adds to": """
undos = event["undos"]
try:
    others = []
    others.append(1)
    context.wait(SECOND)
except Exception:
    for undo in reversed(undos):
        undo()
    raise
""",
    "a list of pairs, one in its order, and ones that are not run": """
undos = []
for x in event:
    try:
        undos.append((undo, 1))
        context.wait(SECOND)
    except Exception:
        for function, vm in reversed(undos):
            function(vm)
        raise
    try:
        undos.append(undo)
        context.wait(SECOND)
    except Exception:
        for undo in undos:
            undo(1)
        raise
    try:
        undos.append(undo)
        context.wait(SECOND)
    except Exception:
        for undo in reversed(undos):
            last = undo
        raise
    try:
        undos.append(undo)
        context.wait(SECOND)
    except Exception:
        for undo in reversed(undos):
            release(1)
        raise
""",
}


@pytest.mark.parametrize("body", TWICE.values(), ids=TWICE.keys())
def test_cleanup_that_is_written_twice_is_reported(body: str) -> None:
    check_body(body)


@pytest.mark.parametrize("body", ONCE.values(), ids=ONCE.keys())
def test_cleanup_that_is_not_the_same_on_both_ways_is_silent(body: str) -> None:
    check_body(body)


def test_it_is_off_unless_it_is_asked_for() -> None:
    check(
        """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except Exception:
                release()
                raise
            release()
        """
    )
