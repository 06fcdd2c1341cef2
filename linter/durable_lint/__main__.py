"""Runs the command line: `python -m durable_lint`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Python puts the working directory first, where the linted project would stand in for what is imported.
    if sys.path[0] in ("", os.getcwd()) and sys.path[0] != os.path.dirname(os.path.dirname(__file__)):  # noqa: PTH109, PTH120
        del sys.path[0]
    from durable_lint.cli import main

    sys.exit(main())
