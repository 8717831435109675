"""The command line, for all tests of it."""

from __future__ import annotations

import pytest
from commanding import Step, commanding


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    """Runs the command line in this process, from the project's folder."""
    return commanding(monkeypatch, capsys)
