"""Runs the command line: `python -m durable_lint`."""

from __future__ import annotations

import sys

from durable_lint.cli import main

if __name__ == "__main__":
    sys.exit(main())
