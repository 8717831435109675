"""What a sink writes to memory is the stream that it had."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from amaranth.hdl import ClockDomain, Module, ResetSignal, Signal
from driving import drive
from hypothesis import given, settings
from hypothesis import strategies as st
from raising import raising
from streams import nested, netlist_of, wanted

from hw.dma.images import sink_tokens
from hw.dma.sink import PARTS, SinkDma
from hw.links.layout import input_formats
from hw.links.packing import pack_transfers
from step.errors import InputError
from step.language.dims import DimKind, symbol
from step.language.dtypes import BF16, INT32
from step.language.tokens import Token
from step.language.types import Selector, Tile, Tuple
from step.lowering.dma import REQUEST, sink_plan
from step.lowering.netlist import Netlist


def written(netlist: Netlist, data: Any, seed: int = 1, reset_at: int | None = None) -> dict[str, bytearray]:
    """The regions after a run; that of the list begins with zeros."""
    random, node = Random(seed), netlist.graph.nodes["y"]
    (format,), plan = input_formats(node, netlist), sink_plan(netlist, node)
    dma, clear, top = SinkDma(plan, format), Signal(), Module()
    top.domains.sync = ClockDomain()
    top.submodules.dma = dma
    top.d.comb += ResetSignal().eq(clear)
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


def check(netlist: Netlist, data: Any, seed: int = 1, reset_at: int | None = None) -> None:
    """What is read is what was sent."""
    node = netlist.graph.nodes["y"]
    tokens, (format,) = read(netlist, written(netlist, data, seed, reset_at)), input_formats(node, netlist)
    got = [part for each in tokens for part in pack_transfers(each, node.inputs[0].element, format)]
    assert got == wanted(netlist, data)


@given(
    extents=st.lists(st.one_of(st.none(), st.integers(1, 3)), min_size=1, max_size=4),
    rows=st.one_of(st.none(), st.integers(1, 3)),
    dtype=st.sampled_from([BF16, INT32]),
    link=st.sampled_from([4, 8]),
    beat=st.sampled_from([1, 4, 16]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_any_shape(extents: list[int | None], rows: int | None, dtype: Any, link: int, beat: int, seed: int) -> None:
    element = Tile(dtype, symbol("R", DimKind.RAGGED) if rows is None else rows, 3)
    check(netlist_of(element, extents, link, beat), nested(Random(seed), extents, (rows, 3)), seed)


def test_empties_of_all_ranks() -> None:
    data: Any = [[[[1], []], []], [], [[[]]], [[[2, 3]], [[], [4]]]]
    check(netlist_of(Tile(BF16, 1, 1), [None] * 4), data)


def test_selectors_and_tuples() -> None:
    check(netlist_of(Selector(40), [None, 2]), [[1, 2], [0, 39]])
    check(
        netlist_of(Tuple((Tile(BF16, 1, 3), Tile(INT32, 2, 1))), [2, None]),
        [[(np.ones((1, 3)), np.array([[1], [2]]))], []],
    )


def test_a_reset_may_come_in_any_cycle() -> None:
    netlist, data = netlist_of(Tile(BF16, 2, 3), [3, None]), nested(Random(5), [3, None], (2, 3))
    for cycle in range(1, 40, 3):
        check(netlist, data, cycle, cycle)


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
