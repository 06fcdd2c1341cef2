"""Cleanup is followed along every path that a suspension can take through it, and along no other (LDC101 to LDC105)."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.linter.rules.checking import check

FINALLY = """
import os, sys
@durable_execution
def handler(event, context):
    try:
        context.wait(SECOND)
    finally:{mark}
{body}
"""
EXIT = """
class Lease:
    def __enter__(self):
        return self
    def __exit__(self, t, v, tb):
{body}
@durable_execution
def handler(event, context):
    with Lease():{mark}
        context.wait(SECOND)
"""
GENERATOR = """
import sys
@contextmanager
def lease(event):
{body}
@durable_execution
def handler(event, context):
    with lease(event):{mark}
        context.wait(SECOND)
"""


def check_in(frame: str, body: str, code: str = "") -> None:
    mark = f"  # expect: {code}" if code else ""
    depth = "    " if frame is GENERATOR else "        "
    check(frame.format(body=indent(body, depth), mark=mark))


RUNS = {
    "in a loop": "while event:\n    event.pop()\n    release()",
    "after a loop that ends": "while True:\n    if event:\n        break\nrelease()",
    "in the else of a loop": "for x in event:\n    pass\nelse:\n    release()",
    "in a case": "match event:\n    case {'vm': vm}:\n        release(vm)",
    "in what a match looks at": "match release():\n    case None:\n        pass",
    "in a guard": "match event:\n    case {'vm': vm} if release(vm):\n        pass",
    "after a match with no case for the rest": (
        "for x in event:\n    match x:\n        case 1:\n            continue\n    release()"
    ),
    "in the else of a try": "try:\n    print()\nexcept OSError:\n    pass\nelse:\n    release()",
    "in the finally of a try": "try:\n    print()\nfinally:\n    release()",
    "in a handler": "try:\n    print()\nexcept OSError:\n    release()",
    "after a try that its handler ends": "try:\n    raise OSError\nexcept OSError:\n    pass\nrelease()",
    "in an assignment expression": "if (gone := release()):\n    print(gone)",
    "in a generator that a loop runs": "for x in (release(y) for y in event):\n    pass",
    "in an augmented assignment": "count = 0\ncount += release()",
}
PASSED_BY = {
    "a loop that never runs": "while False:\n    release()",
    "after a loop that never ends": "while True:\n    print()\nrelease()",
    "after a match whose every case leaves": (
        "for x in event:\n    match x:\n        case 1:\n            continue\n        case _:\n            continue\n"
        "    release()"
    ),
    "after a handler that leaves": (
        "for x in event:\n    try:\n        raise OSError\n    except OSError:\n        continue\n    release()"
    ),
    "after a finally that leaves": (
        "for x in event:\n    try:\n        print()\n    finally:\n        continue\n    release()"
    ),
    "an error only, by an assignment expression": (
        "if failed := isinstance(sys.exception(), Exception):\n    release(failed)"
    ),
    "an error only, by its class": (
        "if sys.exception().__class__ not in (SuspendExecution, TimedSuspendExecution):\n    release()"
    ),
    "no exception, the other way round": "if None is sys.exception():\n    release()",
    "no exception, by its value": "if sys.exc_info()[1] is None:\n    release()",
}


@pytest.mark.parametrize("body", RUNS.values(), ids=RUNS.keys())
def test_an_effect_that_a_suspension_reaches_is_reported(body: str) -> None:
    check_in(FINALLY, body, "LDC101")


@pytest.mark.parametrize("body", PASSED_BY.values(), ids=PASSED_BY.keys())
def test_an_effect_that_no_suspension_reaches_is_silent(body: str) -> None:
    check_in(FINALLY, body)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("if SuspendExecution is t or t == TimedSuspendExecution:\n    return\nrelease()", ""),
        ("if SuspendExecution is t:\n    return\nrelease()", "LDC102"),
        (
            "if v.__class__ is not SuspendExecution and type(v) is not TimedSuspendExecution:\n    release()",
            "",
        ),
        ("if None is t:\n    release()", ""),
        ("if None is not t:\n    release()", "LDC102"),
        ("if t in self.spared:\n    return\nrelease()", "LDC102"),
        ("if isinstance(t, Exception):\n    return\nrelease()", "LDC102"),
        ("if t is None is v:\n    return\nrelease()", "LDC102"),
        ("error = v\nif isinstance(error, Exception):\n    release()", ""),
        ("kind = t\nif issubclass(kind, Exception):\n    release()", ""),
        ("t = Exception\nif issubclass(t, Exception):\n    release()", "LDC102"),
        ("try:\n    raise v\nexcept BaseException:\n    return True", "LDC105"),
        ("try:\n    raise v\nexcept Exception:\n    return True", ""),
        ("raise RuntimeError from v", "LDC105"),
        ("raise v.with_traceback(None)", ""),
        ("raise", ""),
    ],
)
def test_an_exit_is_followed_with_what_it_is_told(body: str, code: str) -> None:
    check_in(EXIT, body, code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("match event:\n    case 1:\n        yield\n    case _:\n        yield\nrelease()", ""),
        ("match event:\n    case _:\n        try:\n            yield\n        finally:\n            release()", "LDC102"),
        ("try:\n    pass\nfinally:\n    yield\nrelease()", ""),
        ("try:\n    acquire()\nexcept OSError:\n    yield\nelse:\n    try:\n        yield\n    finally:\n        release()", "LDC102"),
        ("with suppress(BaseException):\n    yield\nprint()", "LDC105"),
        ("with suppress(BaseException):\n    yield\nrelease()", "LDC102, LDC105"),
        ("def inner():\n    yield\ntry:\n    yield\nfinally:\n    list(inner())", ""),
        ("got = None\ntry:\n    got = yield\nfinally:\n    release()", "LDC102"),
        ("count = 0\ntry:\n    count += yield\nfinally:\n    release()", "LDC102"),
        ("for x in (1,):\n    try:\n        yield\n    finally:\n        release()", "LDC102"),
    ],
)  # fmt: skip
def test_a_generator_is_followed_from_its_yield_on(body: str, code: str) -> None:
    check_in(GENERATOR, body, code)
