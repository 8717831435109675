"""Progress that a person sees without asking for it: on a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from rich.console import Console

import step
from step.host import watching
from step.host.progress import silent
from step.host.watching import InNotebook, OnTerminal, parts, watched

TEXTS = ("writing Verilog: 3 of 1,200 modules", "verilating", "compiling: 2 of 4 files")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal at stderr gets."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, force_jupyter=False, width=100)
    monkeypatch.delenv("STEP_PROGRESS", raising=False)
    monkeypatch.setattr(watching, "Console", lambda **_: console)
    return shown


def test_parts_of_a_text() -> None:
    assert [parts(each) for each in TEXTS] == [(3, 1200), None, (2, 4)]


def test_a_terminal_shows_what_is_done_and_is_clean_then(terminal: io.StringIO) -> None:
    with watched(None) as progress:
        assert isinstance(progress, OnTerminal) and terminal.getvalue() == ""  # short work leaves no trace
        for text in TEXTS:
            progress(text)
            progress._bars.refresh()
    assert all(text in terminal.getvalue() for text in TEXTS) and "0:00:00" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is cleared


def test_it_can_be_turned_off(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEP_PROGRESS", "0")
    with watched(None) as progress:
        progress("compiling")
        assert progress is silent
    monkeypatch.delenv("STEP_PROGRESS")
    told: list[str] = []
    with watched(told.append) as progress:
        progress("compiling")
    assert told == ["compiling"] and terminal.getvalue() == ""


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with watched(None) as progress:
        progress("compiling")
        assert progress is silent
    assert capsys.readouterr() == ("", "")


class Display:
    """`IPython.display`, whose shown markup is kept."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def HTML(self, markup: str) -> str:
        return markup

    def display(self, markup: str, *, display_id: bool) -> Display:
        assert display_id
        self.update(markup)
        return self

    def update(self, markup: str) -> None:
        self.shown.append(markup)


def test_a_notebook_shows_a_line_that_changes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    display: Any = Display()
    monkeypatch.setitem(sys.modules, "IPython", display)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    times = iter([100.0, 100.0, 100.1, 103.4, 104.0])
    shown = InNotebook(lambda: next(times))
    for text in ("writing <Verilog>", "too soon", "compiling: 2 of 4 files", "simulating: cycle 7"):
        shown(text)
    shown.end()
    assert display.shown == [
        "<progress></progress> writing &lt;Verilog&gt; (0 s)",
        '<progress value="2" max="4"></progress> compiling: 2 of 4 files (3 s)',
        "<progress></progress> simulating: cycle 7 (4 s)",
        "",
    ]


def test_a_notebook_in_which_nothing_happens_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEP_PROGRESS", raising=False)
    monkeypatch.setattr(watching, "Console", lambda **_: Console(file=io.StringIO(), force_jupyter=True))
    with watched(None) as progress:
        assert isinstance(progress, InNotebook)


def test_run_and_compare_tell_of_their_builds(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the first tool, which is not there."""
    pytest.importorskip("cosim.backend")
    graph = step.Graph("copying")
    graph.source("x", step.Tile(step.FP32), [2]).sink("y")
    program = step.Program(graph, {"x": [1, 2]})
    monkeypatch.setattr("cosim.running.bench_run.build", _no_build)
    for call in (step.run, step.compare):
        terminal.seek(0)
        terminal.truncate()
        with pytest.raises(Stopped):
            call(program)
        assert "verilating" in terminal.getvalue()
        assert terminal.getvalue().endswith("\x1b[2K")


class Stopped(Exception):
    """Instead of a build."""


def _no_build(*_: Any, progress: Any, **__: Any) -> None:
    progress("verilating")
    raise Stopped
