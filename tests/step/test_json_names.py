"""A name that is twice in an object of JSON has no value that a reader could know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import step
from step import FP32, Graph, Program, Tile
from step.errors import FormatError


def test_a_name_that_is_there_twice(tmp_path: Path) -> None:
    graph = Graph("once")
    graph.source("x", Tile(FP32), [2]).sink("y")
    path = tmp_path / "p.json"
    Program(graph, {"x": np.ones(2)}).save(path)
    path.write_text(path.read_text().replace('"tolerance"', '"tolerance": 9, "tolerance"'))
    with pytest.raises(FormatError) as error:
        step.load_program(path)
    assert str(error.value) == f"{path} is no JSON: 'tolerance' is there twice in one object"
