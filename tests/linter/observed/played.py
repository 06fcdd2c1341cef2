"""Plays a case of tests/cases/fixes while it is watched, and says what its own log tells. Runs as a process
of its own.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from pathlib import Path
from typing import Any  # a case is known at run time only

HERE = Path(__file__).parents[2] / "cases"


def _oracle() -> Any:
    spec = importlib.util.spec_from_file_location("run_fix_oracle", HERE / "run_fix_oracle.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Log(list[str]):
    """The log of a case. `told` has the row of each entry that was made while a suspension was being
    handled.
    """

    def __init__(self) -> None:
        super().__init__()
        self.told: list[int] = []

    def append(self, entry: str) -> None:
        from aws_durable_execution_sdk_python.exceptions import SuspendExecution

        error = sys.exception()
        while error is not None and not isinstance(error, SuspendExecution):
            error = error.__context__
        if error is not None:
            self.told.append(sys._getframe(1).f_lineno)
        super().append(entry)


def main(path: Path) -> dict[str, Any]:
    import boto3

    oracle = _oracle()
    logs: list[Log] = []
    load = oracle.load

    def loaded(where: Path) -> Any:
        module = load(where)
        module.LOG = Log()
        logs.append(module.LOG)
        return module

    class Client:
        def __getattr__(self, _name: str) -> Any:
            return lambda *_, **__: {}

    boto3.client = lambda *_, **__: Client()  # type: ignore[assignment]
    logging.disable(logging.CRITICAL)
    case = load(path).ORACLE
    oracle.load = loaded

    from durable_lint.observed import watch_suspensions

    with watch_suspensions(ignore=[__file__]) as seen:
        outcomes = [oracle.perform(path, run) for run in (case, *case.get("runs", ()))]
    lines = path.read_text("utf-8").splitlines()
    comparison = seen.compared()
    return {
        "logs": [outcome["log"] for outcome in outcomes],
        "told": sorted(row for log in logs for row in log.told),
        "ran": sorted(
            ran.row
            for suspension in seen.seen
            for ran in suspension.ran
            if ran.path == path and "LOG.append" in lines[ran.row - 1]
        ),
        "codes": sorted({finding.code for finding in seen.findings}),
        "only_seen": [f"{one.finding.start.row} {one.finding.code}" for one in comparison.only_seen],
        "only_linted": [
            f"{one.finding.start.row} {one.finding.code}: {one.why}" for one in comparison.only_linted
        ],
        "report": seen.report(),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]).resolve())))
