"""Stores that share a bus, word by word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driving import drive

from hw.axi.ports import Lanes, Port
from hw.axi.write_master import WriteMaster
from step.lowering.bus import BusConfig

BEATS, BYTES, CYCLES = 4, 8, 60
TILES = [[16 * store + at for at in range(BEATS)] for store in range(2)]
"""Beats of a tile of each of two stores: data, and the address behind the base."""


def test_a_store_that_pauses_amid_a_tile_keeps_its_turn() -> None:
    """The other one offers beats all the while; bursts are whole tiles with their own data."""
    bus = BusConfig(masters=1, bytes=BYTES, burst=BEATS, address_bits=32)
    ports = Port(0, first=0, beats=BEATS), Port(1, first=0, beats=BEATS)
    master: Any = WriteMaster(ports, Lanes(BYTES, bus))
    stores = [master.store0, master.store1]
    left: list[Iterator[int]] = [iter(tile) for tile in TILES]
    bursts, words = list[tuple[int, int]](), list[tuple[int, bool]]()

    async def bench(context: Any) -> None:
        context.set(master.awready, 1)
        context.set(master.wready, 1)
        offered = [next(each, None) for each in left]
        for cycle in range(CYCLES):
            rests = [cycle % 3 != 0, False]  # the first store gives a beat in every third cycle
            for store, beat, rest in zip(stores, offered, rests, strict=True):
                context.set(store.valid, beat is not None and not rest)
                context.set(store.payload, beat << 32 | beat if beat is not None else 0)
            ready = [context.get(each.valid & each.ready) for each in stores]
            if context.get(master.awvalid):
                bursts.append((context.get(master.awaddr) // BYTES, context.get(master.awlen) + 1))
            if context.get(master.wvalid):
                words.append((context.get(master.wdata), bool(context.get(master.wlast))))
            await context.tick()
            pairs = zip(left, ready, offered, strict=True)
            offered = [next(each, None) if took else beat for each, took, beat in pairs]
        assert offered == [None, None]

    drive(master, bench)
    assert bursts == [(tile[0], BEATS) for tile in TILES]
    assert words == [(beat, at == BEATS - 1) for tile in TILES for at, beat in enumerate(tile)]


def test_a_bus_may_have_more_lanes_than_a_burst_has_beats() -> None:
    """Each beat is in the lane of its address."""
    bus = BusConfig(masters=1, bytes=8, burst=2, address_bits=32)
    master: Any = WriteMaster((Port(0, first=0, beats=1),), Lanes(1, bus))
    lanes = list[int]()

    async def bench(context: Any) -> None:
        for each in (master.awready, master.wready, master.bvalid):
            context.set(each, 1)
        place = 0
        while len(lanes) < 16:
            context.set(master.store0.valid, 1)
            context.set(master.store0.payload, place)
            if context.get(master.wvalid):
                lanes.append(context.get(master.wstrb).bit_length() - 1)
            place += context.get(master.store0.ready)
            await context.tick()

    drive(master, bench)
    assert lanes == [*range(8)] * 2
