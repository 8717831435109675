"""What tests of the language begin with."""

from __future__ import annotations

import pytest
from running import Bench


@pytest.fixture
def bench() -> Bench:
    """An empty graph, and what its sources will play."""
    return Bench()
