"""`step.run`, `step.metrics` and `step.bind`: what they take, and what they say where that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raising import raised

import step
from step import FP32, FabricConfig, Graph, Program, Tile
from step.errors import EnvironmentProblem, FormatError, InputError, Runaway, SimulationError
from step.functions import Scale
from step.programs.data.npz import write_arrays
from step.running.result import RunResult

DATA = {"x": [1, 2, 3]}


def negated() -> Graph:
    graph = Graph("negated")
    graph.source("x", Tile(FP32), [graph.symbol("N")]).map(Scale(-1)).sink("y")
    return graph


def program(**changes: Any) -> Program:
    return Program(negated(), **{"inputs": DATA, "expected": {"y": np.array([-1.0, -2, -3])}} | changes)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The program as a file."""
    program().save(tmp_path / "p.json")
    return tmp_path / "p.json"


def test_programs_graphs_and_files_run_alike(saved: Path, tmp_path: Path) -> None:
    write_arrays(tmp_path / "data.npz", {"x": np.array([1, 2, 3])})
    runs = [
        step.run(program(), "interpret"),
        step.run(negated(), "interpret", inputs=DATA),
        step.run(negated(), "interpret", inputs=tmp_path / "data.npz"),
        step.run(saved, "interpret"),
        step.run(str(saved), "interpret", inputs=str(tmp_path / "data.npz")),
    ]
    assert [each.outputs["y"].numpy().ravel().tolist() for each in runs] == [[-1, -2, -3]] * 5
    assert [repr(each) for each in runs] == ["<run of negated on interpret>"] * 5
    assert step.bind(saved) == step.bind(negated(), DATA) == {"N": 3}
    assert step.metrics(saved).bind(step.bind(saved)).channel_bytes == step.metrics(negated()).channel_bytes


def test_a_run_has_tables() -> None:
    run = step.run(program(), "approx", events=True)
    assert repr(run) == f"<run of negated on approx: {run.cycles} cycles>" and run.result.events is not None
    assert list(run.operators) == ["operator", "busy", "starved", "blocked", "finished"]
    assert list(run.channels) == ["channel", "tokens", "peak", "capacity"]
    assert run.operators["operator"].tolist() == ["x", "map_0", "y"]
    spent = sum(run.operators[name] for name in ("busy", "starved", "blocked", "finished"))
    assert spent.tolist() == [run.cycles] * 3
    assert run.channels["tokens"].tolist() == [4, 4]
    assert {name: each.size for name, each in run.traffic.items()} == {
        "operator": 0, "read_bytes": 0, "written_bytes": 0, "beats": 0
    }  # fmt: skip


def test_a_run_is_saved(tmp_path: Path) -> None:
    run = step.run(program(), "interpret")
    run.save(tmp_path / "result.json")
    assert RunResult.load(tmp_path / "result.json").to_json() == run.result.to_json()


def test_another_fabric_and_other_inputs() -> None:
    deep = step.run(program(), "approx", fabric=FabricConfig(channel_depth=9))
    assert set(deep.channels["capacity"]) != set(step.run(program(), "approx").channels["capacity"])
    other = step.run(program(), "interpret", inputs={"x": [5]})
    assert other.outputs["y"].numpy().tolist() == [[[-5]]]
    message = "nothing is expected of negated; give Program(..., expected={name: array})"
    assert raised(InputError, other.check) == message


def test_check_tells_the_first_scalar_that_is_too_far_away() -> None:
    assert step.run(program(), "interpret").check().relative == 0
    wrong = step.run(program(expected={"y": np.array([-1.0, -2, -2])}), "approx", values="all")
    message = "negated on approx: output 'y' is -3 at [2], but -2 is expected"
    assert raised(SimulationError, wrong.check) == message


def test_what_a_run_does_not_have() -> None:
    assert raised(InputError, lambda: step.run(program(), "approx").outputs) == (
        "this run on the back end approx computed only the values that decide cycles, so it has no outputs; "
        'values="all" computes all of them'
    )
    assert raised(InputError, lambda: step.run(program(), "interpret").cycles) == (
        "a run on the back end interpret has no cycles; approx and rtl have"
    )


def test_what_can_not_be_run() -> None:
    takes = "it takes values, events, max_cycles, depths, timing_of, engine, jump, progress, on_token"
    message = f"waves has no effect on the back end approx; {takes}"
    assert raised(InputError, lambda: step.run(program(), "approx", waves="x.vcd")) == message
    message = f"deepth has no effect on the back end approx; did you mean 'depths'? {takes}"
    assert raised(InputError, lambda: step.run(program(), "approx", deepth=3)) == message
    message = "a program must be a Program, a Graph or the name of a file, not 7"
    assert raised(FormatError, lambda: step.run(7, "approx")) == message  # type: ignore[arg-type]


def test_a_run_that_fails_says_how_far_it_came() -> None:
    with pytest.raises(Runaway) as raised:
        step.run(program(), "approx", max_cycles=2)
    assert raised.value.result.cycles == 2


def test_a_comparison_needs_the_floor_that_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cosim.comparing.compare", None)
    monkeypatch.delitem(vars(step), "compare", raising=False)  # somebody may have used it
    message = "step.compare needs the module cosim.comparing.compare; install it with: pip install 'step-fabric[sim]'"
    assert raised(EnvironmentProblem, lambda: step.compare(program())) == message
