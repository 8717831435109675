"""Progress where there is no terminal."""

from __future__ import annotations

import re
import threading

import pytest

from step_cli import console
from step_cli.console import heartbeat


def test_long_work_is_told_and_short_work_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line has what is being done then, also where nobody says so again."""
    monkeypatch.setattr(console, "FIRST", 0.001)
    monkeypatch.setattr(console, "RAREST", 0.002)
    lines: list[str] = []
    three = threading.Event()

    def say(text: str) -> None:
        if lines or "compiling" in text:  # a busy machine may beat before anything was said
            lines.append(text)
        if len(lines) == 3:
            three.set()

    with heartbeat(say) as progress:
        progress("compiling")
        three.wait()
    assert all(re.fullmatch(r"compiling \(\d+ s\)", line) for line in lines)
    before = len(lines)
    monkeypatch.setattr(console, "FIRST", 1e6)
    with heartbeat(say) as progress:
        progress("linking")
    assert len(lines) == before  # it is over at once, and nothing was said


def test_the_time_between_lines_doubles_up_to_a_limit() -> None:
    pauses: list[float] = []

    class Over:
        def wait(self, pause: float) -> bool:
            pauses.append(pause)
            return len(pauses) == 7

    console._beat(lambda text: None, ["compiling"], Over())  # type: ignore[arg-type]
    assert pauses == [5, 10, 20, 40, 60, 60, 60]
