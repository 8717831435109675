"""A source that is fed from memory gets the tokens of the simulation, header for header."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Const, Module, ResetSignal, Signal
from amaranth.sim import Simulator
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import memory
from raising import raising
from streams import nested, netlist_of, tokens_of, wanted

from hw.dma import images
from hw.dma.images import source_images
from hw.dma.source import SourceDma
from hw.links.layout import output_formats
from step.errors import InputError
from step.language.dims import DimKind, symbol
from step.language.dtypes import BF16, FP32, INT32
from step.language.graph import Graph
from step.language.types import Selector, Tile, Tuple
from step.lowering.dma import LEAST_AHEAD, MOST_REQUESTS, source_plan
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower

RAGGED = "input 'x': stream x of shape [D0, 4]: token 6 ends a dimension of extent 4 after 3"


def fed(netlist: Netlist, data: Any, seed: int = 1, reset_at: int | None = None, **changed: bytes) -> list[int]:
    """The transfers that the source gets, up to Done."""
    random, node = Random(seed), netlist.graph.nodes["x"]
    (format,), plan = output_formats(node, netlist), source_plan(netlist, node)
    tokens = tokens_of(netlist, data)
    images = source_images(tokens, node.output_types[0].element, plan, format) | changed
    dma, clear, got = SourceDma(plan, format, LEAST_AHEAD), Signal(), list[int]()
    due = {part: deque[int]() for part in plan.parts}
    ports = [getattr(dma, f"{part}_{way}") for part in plan.parts for way in ("request", "response")]
    top = Module()
    top.domains.sync = ClockDomain()
    top.submodules.dma = dma
    top.d.comb += ResetSignal().eq(clear)

    async def bench(ctx: Any) -> None:
        for cycle in range(4000):
            ctx.set(dma.o.tready, random.random() < 0.6)
            waits = ctx.get(clear) and (any(due.values()) or any(ctx.get(each.valid) for each in ports))
            ctx.set(clear, cycle == reset_at or waits)
            names = ("tvalid", "tready", "tdata", "tlast", "tuser")
            _, _, *seen, fault = await ctx.tick().sample(*(getattr(dma.o, each, Const(0)) for each in names), dma.fault)
            assert not fault, "the lengths stand for more than is there"
            if ctx.get(clear):
                got.clear()
            elif seen[0] and seen[1]:
                got.append((seen[2] << 1 | seen[3]) << format.header_bits | seen[4])
                if seen[4] & 1 and not (reset_at is not None and cycle < reset_at):
                    return
        raise AssertionError("there is no Done")

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    for part in plan.parts:
        request, response = getattr(dma, f"{part}_request"), getattr(dma, f"{part}_response")
        simulator.add_process(memory(request, response, images[part], plan.beat_bytes, random, due[part]))
    simulator.add_testbench(bench)
    simulator.run()
    return got


@given(
    extents=st.lists(st.one_of(st.none(), st.integers(1, 3)), min_size=1, max_size=4),
    rows=st.one_of(st.none(), st.integers(1, 3)),
    dtype=st.sampled_from([BF16, FP32, INT32]),
    link=st.sampled_from([4, 8]),
    beat=st.sampled_from([1, 4, 16]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_any_shape(extents: list[int | None], rows: int | None, dtype: Any, link: int, beat: int, seed: int) -> None:
    element = Tile(dtype, symbol("R", DimKind.RAGGED) if rows is None else rows, 3)
    netlist = netlist_of(element, extents, link, beat)
    data = nested(Random(seed), extents, (rows, 3))
    assert fed(netlist, data, seed) == wanted(netlist, data)


def test_empties_of_all_ranks() -> None:
    netlist = netlist_of(Tile(BF16, 1, 1), [None] * 4)
    data: Any = [[[[1], []], []], [], [[[]]], [[[2, 3]], [[], [4]]]]
    assert fed(netlist, data) == wanted(netlist, data)


def test_nothing_at_all() -> None:
    netlist = netlist_of(Tile(BF16, 1, 1), [None, 2])
    assert fed(netlist, []) == wanted(netlist, [])


@pytest.mark.parametrize("targets", [3, 8, 40])
def test_selectors(targets: int) -> None:
    netlist = netlist_of(Selector(targets), [None, 2])
    data = [[1, 2], [0, targets - 1]]
    assert fed(netlist, data) == wanted(netlist, data)


def test_tuples() -> None:
    netlist = netlist_of(Tuple((Tile(BF16, 1, 3), Tile(INT32, 2, 1))), [2, None])
    data = [[(np.ones((1, 3)), np.array([[1], [2]]))], []]
    assert fed(netlist, data) == wanted(netlist, data)


def test_values_that_nobody_reads() -> None:
    graph = Graph("fed")
    dim = graph.symbol("D0", ragged=True)
    graph.load(
        graph.tensor("t", (4, 4), BF16), reference=graph.source("x", Tile(BF16, 2, 2), [dim, 2]), tile=(4, 4)
    ).sink("y")
    netlist, data = lower(graph, FabricConfig()), [np.zeros((2, 2, 2))] * 3
    assert source_plan(netlist, graph.nodes["x"]).word_bytes == 0
    assert fed(netlist, data) == wanted(netlist, data)


def test_a_reset_may_come_in_any_cycle() -> None:
    netlist = netlist_of(Tile(BF16, 2, 3), [3, None])
    data = nested(Random(5), [3, None], (2, 3))
    for cycle in range(1, 60, 3):
        assert fed(netlist, data, cycle, cycle) == wanted(netlist, data)


def test_lengths_that_do_not_sum_up_are_a_fault() -> None:
    netlist = netlist_of(Tile(INT32, 1, 1), [None], beat=4)
    list = np.array([1, 1, 17], "<u4").tobytes() + bytes(52)  # of the 16 values in a request
    with pytest.raises(AssertionError, match="the lengths stand for more than is there"):
        fed(netlist, [np.full((1, 1), at) for at in range(16)], list=list)


def test_a_list_that_counts_more_than_there_are_addresses_is_a_fault() -> None:
    netlist = netlist_of(Tile(INT32, 1, 1), [None], beat=4)
    list = np.array([1, MOST_REQUESTS + 2, 17], "<u4").tobytes() + bytes(52)  # is taken for one request
    with pytest.raises(AssertionError, match="the lengths stand for more than is there"):
        fed(netlist, [np.full((1, 1), at) for at in range(16)], list=list)


def test_data_that_dma_does_not_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_REQUESTS", 3)
    netlist = netlist_of(Tile(INT32, 1, 1), [None], beat=4)
    assert fed(netlist, np.ones((48, 1, 1)))
    with pytest.raises(InputError) as error:
        fed(netlist, np.ones((49, 1, 1)))
    said = "source 'x': its values take 256 bytes of memory, more than the 192 that DMA reaches"
    assert str(error.value) == said


@cases(
    (np.ones((3, 2, 2, 3)), "input 'x' must have the dimensions [D0, 4], not [3, 2]"),
    (np.ones((3, 4, 2, 2)), "input 'x' must have shape [D0, 4, 2, 3], not [3, 4, 2, 2]"),
    ([[np.ones((2, 3))] * 4, [np.ones((2, 3))] * 3], RAGGED),
)
def test_data_of_another_shape(data: Any, text: str) -> None:
    netlist = netlist_of(Tile(BF16, 2, 3), [None, 4])
    with raising(InputError, text):
        fed(netlist, data)
