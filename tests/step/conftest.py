"""What tests of the language begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from filing import filed
from running import Bench
from summing import PROGRAM


@pytest.fixture
def bench() -> Bench:
    """An empty graph, and what its sources will play."""
    return Bench()


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """A file of programs with parameters."""
    return str(filed(tmp_path / "sums.py", PROGRAM))
