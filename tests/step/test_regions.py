"""Tensors at the end of the addresses of off-chip memory, and beyond it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from raising import raised

from step import BF16, INT8, UINT32, FabricConfig, Graph, MemoryConfig, Tile
from step.errors import FabricError
from step.language.graph import Tensor
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.memory import DYNAMIC_TILES, memory_map
from step.lowering.netlist import lower

END = 1 << 32
BYTES = FabricConfig(memory=MemoryConfig(beat_bytes=1))
WIDE = "choose larger tiles, as each begins on a beat of its own, or smaller tensors"


def filled(graph: Graph, beats: int) -> None:
    """So many beats of one byte are taken."""
    at = graph.source("at", Tile(UINT32), [1])
    at.load_random(graph.tensor("much", (beats, 1), INT8), tile=(1, 1), name="ld").sink("y")


def linear(graph: Graph, tensor: Tensor) -> None:
    graph.load(tensor, tile=(1, 1), name="op").sink("z")


def strided(graph: Graph, tensor: Tensor) -> None:
    graph.load(tensor, tile=(1, 1), out=[2], stride=[0], offset=1, name="op").sink("z")


def repeated(graph: Graph, tensor: Tensor) -> None:
    graph.load(tensor, tile=(1, 1), reference=graph.source("r", Tile(UINT32), [2]), name="op").sink("z")


def random_load(graph: Graph, tensor: Tensor) -> None:
    graph.source("where", Tile(UINT32), [2]).load_random(tensor, tile=(1, 1), name="op").sink("z")


def random_store(graph: Graph, tensor: Tensor) -> None:
    x, where = graph.source("x", Tile(INT8), [2]), graph.source("where", Tile(UINT32), [2])
    x.store_random(tensor, where, name="op").sink("z")


READERS = (linear, strided, repeated, random_load, random_store)


@pytest.mark.parametrize("access", READERS)
def test_a_tensor_at_the_end_and_behind_it(access: Callable[[Graph, Tensor], None]) -> None:
    graph = Graph("end")
    filled(graph, END - 64)
    access(graph, graph.tensor("small", (64, 1), INT8))
    layout = memory_map(lower(graph, BYTES))
    (region,) = [each for each in layout.regions if each.node == "op"]
    assert (region.base, region.end) == (END - 64, END)
    graph = Graph("beyond")
    filled(graph, END - 64)
    access(graph, graph.tensor("small", (65, 1), INT8))
    caught = raised(FabricError, lambda: memory_map(lower(graph, BYTES)))
    said = (
        ": tensor 'small' lies in the beats 4,294,967,232 to 4,294,967,296 of off-chip memory, of 1 bytes each, but "
        f"addresses have 32 bits and end at beat 4,294,967,295; {WIDE}"
    )
    assert re.fullmatch(r"\w+ 'op' \(.*test_regions.py:\d+\)" + re.escape(said), caught)


@pytest.mark.parametrize(("beats", "fits"), [(END - DYNAMIC_TILES, True), (END - DYNAMIC_TILES + 64, False)])
def test_a_store_of_any_number_of_tiles(beats: int, fits: bool) -> None:
    graph = Graph("ragged")
    filled(graph, beats)
    graph.source("x", Tile(INT8), [graph.symbol("N", ragged=True)]).store("kept")
    if fits:
        assert memory_map(lower(graph, BYTES)).stores["kept"].end == END
        return
    with pytest.raises(FabricError, match=r"^linear_off_chip_store 'kept' .*: what it stores lies in the beats "):
        memory_map(lower(graph, BYTES))


def test_what_is_too_large_alone_and_wider_beats(graph: Graph) -> None:
    graph.source("at", Tile(UINT32), [1]).load_random(
        graph.tensor("w", (1 << 20, 1 << 14), BF16), tile=(1, 1 << 14), name="op"
    ).sink("y")
    assert memory_map(lower(graph, FabricConfig(memory=MemoryConfig(beat_bytes=8)))).loads["op"].end == END
    caught = raised(FabricError, lambda: memory_map(lower(graph, FabricConfig(memory=MemoryConfig(beat_bytes=4)))))
    assert "tensor 'w' lies in the beats 0 to 8,589,934,591 of off-chip memory, of 4 bytes each" in caught
    assert caught.endswith("; choose a fabric with memory.beat_bytes=8")
    with pytest.raises(FabricError, match=r"smaller tensors$"):  # a burst holds no wider beat
        memory_map(lower(graph, FabricConfig(memory=MemoryConfig(beat_bytes=4, bus=BusConfig(bytes=1, burst=4)))))


def test_another_memory_of_a_netlist_is_looked_at() -> None:
    graph = Graph("swapped")
    graph.source("at", Tile(UINT32), [1]).load_random(
        graph.tensor("w", (1 << 30, 4), INT8), tile=(1, 4), name="op"
    ).sink("y")
    netlist = lower(graph, FabricConfig())
    board_of(netlist, BusConfig(address_bits=40))
    with pytest.raises(FabricError, match=r"bus.address_bits = 32 reach$"):
        board_of(netlist, BusConfig(address_bits=32))
    narrow = netlist.with_memory(MemoryConfig(beat_bytes=1))
    assert memory_map(narrow).loads["op"].end == END
    graph = Graph("swapped")
    filled(graph, 1)
    graph.source("more", Tile(UINT32), [1]).load_random(
        graph.tensor("w", (1 << 30, 4), INT8), tile=(1, 4), name="op"
    ).sink("z")
    with pytest.raises(FabricError, match=r"choose a fabric with memory.beat_bytes=2$"):
        memory_map(lower(graph, FabricConfig()).with_memory(MemoryConfig(beat_bytes=1)))
