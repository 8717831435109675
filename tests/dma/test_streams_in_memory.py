"""Streams in memory: a source gets the tokens of the simulation, header for header, and a sink leaves those it had."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Const, Module, ResetSignal, Signal
from amaranth.sim import Simulator
from cases import cases
from driving import drive
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import memory
from raising import raising
from streams import nested, netlist_of, tokens_of, wanted

from hw.dma import images
from hw.dma.images import sink_tokens, source_images
from hw.dma.sink import PARTS, SinkDma
from hw.dma.source import SourceDma
from hw.links.layout import input_formats, output_formats
from hw.links.packing import pack_transfers
from step.errors import InputError
from step.language.dims import DimKind, symbol
from step.language.dtypes import BF16, FP32, INT32
from step.language.graph import Graph
from step.language.tokens import Token
from step.language.types import Selector, Tile, Tuple
from step.lowering.dma import LEAST_AHEAD, MOST_REQUESTS, REQUEST, sink_plan, source_plan
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower

RAGGED = "input 'x': stream x of shape [D0, 4]: token 6 ends a dimension of extent 4 after 3"


def clearable(dma: Any) -> tuple[Module, Signal]:
    """A module with ``dma`` and a reset of its own."""
    top, clear = Module(), Signal()
    top.domains.sync = ClockDomain()
    top.submodules.dma = dma
    top.d.comb += ResetSignal().eq(clear)
    return top, clear


def fed(netlist: Netlist, data: Any, seed: int = 1, reset_at: int | None = None, **changed: bytes) -> list[int]:
    """The transfers that the source gets, up to Done."""
    random, node = Random(seed), netlist.graph.nodes["x"]
    (format,), plan = output_formats(node, netlist), source_plan(netlist, node)
    tokens = tokens_of(netlist, data)
    images = source_images(tokens, node.output_types[0].element, plan, format) | changed
    dma, got = SourceDma(plan, format, LEAST_AHEAD), list[int]()
    top, clear = clearable(dma)
    due = {part: deque[int]() for part in plan.parts}
    ports = [getattr(dma, f"{part}_{way}") for part in plan.parts for way in ("request", "response")]

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


def written(netlist: Netlist, data: Any, seed: int = 1, reset_at: int | None = None) -> dict[str, bytearray]:
    """The regions after a run; that of the list begins with zeros."""
    random, node = Random(seed), netlist.graph.nodes["y"]
    (format,), plan = input_formats(node, netlist), sink_plan(netlist, node)
    dma = SinkDma(plan, format)
    top, clear = clearable(dma)
    regions, beats = {part: bytearray(plan.request_bytes) for part in PARTS}, dict.fromkeys(PARTS, 0)

    async def bench(ctx: Any) -> None:
        for part in PARTS:
            ctx.set(getattr(dma, f"{part}_limit"), 1 << 20)
        left, mask = wanted(netlist, data), (1 << format.header_bits) - 1
        stores = [getattr(dma, f"{part}_store") for part in PARTS]
        for cycle in range(6000):
            offers = bool(left) and random.random() < 0.7
            ctx.set(dma.i.tvalid, offers)
            if offers:
                ctx.set(dma.i.tuser, left[0] & mask)
                ctx.set(dma.i.tlast, left[0] >> format.header_bits & 1)
                ctx.set(dma.i.tdata, left[0] >> format.header_bits + 1)
            for store in stores:
                ctx.set(store.ready, random.random() < 0.7)
            waits = ctx.get(clear) and any(ctx.get(store.valid) for store in stores)
            ctx.set(clear, cycle == reset_at or waits)
            seen = [each for store in stores for each in (store.valid, store.ready, store.payload)]
            _, _, taken, done, *moves = await ctx.tick().sample(dma.i.tready, dma.done, *seen)
            for at, part in enumerate(PARTS):
                valid, ready, payload = moves[3 * at : 3 * at + 3]
                assert valid or beats[part] % REQUEST == 0 or reset_at is not None, "a request waits for its rest"
                if valid and ready:
                    place = payload.address * plan.beat_bytes
                    regions[part].extend(bytes(max(0, place + plan.beat_bytes - len(regions[part]))))
                    regions[part][place : place + plan.beat_bytes] = payload.data.to_bytes(plan.beat_bytes, "little")
                    beats[part] += 1
            if ctx.get(clear):
                left = wanted(netlist, data)
            elif offers and taken:
                left.pop(0)
            if done and not ctx.get(clear) and (reset_at is None or cycle > reset_at):
                return
        raise AssertionError("it is not done")

    drive(top, bench)
    assert reset_at is not None or all(each % REQUEST == 0 for each in beats.values())
    return regions


def read(netlist: Netlist, regions: dict[str, bytearray]) -> list[Token]:
    """The tokens that the host makes of them."""
    node = netlist.graph.nodes["y"]
    images = {part: bytes(each) for part, each in regions.items()}
    return sink_tokens(images, node.inputs[0].element, sink_plan(netlist, node), *input_formats(node, netlist))


def sunk(netlist: Netlist, data: Any, seed: int = 1, reset_at: int | None = None) -> list[int]:
    """The transfers that the host makes of what the sink wrote."""
    node = netlist.graph.nodes["y"]
    tokens, (format,) = read(netlist, written(netlist, data, seed, reset_at)), input_formats(node, netlist)
    return [part for each in tokens for part in pack_transfers(each, node.inputs[0].element, format)]


Way = Callable[..., list[int]]
ways = pytest.mark.parametrize("way", [fed, sunk])


@ways
@given(
    extents=st.lists(st.one_of(st.none(), st.integers(1, 3)), min_size=1, max_size=4),
    rows=st.one_of(st.none(), st.integers(1, 3)),
    dtype=st.sampled_from([BF16, FP32, INT32]),
    link=st.sampled_from([4, 8]),
    beat=st.sampled_from([1, 4, 16]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_any_shape(
    way: Way, extents: list[int | None], rows: int | None, dtype: Any, link: int, beat: int, seed: int
) -> None:
    element = Tile(dtype, symbol("R", DimKind.RAGGED) if rows is None else rows, 3)
    netlist = netlist_of(element, extents, link, beat)
    data = nested(Random(seed), extents, (rows, 3))
    assert way(netlist, data, seed) == wanted(netlist, data)


@ways
@cases(
    (Tile(BF16, 1, 1), [None] * 4, [[[[1], []], []], [], [[[]]], [[[2, 3]], [[], [4]]]]),
    (Tile(BF16, 1, 1), [None, 2], []),
    *((Selector(targets), [None, 2], [[1, 2], [0, targets - 1]]) for targets in (3, 8, 40)),
    (Tuple((Tile(BF16, 1, 3), Tile(INT32, 2, 1))), [2, None], [[(np.ones((1, 3)), np.array([[1], [2]]))], []]),
    ids=["empties of all ranks", "nothing at all", "three targets", "eight targets", "forty targets", "tuples"],
)
def test_a_stream(element: Any, extents: list[int | None], data: Any, way: Way) -> None:
    netlist = netlist_of(element, extents)
    assert way(netlist, data) == wanted(netlist, data)


@ways
def test_a_reset_may_come_in_any_cycle(way: Way) -> None:
    netlist, data = netlist_of(Tile(BF16, 2, 3), [3, None]), nested(Random(5), [3, None], (2, 3))
    for cycle in range(1, 60, 3):
        assert way(netlist, data, cycle, cycle) == wanted(netlist, data)


def test_values_that_nobody_reads() -> None:
    graph = Graph("fed")
    dim = graph.symbol("D0", ragged=True)
    graph.load(
        graph.tensor("t", (4, 4), BF16), reference=graph.source("x", Tile(BF16, 2, 2), [dim, 2]), tile=(4, 4)
    ).sink("y")
    netlist, data = lower(graph, FabricConfig()), [np.zeros((2, 2, 2))] * 3
    assert source_plan(netlist, graph.nodes["x"]).word_bytes == 0
    assert fed(netlist, data) == wanted(netlist, data)


@cases((1, 17), (MOST_REQUESTS + 2, 17), ids=["more values", "more addresses, taken for one request"])
def test_a_list_that_stands_for_more_than_there_is(requests: int, values: int) -> None:
    """Than the 16 values of a request."""
    netlist = netlist_of(Tile(INT32, 1, 1), [None], beat=4)
    list = np.array([1, requests, values], "<u4").tobytes() + bytes(52)
    with pytest.raises(AssertionError, match="the lengths stand for more than is there"):
        fed(netlist, [np.full((1, 1), at) for at in range(16)], list=list)


def test_data_that_dma_does_not_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_REQUESTS", 3)
    netlist = netlist_of(Tile(INT32, 1, 1), [None], beat=4)
    assert fed(netlist, np.ones((48, 1, 1)))
    with raising(InputError, "source 'x': its values take 256 bytes of memory, more than the 192 that DMA reaches"):
        fed(netlist, np.ones((49, 1, 1)))


@cases(
    (np.ones((3, 2, 2, 3)), "input 'x' must have the dimensions [D0, 4], not [3, 2]"),
    (np.ones((3, 4, 2, 2)), "input 'x' must have shape [D0, 4, 2, 3], not [3, 4, 2, 2]"),
    ([[np.ones((2, 3))] * 4, [np.ones((2, 3))] * 3], RAGGED),
)
def test_data_of_another_shape(data: Any, text: str) -> None:
    netlist = netlist_of(Tile(BF16, 2, 3), [None, 4])
    with raising(InputError, text):
        fed(netlist, data)


def test_a_list_that_is_not_there_or_does_not_sum_up() -> None:
    netlist = netlist_of(Tile(INT32, 1, 1), [None])
    regions = written(netlist, [1, 2, 3])
    assert np.frombuffer(regions["list"], "<u4", 2).tolist() == [1, 3]
    regions["list"][4] = 5
    with raising(InputError, "the lengths of sink 'y' stand for 3 values, not for 5"):
        read(netlist, regions)
    regions["list"][0] = 0
    with raising(InputError, "sink 'y' has not ended: its list begins with 0"):
        read(netlist, regions)
