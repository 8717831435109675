"""JSON whose values nobody could know, as a name is there twice, and that of another kind of file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from raising import raised

import step
from step import FP32, Graph, Program, Tile
from step.errors import FormatError
from step.programs.files.depths import DepthBinding


@pytest.fixture
def path(tmp_path: Path, graph: Graph) -> Path:
    """A program in a file."""
    graph.source("x", Tile(FP32), [2]).sink("y")
    Program(graph, {"x": np.ones(2)}).save(tmp_path / "p.json")
    return tmp_path / "p.json"


def test_a_name_that_is_there_twice(path: Path) -> None:
    path.write_text(path.read_text().replace('"tolerance"', '"tolerance": 9, "tolerance"'))
    error = raised(FormatError, lambda: step.load_program(path))
    assert error == f"{path} is no JSON: 'tolerance' is there twice in one object"


def test_a_file_of_another_kind(path: Path) -> None:
    error = raised(FormatError, lambda: DepthBinding.load(path))
    kinds = "has the format step-program-2 of a program file; this must be a binding file, step-binding-1"
    assert error == f"{path} {kinds}"
