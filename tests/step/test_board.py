"""The plan of a board, and what is said of one that can not be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import cases
from raising import raised

from step import BF16, FabricConfig, Graph, Tile
from step.errors import FabricError
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.fabric import with_settings
from step.lowering.feasible import check_feasible
from step.lowering.netlist import Netlist, lower
from step.lowering.registers import check_counts


def copies(count: int = 2) -> Netlist:
    graph = Graph("copies")
    for number in range(count):
        tensor = graph.tensor(f"x{number}", (64, 64), BF16)
        graph.load(tensor, tile=(16, 64), name=f"load{number}").store(f"y{number}")
    return lower(graph, FabricConfig())


def test_ports_are_dealt_out_by_turns() -> None:
    board = board_of(copies(), BusConfig(masters=3))
    assert [(each.name, each.writes, each.master, each.local, each.size_beats) for each in board.ports] == [
        ("load0", False, 0, 0, 32),
        ("load1", False, 1, 0, 32),
        ("y0", True, 2, 0, 32),
        ("y1", True, 0, 0, 32),
    ]
    assert [(each.name, each.base, each.beats) for each in board.images] == [
        ("load0", 0, 128),
        ("load1", 128, 128),
        ("y0", 256, 128),
        ("y1", 384, 128),
    ]


def fed(source: str = "x", sink: str = "y") -> Netlist:
    """A ragged source and a static one, with a sink each, and a load."""
    graph = Graph("fed")
    rows = graph.symbol("D0", ragged=True)
    graph.source(source, Tile(BF16, 16, 64), [rows, 2]).sink(sink)
    graph.source("z", Tile(BF16, 16, 64), [3]).sink("w")
    graph.load(graph.tensor("t", (64, 64), BF16), tile=(16, 64), name="load").sink("v")
    return lower(graph, FabricConfig())


def test_streams_have_ports_and_images() -> None:
    board = board_of(fed(), BusConfig(), streams=True)
    assert [each.name for each in board.ports] == [
        *("load", "x_values", "x_list", "z_values"),
        *("y_values", "y_list", "w_values", "w_list", "v_values", "v_list"),
    ]
    assert [(each.name, each.is_source, [board.images[at].name for at in each.images]) for each in board.streams] == [
        ("x", True, ["x_values", "x_list"]), ("y", False, ["y_values", "y_list"]), ("z", True, ["z_values"]),
        ("w", False, ["w_values", "w_list"]), ("v", False, ["v_values", "v_list"]),
    ]  # fmt: skip
    sizes = {each.name: (board.bytes_of(each), each.limited) for each in board.images}
    assert sizes == {
        **{"load": (8192, False), "x_values": (0, False), "x_list": (0, False), "z_values": (6144, False)},
        **{"y_values": (0, True), "y_list": (0, True), "w_values": (6144, True), "w_list": (2048, True)},
        **{"v_values": (8192, True), "v_list": (2048, True)},
    }


def test_a_part_of_a_stream_is_told_from_an_operator() -> None:
    said = "source 'x' (.*): 'x_values' is the values of it in memory; rename the other"
    with pytest.raises(FabricError, match=f"^{said}$"):
        board_of(fed(sink="x_values"), BusConfig(), streams=True)


def test_a_store_of_any_number_of_tiles_has_a_limit_and_takes_no_addresses(graph: Graph) -> None:
    graph.source("x", Tile(BF16, 16, 64), [graph.symbol("D0", ragged=True)]).store("y")
    graph.source("z", Tile(BF16, 16, 64), [3]).store("w")
    board = board_of(lower(graph, FabricConfig()), BusConfig(address_bits=13))
    sizes = {each.name: (board.bytes_of(each), each.limited) for each in board.images}
    assert sizes == {"y": (0, True), "w": (6144, False)}


def test_a_part_of_a_stream_may_be_too_large() -> None:
    """More than requests, or limits, have bits for."""
    for name, extents, size, most in (
        ("source 'x'", (1 << 20, 1 << 12), 1 << 38, (1 << 38) - 1024),
        ("sink 'y'", (1 << 12, 1 << 14), 1 << 32, (1 << 32) - 1024),
    ):
        graph = Graph("large")
        graph.source("x", Tile(BF16, 1, 32), extents).sink("y")
        error = raised(FabricError, board_of, lower(graph, FabricConfig()), BusConfig(), streams=True)
        said = f": its values take {size:,} bytes of memory, more than the {most:,} that DMA reaches"
        assert error.startswith(name) and error.endswith(said)


@pytest.mark.parametrize(("shape", "refused"), [(((1 << 16) - 1, (1 << 16) + 1), True), ((2, (1 << 31) - 1), False)])
def test_a_stream_that_nobody_reads_may_have_too_many_elements(
    shape: tuple[int, int], refused: bool, graph: Graph
) -> None:
    x = graph.source("x", Tile(BF16, 1, 32), shape)
    x.flatten(0, 1)
    graph.source("z", Tile(BF16, 1, 32), [2]).sink("w")
    if not refused:
        board_of(lower(graph, FabricConfig()), BusConfig(), streams=True)
        return
    said = r"source 'x' \(.*\): it has 4,294,967,295 elements, more than the 4,294,967,294 of DMA"
    with pytest.raises(FabricError, match=f"^{said}$"):
        board_of(lower(graph, FabricConfig()), BusConfig(), streams=True)


def test_more_than_there_are_numbers_for() -> None:
    """Of ports where errors of memory are told, of units and channels in registers."""
    graph = Graph("many")
    tensor = graph.tensor("x", (4, 4), BF16)
    for number in range(257):
        graph.load(tensor, tile=(4, 4), name=f"load{number}").sink(f"y{number}")
    said = "program 'many' has 257 memory ports, more than the 256 of a board"
    assert raised(FabricError, lambda: board_of(lower(graph, FabricConfig()), BusConfig())) == said
    check_counts(4096, 4096)
    for units, channels, told in ((4097, 1, "units, not for 4,097"), (1, 5000, "channels, not for 5,000")):
        said = f"the registers of a board have numbers for 4,096 {told}"
        assert raised(FabricError, check_counts, units, channels) == said


@cases(
    ({"masters": 3}, "3 masters are too many: program 'copies' has 2 memory ports"),
    ({"masters": 5}, "bus.masters must be at most 4, not 5"),
    ({"bytes": 48}, "bus.bytes must be a power of two of at most 128, not 48"),
    ({"bytes": 64, "burst": 128}, "bus.burst must be a power of two of at most 64, not 128"),
    ({"ahead": 16}, "bus.ahead must be a power of two of at least 32, not 16"),
    ({"bytes": 4, "burst": 8}, "a burst of 8 transfers of 4 bytes does not hold a beat of memory.beat_bytes = 64"),
    ({"address_bits": 12}, "the tensors of program 'copies' take 16,384 bytes, more than bus.address_bits = 12 reach"),
)  # fmt: skip
def test_what_can_not_be_is_refused(bus: dict[str, Any], said: str) -> None:
    assert raised(FabricError, lambda: board_of(copies(1), BusConfig(**bus))) == said


def test_masters_are_a_parameter_of_the_fabric() -> None:
    fabric = with_settings(FabricConfig(), ["memory.masters=2", "fabric.memory.bus.bytes=32"])
    assert fabric.memory.bus == BusConfig(masters=2, bytes=32)
    assert FabricConfig.from_json(fabric.to_json()) == fabric
    assert with_settings(fabric, ["memory.masters=0"]) == FabricConfig()
    assert "bus" not in FabricConfig().to_json()["memory"]


@cases(
    (["memory.masters=5"], "memory.masters must be 0, where each port is one of the memory, or 1 to 4, not '5'"),
    (["memory.masters=1", "memory.bus.bytes=48"], "bus.bytes must be a power of two of at most 128, not 48"),
    (["memory.masters=1", "memory.bus.bytes=8", "memory.bus.burst=4"],
     "a burst of 4 transfers of 8 bytes does not hold a beat of memory.beat_bytes = 64"),
)  # fmt: skip
def test_bad_settings(settings: list[str], message: str) -> None:
    assert raised(FabricError, lambda: with_settings(FabricConfig(), settings)) == message


def test_more_masters_than_ports_fit_no_program() -> None:
    netlist = copies(1)
    fabric = with_settings(netlist.fabric, ["memory.masters=4"])
    with pytest.raises(FabricError, match=r"^4 masters are too many: program 'copies' has 2 memory ports$"):
        check_feasible(replace(netlist, fabric=fabric))
