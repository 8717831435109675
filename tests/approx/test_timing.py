"""Token times worked out by hand, one small case per operator: what a wrong rule shared by both engines would miss.

Each case gives, for the streams named, the cycles in which tokens enter their channels. A source starts in cycle 0, and
a token that enters in t is read in t + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scenarios

from sim_approx.backend import run
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.functions.retile import RetileStreamify
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.lowering.plans.plan import Timing
from step.running.result import RunResult

FABRIC = FabricConfig(outstanding=2, memory=MemoryConfig(beat_bytes=2, channels=2, interval=2, latency=5))
NUMBER = Tile(BF16)


class Bench(scenarios.Bench):
    """A graph with its inputs; `times` runs it."""

    def __init__(self) -> None:
        super().__init__(Graph("hand"))

    def play(  # type: ignore[override]
        self, name: str, text: str, rank: int, element: Tile | Selector = NUMBER, like: Stream | None = None
    ) -> Stream:
        dims = [f"{name}{level}" for level in range(rank + 1)] if like is None else like.shape
        return super().play(name, text, dims, element)

    def run(self, interval: int = 1, latency: int = 0, **options: Any) -> RunResult:
        timing = Timing(interval, latency)
        return run(self.graph, self.inputs, FABRIC, events=True, timing_of=lambda *_: timing, **options)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def times(result: RunResult, name: str) -> list[int]:
    assert result.events is not None
    return [int(cycle) for cycle in result.events[name].cycles]


def test_source_sink(bench: Bench) -> None:
    bench.play("x", "1 2 D", 0).sink("y")
    result = bench.run()
    assert times(result, "x") == [0, 1, 2]
    assert result.cycles == 4  # the sink takes Done in cycle 3
    assert (result.operators["x"].busy, result.operators["x"].finished) == (3, 1)
    assert (result.operators["y"].starved, result.operators["y"].busy) == (1, 3)
    assert (result.channels["x"].tokens, result.channels["x"].peak, result.channels["x"].capacity) == (3, 1, 2)


def test_map_interval_and_latency(bench: Bench) -> None:
    """Fires at 1 and, with interval 3, at 4 (S1 rides); the empty at 7, Done at 8: each enters 4 later."""
    bench.play("x", "1 2 S1 E1 D", 1).map(Cast(BF16), name="m").sink("y")
    result = bench.run(interval=3, latency=4)
    assert times(result, "m") == [5, 8, 11, 12]
    assert times(result, "x") == [0, 1, 2, 4 + 1]  # depth 2: slots free from 1 (used from 2 on), 4 (from 5 on)
    assert result.channels["m"].capacity == 2 + 4 // 3
    assert result.operators["m"].busy == 3 + 3 + 1 + 1
    assert result.cycles == 14


def test_backpressure_reaches_the_source(bench: Bench) -> None:
    """A map of interval 4 fires at 1, 5, 9, then Done at 13."""
    bench.play("x", "1 2 3 D", 0).map(Cast(BF16), name="m").sink("y")
    result = bench.run(interval=4)
    assert times(result, "x") == [0, 1, 2, 6]
    assert times(result, "m") == [1, 5, 9, 13]
    assert result.operators["x"].blocked == 3  # cycles 3, 4, 5
    assert result.channels["x"].peak == 2


def test_zip_and_broadcast(bench: Bench) -> None:
    """The map's copy comes 3 cycles later than the direct one; the direct channel of depth 2 stalls the broadcast.

    A pair is two words: the zip fires at 6, 8, 12, 14 and takes Done at 18.
    """
    x = bench.play("x", "1 2 3 4 D", 0)
    x.map(Cast(BF16), name="m").zip(x, name="z").sink("y")
    result = bench.run(latency=3)
    assert times(result, "x_broadcast.0") == [1, 2, 7, 9, 9 + 4]
    assert times(result, "x_broadcast.1") == [1, 2, 7, 9, 9 + 4]
    assert times(result, "m") == [5, 6, 11, 13, 17]
    assert times(result, "z") == [6, 8, 12, 14, 18]


def test_accum(bench: Bench) -> None:
    """Takes a token a cycle from 1 on; emits at every stop from cycle 2 on, and at Done.

    The empty matrix holds no row, and stays empty; the two empty rows are reductions of nothing.
    """
    bench.play("x", "1 2 S2 E2 E1 E1 S2 D", 2).accum(Add(), name="a").sink("y")
    result = bench.run(latency=1)
    assert times(result, "a") == [3, 4, 5, 6, 7]
    assert result.events is not None
    assert list(result.events["a"].control) == [1 << 2 | 2, 1 << 2 | 1 << 6, 2, 1 << 2 | 2, 1]


def test_flat_map(bench: Bench) -> None:
    """Two pieces for each value: fires at 1, 2; 3, 4; the empty at 5; Done at 6."""
    x = bench.play("x", "1 2 S1 E1 D", 1, Tile(BF16, 2, 1))
    x.flat_map(RetileStreamify(1), name="f").sink("y")
    result = bench.run()
    assert times(result, "f") == [1, 2, 3, 4, 5, 6]
    assert result.events is not None
    assert [each >> 2 & 15 for each in result.events["f"].control] == [0, 0, 0, 1, 1, 0]


def test_flatten_holds_the_end_of_a_row(bench: Bench) -> None:
    """1 S1 is taken in 1 and put in 2, when 2 S2 is seen; that one cannot be held, and is put in 3."""
    bench.play("x", "1 S1 2 S2 D", 2).flatten(0, 1, name="f").sink("y")
    result = bench.run()
    assert times(result, "x") == [0, 1, 2]
    assert times(result, "f") == [2, 3, 4]
    assert result.cycles == 6


def test_reshape_fills_up(bench: Bench) -> None:
    """Chunks of 3 from two values: one element of padding in cycle 3, and then Done; the pad takes a cycle more."""
    data, _ = bench.play("x", "1 2 D", 0).reshape(3, name="r")
    data.sink("y")
    result = bench.run()
    assert times(result, "r") == [2, 3, 4, 5]
    assert result.events is not None
    assert list(result.events["r"].control) == [2, 2, 1 << 2 | 2, 1]


def test_promote(bench: Bench) -> None:
    """1 is held in cycle 1; put when 2 comes (2); 2 S1 when Done is seen (3); Done in 4."""
    bench.play("x", "1 2 D", 0).promote(name="p").sink("y")
    assert times(bench.run(), "p") == [2, 3, 4]


def test_expand_static_and_repeat(bench: Bench) -> None:
    bench.play("x", "1 2 D", 0).repeat(3, name="e").sink("y")
    result = bench.run()
    assert times(result, "e_chunks") == [1, 2, 4 + 1]
    assert times(result, "e") == [2, 3, 4, 5, 6, 7, 8]


def test_expand_by_reference(bench: Bench) -> None:
    """The sum enters at 4, its chunk of one at 5, the copy of it at 6; then a token per reference token."""
    reference = bench.play("r", "1 2 3 S1 D", 1)
    total = reference.accum(Add(), name="t").repeat(1, name="one")
    total.expand(reference.buffered(8), name="e").sink("y")
    result = bench.run()
    assert times(result, "t") == [4, 5]  # the broadcast puts at 1, 2, 3, 4; the sum is complete at 4
    assert times(result, "e") == [7, 8, 9, 10]


def test_partition(bench: Bench) -> None:
    """Selectors 1, 3, 0: a token goes to output 0, both, none."""
    x = bench.play("x", "1 2 3 D", 0)
    which = bench.play("which", "1 3 0 D", 0, Selector(2), like=x)
    first, second = x.partition(which, targets=2, name="p")
    first.sink("y0")
    second.sink("y1")
    result = bench.run()
    assert times(result, "p.0") == [1, 2, 4]
    assert times(result, "p.1") == [2, 4]


def test_reassemble_by_arrival(bench: Bench) -> None:
    """Both inputs chosen; input 1 comes first (chosen in 1, passes in 2), input 0 through a map of latency 6.

    That enters at 7 and is read at 8, and is chosen before, as nothing else is left. What follows is chosen in time.
    """
    which = bench.play("which", "3 3 D", 0, Selector(2))
    slow = bench.play("a", "1 2 D", 0).map(Cast(BF16), name="m")
    fast = bench.play("b", "3 4 D", 0)
    bench.graph.reassemble([slow, fast], which, name="r").sink("y")
    result = bench.run(latency=6)
    assert times(result, "r") == [2, 8, 9, 10, 11]
    assert result.arrivals["r"] == [1, 0, 1, 0]


@pytest.mark.parametrize("order, ports", [("arrival", [1, 0, 1, 0]), ("index", [0, 1, 0, 1])])
def test_reassemble_order(order: str, ports: list[int], bench: Bench) -> None:
    """In cycle 2 the second 4 has been there since cycle 2, and the 1 since 1: for the second selector 0 is older."""
    which = bench.play("which", "3 3 D", 0, Selector(2))
    slow = bench.play("a", "1 2 D", 0).map(Cast(BF16), name="m")
    fast = bench.play("b", "3 4 D", 0)
    bench.graph.reassemble([slow, fast], which, order=order, name="r").sink("y")
    assert bench.run(latency=6).arrivals["r"] == ports


def test_a_token_is_as_old_as_it_is_in_front(bench: Bench) -> None:
    """1 passes in 2, so 2 is in front since 3, and 9 (entered in 2) too: then it is the lower input's turn."""
    late = bench.play("late", "9 D", 0).map(Cast(BF16))
    merged, which = bench.graph.eager_merge([late, bench.play("early", "1 2 D", 0)], name="m")
    merged.sink("y")
    which.sink("which")
    result = bench.run(latency=1)
    assert times(result, "m") == [2, 4, 5, 6]
    assert result.arrivals["m"] == [1, 0, 1]


def test_load_once(bench: Bench) -> None:
    """Four tiles of 2 beats. The issue machine asks at 0 and 1; the memory sees request 0 in 1.

    Request 0: beat 0 (channel 0) granted at 1, beat 1 (channel 1) at 2, data at 7. Request 1: beat 2 (channel 0) at 3,
    beat 3 at 4, data at 9. Two may be in flight: the tile of 7 is delivered at 8, so a slot of pending is free in
    9; asked at 9, granted at 10 and 11, data at 16, delivered at 17. The other one is delivered at 10, asked at 11,
    granted at 12, 13, data at 18, delivered at 19. Done is put into pending at 18 and delivered at 20.
    """
    bench.inputs["t"] = np.zeros((2, 4))
    table = bench.graph.tensor("t", (2, 4), BF16)
    bench.graph.load(table, tile=(1, 2), name="l").sink("y")
    result = bench.run()
    assert times(result, "l") == [8, 10, 17, 19, 20]
    assert result.cycles == 22


def test_two_loads_share_a_channel(bench: Bench) -> None:
    """One beat each, on the same memory channel, every 2 cycles in turns: granted at 1, 3, 5, 7."""
    for name in "ab":
        bench.inputs[name] = np.zeros((1, 3))
        table = bench.graph.tensor(name, (1, 3), BF16)
        bench.graph.load(table, tile=(1, 1), out=(2,), stride=(2,), name=f"load_{name}").sink(f"y{name}")
    result = bench.run()
    assert times(result, "load_a")[:2] == [1 + 5 + 1, 5 + 5 + 1]
    assert times(result, "load_b")[:2] == [3 + 5 + 1, 7 + 5 + 1]


def test_store(bench: Bench) -> None:
    """A tile of two beats is put at 1 and 2, granted at 3 and 4, and visible at 9; Done is taken at 3."""
    bench.play("x", "1 D", 0, Tile(BF16, 1, 2)).store("y")
    result = bench.run()
    assert result.operators["y"].busy == 3
    assert result.cycles == 10


def test_runs_until_writes_are_visible(bench: Bench) -> None:
    bench.play("x", "D", 0).store("y")
    assert bench.run().cycles == 2
