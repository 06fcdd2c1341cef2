"""Writes docs/rules.md, the table of all rules, from the linter's own list.

Usage: python docs/tools/make_rules.py [--check]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from durable_lint.rules import RULES, Rule

PAGE = Path(__file__).parents[1] / "rules.md"
GROUPS = {
    "LDC1": (
        "Cleanup around a suspension",
        "A block cleans up, or leaves, while the execution is only suspended.",
    ),
    "LDC2": ("Handlers around a suspension", "A handler catches what is no error."),
    "LDC3": (
        "Instrumentation plugins",
        "A plugin keeps hold of something that belongs to a thread, or misreads an incomplete function.",
    ),
    "LDC4": (
        "Terminal scopes",
        "A scope is used in a way that loses an action, or that the runtime refuses.",
    ),
    "LDC9": ("The linter itself", "What it could not read, and what is written for it in vain."),
}
INTRODUCTION = """\
# Rules

<!-- made by docs/tools/make_rules.py from the linter's rules; do not edit -->

Codes are `LDC` (lint, durable, cleanup) and three digits. Wherever a code is accepted, its name and its
prefixes are too ([which rules run](configuration.md#which-rules-run)). `durable-lint --explain LDC101` prints
a rule's page in the terminal.

The last column says whether `--fix` can write something; each rule's page says what and when, and
[fixes](fixes.md#safe-and-unsafe) what is safe.
"""


def page() -> str:
    parts = [INTRODUCTION]
    for prefix, (title, summary) in GROUPS.items():
        parts.append(
            f"\n## {prefix}: {title}\n\n{summary}\n\n"
            "| code | name | reports | fix |\n| --- | --- | --- | --- |\n"
        )
        parts += [row(rule) for rule in RULES.values() if rule.code.startswith(prefix)]
    return "".join(parts)


def row(rule: Rule) -> str:
    reports = rule.summary if rule.default else f"{rule.summary} (off by default)"
    fix = "yes" if rule.fixable else "no"
    return f"| [{rule.code}](rules/{rule.code}.md) | `{rule.name}` | {reports} | {fix} |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when the page is out of date"
    )
    arguments = parser.parse_args()
    text = page()
    assert all(text.count(f"[{code}]") == 1 for code in RULES), "a rule is in no group"
    if not arguments.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"docs/rules.md: out of date, run docs/tools/{Path(__file__).name}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
