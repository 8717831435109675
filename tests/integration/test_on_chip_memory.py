"""On-chip memory in RTL and timing model: what it is used for, and what happens when there is too little."""

from __future__ import annotations

import numpy as np
import pytest
from everywhere import TIMED, failed, faults, text

from cosim.comparing.buffers import compare_buffers
from sim_approx import backend as approx
from step.errors import Deadlock
from step.functions.retile import RetileRow, RetileStreamify
from step.language.dtypes import FP32, INT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.running.interpreter import bind

HERE = "(test_on_chip_memory.py:LINE)"
SMALL = FabricConfig(link_bytes=16, page_bytes=64, scratchpad_bytes=64 * 16)


def test_the_peak_is_what_the_metric_says() -> None:
    """A page holds a tile here; one buffer is filled while the other one is read, and that is all there ever is."""
    graph = Graph("peaks")
    x = graph.source("x", Tile(FP32, 4, 4), [4, 6])
    x.bufferize(name="b").streamify(count=3).sink("y")
    x.bufferize(name="small").streamify().sink("z")
    ragged = graph.source("w", Tile(FP32, 1, 4), [graph.symbol("N"), graph.symbol("R", ragged=True)])
    ragged.bufferize(name="ragged").streamify(count=2).sink("v")
    rows = [np.ones((count, 1, 4)) for count in (3, 0, 9, 1)]
    inputs = {"x": np.ones((4, 6, 4, 4)), "w": rows}
    model, exact = (run(graph, inputs, SMALL) for run in TIMED.values())
    peaks = compare_buffers(lower(graph, SMALL), exact, model, bind(graph, inputs))
    assert [(each.name, each.difference) for each in peaks] == [
        ("b", None), ("ragged", None), ("small", None), ("all buffers", None)
    ]  # fmt: skip
    assert exact.buffers == model.buffers and exact.buffer_bytes == model.buffer_bytes
    assert exact.buffers["b"] == 2 * 6 * 64
    node = graph.nodes["b"]
    assert node.operator.on_chip_bytes(node, "paper") == 64 + exact.buffers["b"]
    # Rows of nine tiles take three pages of four.
    assert 3 * 64 <= exact.buffers["ragged"] <= 4 * 64
    assert max(exact.buffers.values()) < exact.buffer_bytes <= sum(exact.buffers.values())


def test_a_buffer_that_grows_too_large(graph: Graph) -> None:
    """Sixteen pages of four tiles: the 65th has no place, whatever is read."""
    x = graph.source("x", Tile(FP32, 1, 4), [graph.symbol("N"), graph.symbol("R", ragged=True)])
    x.bufferize(name="b").streamify().sink("y")
    inputs = {"x": [np.ones((3, 1, 4)), np.ones((64, 1, 4)), np.ones((65, 1, 4)), np.ones((1, 1, 4))]}
    wanted = (
        f"bufferize 'b' {HERE}: a buffer is larger than its scratchpad of 1024 bytes\n"
        "  token 131 of x is a value with S1"
    )
    model, exact = faults(graph, inputs, SMALL, wanted, untimed=False)
    assert exact.cycles == model.cycles
    assert exact.buffers == model.buffers == {"b": 1024}


DEADLOCK = """\
deadlock: from cycle 52 on nothing can move, and 8 of 8 operators are not finished
no depths clear it: on-chip memory is full of buffers that wait for each other; make them smaller, or choose a fabric \
with more scratchpad_bytes, or with fewer scratchpad_ports, so that fewer share one
who waits for what:
  source 'x' {here} waits for space in x -> x_broadcast (depth 2, full)
  broadcast 'x_broadcast' {here} waits for space in x_broadcast.0 -> a (depth 2, full)
  broadcast 'x_broadcast' {here} waits for space in x_broadcast.1 -> b (depth 2, full)
  bufferize 'a' {here} waits for a page of scratchpad 0, whose 16 pages are taken: 8 by a, 8 by b; read_b \
has to free some
  streamify 'read_a' {here} waits for a token of a -> read_a (depth 2, empty)
  bufferize 'b' {here} waits for a page of scratchpad 0, whose 16 pages are taken: 8 by a, 8 by b; read_a \
has to free some
  streamify 'read_b' {here} waits for a token of b -> read_b (depth 2, empty)
  zip 'pairs' {here} waits for a token of read_a -> pairs (depth 2, empty)
  zip 'pairs' {here} waits for a token of read_b -> pairs (depth 2, empty)
  sink 'y' {here} waits for a token of pairs -> y (depth 2, empty)
the cycle of waits:
  a waits for a page of scratchpad 0, whose 16 pages are taken: 8 by a, 8 by b; read_b has to free some
  read_b waits for a token of b -> read_b (depth 2, empty)
  b waits for a page of scratchpad 0, whose 16 pages are taken: 8 by a, 8 by b; read_a has to free some
  read_a waits for a token of a -> read_a (depth 2, empty)"""


def waiting() -> Graph:
    """Two buffers of nine pages each in a scratchpad of sixteen."""
    graph = Graph("waiting")
    x = graph.source("x", Tile(INT32, 1, 4), [1, 36])
    first = x.bufferize(name="a").streamify(name="read_a")
    second = x.bufferize(name="b").streamify(name="read_b")
    first.zip(second, name="pairs").sink("y")
    return graph


def test_buffers_that_wait_for_each_other() -> None:
    inputs = {"x": np.ones((1, 36, 1, 4), np.int32)}
    for run in TIMED.values():
        result = failed(Deadlock, run, waiting(), inputs, SMALL, wanted=DEADLOCK.format(here=HERE))
        assert (result.buffers, result.buffer_bytes) == ({"a": 512, "b": 512}, 1024)


def test_one_scratchpad_each_clears_it() -> None:
    result = approx.run(waiting(), {"x": np.ones((1, 36, 1, 4), np.int32)}, FabricConfig(
        link_bytes=16, page_bytes=64, scratchpad_bytes=64 * 16, scratchpad_ports=1))  # fmt: skip
    assert result.buffers == {"a": 576, "b": 576}


def test_a_third_buffer_waits_for_the_first(graph: Graph) -> None:
    """How often the first buffer is read is only known when the fourth one has come: memory alone does not help."""
    x = graph.source("x", Tile(INT32), [4, 2])
    late = x.flatten(0, 1).reshape(8, name="all")[0].accum(RetileRow(), name="last")
    x.bufferize(name="b").streamify(late.flat_map(RetileStreamify(2, "row", 0)), name="read").sink("y")
    with pytest.raises(Deadlock) as error:
        approx.run(graph, {"x": np.ones((4, 2), np.int32)}, SMALL)
    found = text(error.value).splitlines()
    assert f"  bufferize 'b' {HERE} waits for a buffer: 2 are filled, and read has read neither" in found
    assert any(each.startswith("  x_broadcast.1: 4 instead of 2 (input 0 of bufferize 'b'") for each in found[:4])


@pytest.mark.parametrize("tile", [Tile(INT32), Tile(INT32, 1, 4), Tile(FP32, 4, 4)], ids=str)
def test_shares_pass_side_by_side(tile: Tile) -> None:
    """A word a cycle each, as if every share had a scratchpad for itself, but for the cycle in which both begin."""

    def cycles(shares: int) -> int:
        graph = Graph("shares")
        inputs = {}
        for number in range(shares):
            x = graph.source(f"x{number}", tile, [20, 4])
            x.bufferize().streamify().sink(f"y{number}")
            inputs[f"x{number}"] = np.ones((20, 4, *tile.shape), tile.dtype.numpy)
        return approx.run(graph, inputs, SMALL).cycles

    alone, words = cycles(1), 80 * -(-tile.bits // 128)
    assert words < alone < words + 40
    assert alone <= cycles(2) <= alone + 1
