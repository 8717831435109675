"""Programs of the caller stay what they are, whatever is done with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import cases

import step
from step import FP32, FabricConfig, Graph, Program, Tile
from step.programs.files.serialize import graph_to_json
from step.programs.program import load_program
from step_cli.options import on_fabric

FILE = """\
from held import kept

def program():
    return kept
"""


def made() -> Program:
    graph = Graph("kept")
    (graph.source("x", Tile(FP32), [2]) + 1).sink("y")
    return Program(graph, {"x": [1, 2]}, expected={"y": [2, 3]}, tolerance=0.5)


def state(program: Program) -> Any:
    """All of ``program``, data by its identity, as it may not be replaced either."""
    data = [{name: id(each) for name, each in part.items()} for part in (program.inputs, program.expected)]
    return json.dumps(graph_to_json(program.graph)), id(program.graph), program.fabric, program.tolerance, data


def loaded(program: Program, folder: Path) -> Program:
    """The one of a file that returns ``program``, with other data."""
    np.savez(folder / "x.npz", x=np.array([3.0, 4.0]))
    (folder / "p.py").write_text(FILE)
    return load_program(folder / "p.py", folder / "x.npz")


def test_other_data_is_that_of_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = made()
    monkeypatch.setitem(sys.modules, "held", SimpleNamespace(kept=kept))
    before = state(kept)
    found = loaded(kept, tmp_path)
    assert (list(found.inputs["x"]), found.expected, found.tolerance) == ([3.0, 4.0], {}, 0.0)
    assert state(kept) == before


def test_another_fabric_is_that_of_another_program() -> None:
    kept = made()
    before = state(kept)
    assert on_fabric(kept, None, ("fabric.stages=2",)).fabric == FabricConfig(stages=2)
    assert state(kept) == before


@cases(
    lambda program, _: step.run(program, "interpret"),
    lambda program, _: step.run(program, "approx", fabric=FabricConfig(channel_depth=9)),
    lambda program, _: step.run(program, "approx", inputs=dict(program.inputs)),
    lambda program, _: step.metrics(program, FabricConfig(stages=2)),
    lambda program, _: step.bind(program),
    lambda program, folder: program.save(folder / "p.json"),
    ids=["interpret", "fabric", "inputs", "metrics", "bind", "save"],
)
def test_use_changes_nothing(use: Callable[[Program, Path], Any], tmp_path: Path) -> None:
    program = made()
    before = state(program)
    use(program, tmp_path)
    assert state(program) == before
