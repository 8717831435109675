"""A store of any number of tiles has room for so many, on every back end that has a fabric."""

from __future__ import annotations

import numpy as np
import pytest

import step
from step import INT8, Graph, Program, Tile
from step.errors import StreamFault
from step.lowering.memory import DYNAMIC_TILES
from step.running.result import Status

NO_ROOM = (
    "it wrote 16,385 tiles, but a store whose number of tiles only a run tells has room for 16,384 in off-chip memory: "
    "declare the extents with assume_shape, or end the stream with sink"
)


def stored(tiles: int) -> Program:
    graph = Graph("long")
    graph.source("x", Tile(INT8), [graph.symbol("N")]).store("y")
    return Program(graph, {"x": np.zeros(tiles, np.int8)})


def test_all_that_there_is_room_for() -> None:
    assert step.run(stored(DYNAMIC_TILES), "approx").result.status == Status.FINISHED


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_tile_more(engine: str) -> None:
    with pytest.raises(StreamFault) as error:
        step.run(stored(DYNAMIC_TILES + 1), "approx", engine=engine)
    assert str(error.value).endswith(NO_ROOM) and error.value.result.status == Status.FAULT


@pytest.mark.slow
def test_a_tile_more_in_hardware() -> None:
    with pytest.raises(StreamFault) as error:
        step.run(stored(DYNAMIC_TILES + 1), "rtl")
    assert str(error.value).endswith(NO_ROOM)
