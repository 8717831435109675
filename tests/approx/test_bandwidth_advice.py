"""Why a run does not reach the memory's bandwidth: the exact text, and that what it advises raises the bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from cases import cases
from programs_of_one_kind import memory_bound

from sim_approx.explain.explanation import explain
from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile, load_program
from step.lowering.fabric import with_settings


def copies(fabric: FabricConfig, loads: int, tile: tuple[int, int], tiles: int) -> Program:
    """So many loads, each of so many tiles, which are stored elsewhere."""
    graph, data = Graph("copies"), {}
    for number in range(loads):
        shape = (tiles * tile[0], tile[1])
        data[f"t{number}"] = np.ones(shape)
        graph.load(graph.tensor(f"t{number}", shape, BF16), tile=tile).store(f"c{number}")
    return Program(graph, data, fabric)


def few_outstanding() -> Program:
    return copies(FabricConfig(outstanding=2, memory=MemoryConfig(latency=60)), 4, (16, 16), 64)


def few_ports() -> Program:
    return copies(FabricConfig(outstanding=16), 2, (64, 64), 16)


def one_channel_at_a_time() -> Program:
    """Loads and stores that each have a channel of their own, slower than they are."""
    return copies(FabricConfig(outstanding=16, memory=MemoryConfig(interleave=1024, interval=4)), 2, (16, 16), 32)


def short_bursts() -> Program:
    """Tiles of four beats at random places of HBM2."""
    graph, data, random = Graph("gather"), dict[str, np.ndarray](), np.random.default_rng(0)
    for number in range(16):
        data[f"t{number}"] = np.ones((16 * 2048, 8))
        data[f"a{number}"] = random.permutation(2048)[:64].astype(np.uint32).reshape(64, 1, 1)
        addresses = graph.source(f"a{number}", Tile(UINT32, 1, 1), [64])
        tensor = graph.tensor(f"t{number}", (16 * 2048, 8), BF16)
        addresses.load_random(tensor, tile=(16, 8)).sink(f"y{number}")
    return Program(graph, data, FabricConfig(outstanding=32, memory=MemoryConfig.preset("hbm2")))


@cases(
    (few_outstanding,
     "22.1% used, as too few requests are outstanding: 2 tiles of 8 beats a load, where 60 cycles of latency "
     "want 9: --set fabric.outstanding=9"),
    (few_ports,
     "45.9% used, as a load or store moves a beat of 64 bytes a cycle, for which 97.5% of the path waits: 4 of "
     "them move 256 at most, of 512 bytes a cycle: --set memory.beat_bytes=128 --set fabric.link_bytes=128"),
    (one_channel_at_a_time,
     "46.5% used, as beats that come together meet in one memory channel: the fullest has 2.1 times the mean; "
     "1.0 times with: --set memory.interleave=1"),
    (short_bursts,
     "25.4% used, as bursts are short: 1.1 beats of a row come together, where 4 are wanted, as four rows may "
     "be opened in 30 clocks and a beat has 2; 4.1 with: --set memory.interleave=4"),
    ids=["outstanding", "ports", "channels", "bursts"],
)  # fmt: skip
def test_what_is_advised_raises_the_bandwidth(program: Callable[[], Program], text: str) -> None:
    made = program()
    found = explain(made)
    assert found.advice is not None and found.advice.text == f"bandwidth: {text}"
    followed = explain(replace(made, fabric=with_settings(made.fabric, found.advice.settings)), changes=False)
    moved = [each.usage.roofline.bytes_moved / each.cycles for each in (found, followed)]
    assert moved[1] > 1.5 * moved[0]
    # It is among what was tried.
    tried = {each.text: each.cycles for each in found.what_if}
    assert tried[" ".join(f"--set {each}" for each in found.advice.settings)] == followed.cycles


def test_where_nothing_is_wrong_it_says_so() -> None:
    found = explain(memory_bound(20), changes=False)
    assert found.advice is not None and found.advice.text == (
        "bandwidth: 96.2% used, which is all that there is; for more, --set memory.channels=2"
    )
    found = explain(load_program("examples/swiglu.py"), changes=False)
    assert found.advice is not None and found.advice.text == (
        "bandwidth: 4.7% used, as there is no demand: the critical path waits for memory in 2.3% of the cycles, most "
        "of it goes to gate_projection (works)"
    )
    assert not found.advice.settings


def test_a_program_without_memory_gets_no_advice(graph: Graph) -> None:
    graph.source("x", Tile(BF16, 4, 4), [4]).sink("y")
    found = explain(Program(graph, {"x": np.ones((4, 4, 4), np.float32)}, FabricConfig()), changes=False)
    assert found.advice is None
