"""Where ``step run`` runs a program whose user named no back end."""

from __future__ import annotations

from pathlib import Path

import pytest
from commanding import Step, commanding

from step import FP32, FabricConfig, Graph, Program, Tile
from step.functions import Add
from step.lowering.netlist import lower
from step_cli import backends


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    """Runs the command line in this process, where three operators are many."""
    monkeypatch.setattr(backends, "LARGE", 2)
    return commanding(monkeypatch, capsys)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    graph, path = Graph("sums"), tmp_path / "sums.json"
    graph.source("x", Tile(FP32), [2, 2]).accum(Add()).sink("y")
    Program(graph, {"x": [[1, 2], [3, 4]]}).save(path)
    return path


def test_a_large_program_runs_on_the_fast_model_with_a_hint(step: Step, program: Path) -> None:
    found = step("run", program)
    assert found.code == 0 and found.out.startswith("sums on approx ")
    assert found.err == (
        "3 operators take many minutes to build in RTL: the fast model runs, which has the same cycles; --backend rtl "
        "builds it\n"
    )


@pytest.mark.parametrize(("answer", "ran"), [(True, "approx"), (False, "rtl")])
def test_a_user_at_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch, answer: bool, ran: str) -> None:
    graph, asked = Graph("sums"), list[str]()
    graph.source("x", Tile(FP32), [2, 2]).accum(Add()).sink("y")
    monkeypatch.setattr(backends, "LARGE", 2)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda text, default: asked.append(text) or answer)
    assert backends.sized(lower(graph, FabricConfig())) == ran
    assert asked == ["3 operators take many minutes to build in RTL; run the fast model, which has the same cycles?"]
    monkeypatch.setattr(backends, "LARGE", 3)
    assert backends.sized(lower(graph, FabricConfig())) == "rtl" and len(asked) == 1
