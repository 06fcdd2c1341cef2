"""The completion hook's tests run on every SDK that has plugins: 1.6.0, 1.7.0, 2.1.0 and 3.0.0."""

from __future__ import annotations

import pytest
from durable_runtime.plugin import install


@pytest.fixture(autouse=True)
def installed() -> None:
    """What SDK 1.6 and 1.7 need, and what later ones ignore."""
    install()
