"""The plan of a board: which memory port goes to which AXI4 master, and the images of tensors that have an address.

A fabric's memory ports count beats from the base of a region (`step.lowering.memory`). On a board every region is an
*image* somewhere in the address space of the bus, whose byte address comes from outside. Hardware, registers, driver
and fast model read this one plan.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from step.errors import FabricError
from step.language.arguments import Checked
from step.language.tiling import stored
from step.lowering.limits import check_integer
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist

PAGE = 4096
"""Bytes between the addresses that no burst may pass (AXI4, A3.4.1)."""

WIDEST = 128
"""Bytes of the widest data bus of AXI4."""


@dataclass(frozen=True)
class BusConfig(metaclass=Checked):
    """The AXI4 buses of a board.

    ``masters`` share out all memory ports. A bus has ``bytes`` of data and ``address_bits``. A burst has at most
    ``burst`` transfers and does not pass a multiple of its longest size, so none passes 4 KB. ``outstanding``: bursts
    that a master asks for before it has the answer to the first one, of reads and of writes each.
    """

    refused: ClassVar = FabricError

    masters: int = 1
    bytes: int = 64
    burst: int = 16
    outstanding: int = 8
    address_bits: int = 64

    def __post_init__(self) -> None:
        for each in fields(self):
            check_integer(self, f"bus.{each.name}")
        for name, most in (("bytes", WIDEST), ("burst", PAGE // self.bytes)):
            value = getattr(self, name)
            if value & (value - 1) or value > most:
                raise FabricError(f"bus.{name} must be a power of two of at most {most}, not {value}")

    @property
    def burst_bytes(self) -> int:
        """Bytes of the longest burst; a power of two of at most `PAGE`."""
        return self.burst * self.bytes


@dataclass(frozen=True)
class Image:
    """A tensor in memory as the fabric has it, tile by tile, at a base address of its own.

    ``name`` is that of its tensor if it may be written, else of the operator that reads or writes it. ``base`` and
    ``beats`` are those of its region, in beats.
    """

    name: str
    base: int
    beats: int


@dataclass(frozen=True)
class BoardPort:
    """A memory port: its ``number`` (reads first, in the order of the units), and the ``master`` that serves it.

    ``image``: the index of what it reads or writes. ``size_beats``: beats of a tile. ``local``: its place among the
    ports of its master that go the same way.
    """

    number: int
    name: str
    writes: bool
    acknowledged: bool
    size_beats: int
    image: int
    master: int
    local: int


@dataclass(frozen=True)
class Board:
    """All of it. ``beat_bytes`` are those of the fabric."""

    bus: BusConfig
    beat_bytes: int
    images: tuple[Image, ...]
    ports: tuple[BoardPort, ...]

    def of(self, master: int, *, writes: bool) -> tuple[BoardPort, ...]:
        """The ports of ``master`` that read, or those that write."""
        return tuple(each for each in self.ports if each.master == master and each.writes == writes)

    def bytes_of(self, image: Image) -> int:
        """What ``image`` takes."""
        return image.beats * self.beat_bytes


def board_of(netlist: Netlist, bus: BusConfig) -> Board:
    """Deal out the memory ports of ``netlist`` to the masters of ``bus``, by turns.

    Raises `FabricError` for more masters than ports, a bus of whose bursts beats are no part, and memory that the
    addresses of the bus do not reach.
    """
    memory, beat = memory_map(netlist), netlist.fabric.memory.beat_bytes
    placed = [(memory.loads[node.name], each, False) for node in netlist.units if (each := node.operator.reads(node))]
    placed += [(memory.stores[node.name], each, True) for node in netlist.units if (each := node.operator.writes(node))]
    program = f"program {netlist.graph.name!r}"
    if bus.masters > len(placed):
        raise FabricError(f"{bus.masters} masters are too many: {program} has {_ports(len(placed))}")
    if beat > bus.burst_bytes:
        raise FabricError(
            f"a burst of {bus.burst} transfers of {bus.bytes} bytes does not hold a beat of memory.beat_bytes = {beat}"
        )
    written, images, ports = stored(netlist.graph), dict[int, Image](), list[BoardPort]()
    for number, (region, access, writes) in enumerate(placed):
        name = access.tensor if access.tensor in written else region.node
        images.setdefault(region.base, Image(name or region.node, region.base, region.beats))
        image, master = list(images).index(region.base), number % bus.masters
        local = sum((each.master, each.writes) == (master, writes) for each in ports)
        acknowledged = writes and access.acknowledged
        ports.append(BoardPort(number, region.node, writes, acknowledged, region.beats_per_tile, image, master, local))
    board = Board(bus, beat, tuple(images.values()), tuple(ports))
    needed = sum(board.bytes_of(each) for each in board.images)
    if needed > 1 << bus.address_bits:
        raise FabricError(
            f"the tensors of {program} take {needed:,} bytes, more than bus.address_bits = {bus.address_bits} reach"
        )
    return board


def _ports(count: int) -> str:
    return f"{count} memory port{'s' * (count != 1)}"
