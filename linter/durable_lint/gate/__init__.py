"""Decides before any heavy work that a file cannot hold a finding, and may only err towards letting it
through.

`ImportIndex` says which files of a project imports join; `project` uses it to resolve names and to find
callers.
"""

from durable_lint.gate.decide import could_hold_finding, passes_bytes, passes_tree
from durable_lint.gate.index import ImportedModules, ImportIndex
from durable_lint.gate.scan import Import, Words

__all__ = [
    "Import",
    "ImportIndex",
    "ImportedModules",
    "Words",
    "could_hold_finding",
    "passes_bytes",
    "passes_tree",
]
