"""Off-chip traffic: what memory counts is what the symbolic metric says, on both engines, however a run ends."""

from __future__ import annotations

import numpy as np
import pytest
from cases import cases
from scenarios import FABRIC, SCENARIOS, Scenario

from sim_approx.running.model_run import EngineName
from step import Program, Simulator
from step.language.dtypes import BF16, BOOL, FP32, DType
from step.language.graph import Graph
from step.language.symbols import evaluate, measure
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.running.interpreter import interpret
from step.running.result import Status, TrafficResult
from step.running.traffic import tile_bytes

ENGINES: tuple[EngineName, ...] = ("compiled", "python")
NARROW = FabricConfig(memory=MemoryConfig(beat_bytes=4, channels=2))
AT_MEMORY = [each for each in SCENARIOS if "off_chip" in each.operator]


@pytest.mark.parametrize("scenario", AT_MEMORY, ids=str)
def test_bytes_are_those_of_the_symbolic_metric(scenario: Scenario) -> None:
    netlist, inputs = scenario.lowered()
    graph = netlist.graph
    result, other = (Simulator(graph, inputs=inputs, fabric=FABRIC, engine=engine).run().result for engine in ENGINES)
    assert result.traffic == other.traffic
    meaning = interpret(graph, inputs, arrivals=result.arrivals)
    symbols = measure(graph, meaning.checkers)
    moved = {node.name: evaluate(node.operator.off_chip_bytes(node), symbols, graph) for node in graph}
    assert {name: each.bytes for name, each in result.traffic.items()} == {
        node.name: moved[node.name] for node in graph if node.operator.reads(node) or node.operator.writes(node)
    }


def copying() -> Program:
    """Six tiles of ten bytes are loaded and stored in three beats each, of which the last one is half full."""
    graph = Graph("copying")
    graph.load(graph.tensor("x", (6, 5), BF16), tile=(1, 5), name="load").store("store")
    return Program(graph, {"x": np.ones((6, 5))}, NARROW)


def test_what_is_read_and_written() -> None:
    result = Simulator(copying()).run().result
    assert result.traffic == {"load": TrafficResult(60, 0, 18), "store": TrafficResult(0, 60, 18)}
    assert result.off_chip_bytes == 120


@cases(
    (BF16, 5, 0, 0),
    (BF16, 5, 1, 4),
    (BF16, 5, 2, 8),
    (BF16, 5, 3, 10),
    (BF16, 5, 4, 14),
    (FP32, 2, 5, 20),
    (BOOL, 40, 1, 32),  # of which a beat of four bytes has 32, and the metric a byte for each
    (BOOL, 40, 2, 40),
)
def test_a_tile_that_is_cut_off_counts_its_whole_scalars(dtype: DType, cols: int, beats: int, expected: int) -> None:
    assert tile_bytes(Tile(dtype, 1, cols), beats, NARROW.memory) == expected


def test_a_scalar_wider_than_a_beat_counts_with_its_last_one() -> None:
    counted = [tile_bytes(Tile(FP32), beats, MemoryConfig(beat_bytes=1)) for beats in range(6)]
    assert counted == [0, 0, 0, 0, 4, 4]


def test_a_run_that_is_cut_off_counts_the_beats_before() -> None:
    """Both engines in every cycle; a beat passes in a cycle at most, and never comes back."""
    simulators = [Simulator(copying(), engine=engine) for engine in ENGINES]
    cycles = simulators[0].run().cycles
    before = 0
    for limit in range(1, cycles + 1):
        one, other = (each.attempt(max_cycles=limit).result for each in simulators)
        assert one.status is (Status.RUNAWAY if limit < cycles else Status.FINISHED)
        assert one.traffic == other.traffic
        beats = sum(each.beats for each in one.traffic.values())
        assert 0 <= beats - before <= len(one.traffic)
        before = beats
    assert before == 36


def test_what_is_loaded_behind_the_end_counts() -> None:
    """Nobody reads the second load, so the run ends long before it; the metric has all of it."""
    copies = copying()
    graph, inputs = copies.graph, copies.inputs
    graph.load(graph.tensor("w", (1, 2), BF16), tile=(1, 2), out=(500,), stride=(0,), name="unread")
    for engine in ENGINES:
        result = Simulator(Program(graph, {**inputs, "w": np.ones((1, 2))}, NARROW), engine=engine).run().result
        assert result.cycles < 500
        assert result.traffic["unread"] == TrafficResult(2000, 0, 500)


def test_repetitions_that_are_jumped_over_count(graph: Graph) -> None:
    graph.load(graph.tensor("x", (4000, 3), BF16), tile=(1, 3), name="load").store("store")
    program = Program(graph, {"x": np.broadcast_to(np.zeros((), BF16.numpy), (4000, 3))}, NARROW)
    simulator = Simulator(program, engine="compiled")
    jumped, gone_through = simulator.run().result, simulator.run(jump=False).result
    assert jumped.jumped_cycles > 1000 and not gone_through.jumped_cycles
    assert jumped.traffic == gone_through.traffic
    assert jumped.traffic == {"load": TrafficResult(24000, 0, 8000), "store": TrafficResult(0, 24000, 8000)}


def test_a_program_without_off_chip_memory(graph: Graph) -> None:
    graph.source("x", Tile(FP32), [2]).sink("y")
    result = Simulator(Program(graph, {"x": [1, 2]}, FABRIC)).run().result
    assert (result.traffic, result.off_chip_bytes) == ({}, 0)
