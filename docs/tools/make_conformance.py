"""Writes the conformance table of docs/rfc/terminal-scope.md from docs/rfc/terminal-scope.cases.json.

Usage: python docs/tools/make_conformance.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any  # cases are JSON

RFC = Path(__file__).parents[1] / "rfc" / "terminal-scope.md"
CASES = RFC.with_name("terminal-scope.cases.json")
BEGIN, END = "<!-- conformance: begin -->", "<!-- conformance: end -->"


def table(cases: list[dict[str, Any]]) -> str:
    """The cases as a Markdown table, numbered in the order of the file."""
    rows = ["| # | case | input | effects | history | outcome |", "| --- | --- | --- | --- | --- | --- |"]
    for number, case in enumerate(cases, start=1):
        cells = [
            str(number),
            f"{case['name']} ({', '.join(case['requires'])})",
            _input(case),
            _code(case["effects"]) + ("<br>branches in any order" if case.get("unordered") else ""),
            _code(case["history"]),
            _ending(case),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _input(case: dict[str, Any]) -> str:
    parts = [f"`{statement}`" for statement in _program(case["program"])]
    if "forms" in case:
        parts.insert(0, f"*{case['forms'][0]} only*")
    for key, value in case.get("config", {}).items():
        parts.append(f"with `{key}={value}`")
    for name, answer in case.get("answers", {}).items():
        fails = isinstance(answer, dict)
        parts.append(f"callback `{name}` is {'failed' if fails else 'fulfilled'}")
    if "lose" in case:
        lose = case["lose"]
        parts.append(f"the {lose['lost']} of {lose['action']} `{lose['operation']}` is lost with the process")
    return "<br>".join(parts)


def _program(program: list[list[Any]]) -> list[str]:
    return [_statement(verb, rest) for verb, *rest in program]


def _statement(verb: str, rest: list[Any]) -> str:
    words = [verb]
    for part in rest:
        if isinstance(part, dict):
            words.extend(f"{key}={value}" for key, value in part.items())
        elif isinstance(part, list) and part and isinstance(part[0], list):
            words.append("{ " + "; ".join(_program(part)) + " }")
        elif isinstance(part, list):
            words.append("[" + ", ".join(part) + "]")
        else:
            words.append(str(part))
    return " ".join(words)


def _code(entries: list[str]) -> str:
    return "<br>".join(entry if entry in "‖⚡" else f"`{entry}`" for entry in entries)


def _ending(case: dict[str, Any]) -> str:
    recorded = (
        "none recorded" if not any("outcome" in entry for entry in case["history"]) else case["outcome"]
    )
    if "error" in case:
        return f"{recorded}, then the determinism error"
    if case.get("tolerated"):
        return f"{recorded}, the scope returns"
    if "failures" in case:
        return f"{recorded}, the scope's error lists {', '.join(case['failures'])}"
    return str(recorded)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with status 1 when out of date"
    )
    check = parser.parse_args().check
    before = RFC.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    after = f"{head}{BEGIN}\n\n{table(cases)}\n\n{END}{tail}"
    if after == before:
        return 0
    if not check:
        RFC.write_text(after, encoding="utf-8")
    sys.stdout.write(f"docs/rfc/terminal-scope.md: {'out of date' if check else 'written'}\n")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
