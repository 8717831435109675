"""Off-chip memory with beats narrower than a word of the simulator: what is loaded and stored is what it was."""

from __future__ import annotations

import numpy as np
import pytest
from everywhere import TIMED, failed

from cosim.comparing.compare import compare
from step.errors import Runaway
from step.language.dtypes import BF16, BOOL, INT8, INT32, DType
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program

pytestmark = pytest.mark.large


def moving(beat_bytes: int) -> Program:
    """For each type: a tensor that is loaded and stored, and single numbers that are stored."""
    graph = Graph(f"beats_of_{beat_bytes}")
    inputs = {}
    random = np.random.default_rng(beat_bytes)
    for dtype in (INT8, BF16, BOOL, INT32):
        tensor, numbers = f"t_{dtype.name}", f"n_{dtype.name}"
        inputs[tensor], inputs[numbers] = values(random, (6, 9), dtype), values(random, (3, 1, 1), dtype)
        graph.load(graph.tensor(tensor, (6, 9), dtype), tile=(2, 3)).store(f"tiles_{dtype.name}")
        graph.source(numbers, Tile(dtype), [3]).store(f"scalars_{dtype.name}")
    graph.load(graph.tensor("w", (1, 3), BF16), tile=(1, 3), out=(500,), stride=(0,), name="unread")
    inputs["w"] = np.ones((1, 3))
    return Program(graph, inputs, FabricConfig(memory=MemoryConfig(beat_bytes, channels=2)))


def values(random: np.random.Generator, dims: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Values with both signs."""
    return random.integers(-100, 100, dims).astype(dtype.numpy) if dtype != BOOL else random.random(dims) < 0.5


@pytest.mark.parametrize("beat_bytes", [1, *(pytest.param(each, marks=pytest.mark.slow) for each in (2, 4))])
def test_loads_and_stores_with_narrow_beats(beat_bytes: int) -> None:
    found = compare(moving(beat_bytes), optimize=False)
    assert found.first_difference is None
    assert found.passed
    (behind_the_end,) = (each.exact for each in found.traffic if each.name == "unread")
    assert found.exact_cycles < behind_the_end.beats
    assert (behind_the_end.bytes, behind_the_end.beats) == (500 * 6, 500 * -(-6 // beat_bytes))


def test_beats_of_a_run_that_is_cut_off() -> None:
    """In the build of the test before."""
    program = moving(1)
    for limit in (10, 30, 31, 32, 33, 60):
        given = program.graph, program.inputs, program.fabric
        runs = [failed(Runaway, run, *given, max_cycles=limit).traffic for run in TIMED.values()]
        assert runs[0] == runs[1] and sum(each.beats for each in runs[0].values()) > limit // 2


@pytest.mark.parametrize("off_chip", [False, True], ids=["streams", "memory"])
def test_tiles_of_many_words_are_no_standstill(off_chip: bool, graph: Graph) -> None:
    """Nothing enters or leaves a channel for as long as a source, a store or a sink is busy with a tile."""
    if off_chip:
        graph.load(graph.tensor("x", (32, 16), BF16), tile=(16, 16)).store("y")
    else:
        graph.source("x", Tile(BF16, 16, 16), [2]).sink("y")
    data = np.ones((32, 16) if off_chip else (2, 16, 16))
    assert compare(Program(graph, {"x": data}, FabricConfig(link_bytes=1)), optimize=False).passed
