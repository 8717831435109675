"""A board as drivers know it: its images, tensors and streams, and their layout."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hw.registers.wrapper import BoardDesign
from step.language.graph import Node
from step.language.operator import Access
from step.language.types import ElementType, Selector, Tile, leaves
from step.lowering.board import BoardStream
from step.lowering.bus import BusConfig
from step.lowering.dma import MOST_LIMIT
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class PlacedImage:
    """An image at ``address``, with room for ``bytes``."""

    name: str
    address: int
    bytes: int

    @property
    def end(self) -> int:
        return self.address + self.bytes


@dataclass(frozen=True)
class ElementPart:
    """A tile of an element; ``rows`` 0: of any number. A selector is a row of bits, one for each target."""

    rows: int
    columns: int
    bits: int


@dataclass(frozen=True)
class TensorTable:
    """A tensor of ``outer`` matrices; 0: only a run tells how many tiles a store writes.

    ``tilings``: its tile in each image, by the index of that: one for each operator that reads it, or
    the one in which it is stored. ``node``: the operator that stores it, if one does; ``access``: that of the last
    operator.
    """

    name: str
    outer: int
    height: int
    width: int
    tilings: dict[int, Tile]
    node: Node | None
    access: Access

    @property
    def is_stored(self) -> bool:
        """Whether the program writes it."""
        return self.node is not None


@dataclass(frozen=True)
class StreamTable:
    """A stream that DMA serves; ``images``: the index of each part of it (``values`` and ``list``) that there is."""

    stream: BoardStream
    node: Node
    element: ElementType
    parts: tuple[ElementPart, ...]
    images: dict[str, int]

    @property
    def name(self) -> str:
        return self.stream.name


@dataclass(frozen=True)
class Tables:
    """Everything of a board."""

    netlist: Netlist
    design: BoardDesign
    tensors: tuple[TensorTable, ...]
    streams: tuple[StreamTable, ...]

    @property
    def name(self) -> str:
        """The name of the fabric."""
        return str(self.design.fabric.sidecar["module"])

    @property
    def addresses(self) -> dict[str, int]:
        """Addresses of the registers, by name."""
        return {each.name: each.address for each in self.design.registers}

    @property
    def rtl(self) -> dict[str, str]:
        """The Verilog, by its name in the folder."""
        return {f"rtl/{name}": text for name, text in self.design.files.items() if name.endswith(".sv")}

    @property
    def results(self) -> frozenset[str]:
        """The images that a run writes, by name."""
        found = {at for each in self.tensors if each.is_stored for at in each.tilings}
        found |= {at for each in self.streams if not each.stream.is_source for at in each.images.values()}
        return frozenset(self.design.board.images[at].name for at in found)

    def tile_bytes(self, tile: Tile) -> int:
        """Bytes of a tile in memory, padding included."""
        return self.netlist.fabric.memory.beats(tile.bits) * self.design.board.beat_bytes

    def settings(self, place: PlacedImage) -> dict[str, tuple[int, int]]:
        """Address and value of the registers of an image that there are: ``base_low``, ``base_high`` and ``limit``."""
        name, addresses = place.name, self.addresses
        registers = {
            "base_low": (f"base_{name}_low", place.address & 0xFFFF_FFFF),
            "base_high": (f"base_{name}_high", place.address >> 32),
            "limit": (f"limit_{name}", min(place.bytes, MOST_LIMIT)),
        }
        return {kind: (addresses[each], value) for kind, (each, value) in registers.items() if each in addresses}


def masters_of(bus: BusConfig) -> str:
    """The number of a bus's masters, in words."""
    return f"{bus.masters} AXI4 master{'s' * (bus.masters != 1)}"


def tables_of(netlist: Netlist, design: BoardDesign) -> Tables:
    """The tables of ``design``, which is the board of ``netlist``."""
    return Tables(netlist, design, _tensors(netlist, design), tuple(_streams(netlist, design)))


def _tensors(netlist: Netlist, design: BoardDesign) -> tuple[TensorTable, ...]:
    found = dict[str, TensorTable]()
    images = {port.name: port.image for port in design.board.ports}
    for node in netlist.units:
        written = node.operator.writes(node)
        access = written or node.operator.reads(node)
        if access is None:
            continue
        name, (rows, cols) = access.tensor or node.name, access.tile.shape
        outer, height, width = (access.tiles or 0), rows, cols
        if access.tensor is not None:
            *others, height, width = netlist.graph.tensors[access.tensor].shape
            outer = math.prod(others)
        before = found.get(name)
        tilings = {} if before is None else before.tilings
        tilings.setdefault(images[node.name], access.tile)
        storer = node if written is not None else None if before is None else before.node
        found[name] = TensorTable(name, outer, height, width, tilings, storer, access)
    return tuple(found.values())


def _streams(netlist: Netlist, design: BoardDesign) -> list[StreamTable]:
    board, found = design.board, []
    for stream in board.streams:
        node = netlist.units[stream.unit]
        types = node.output_types if stream.is_source else node.input_types
        element = types[0].element
        images = dict(zip(stream.plan.parts, stream.images, strict=True))
        parts = tuple(part_of(each) for each in leaves(element)) if stream.plan.word_bytes else ()
        found.append(StreamTable(stream, node, element, parts, images))
    return found


def part_of(element: ElementType) -> ElementPart:
    """A tile, or a selector, of an element."""
    if isinstance(element, Selector):
        return ElementPart(1, element.targets, 1)
    assert isinstance(element, Tile)
    return ElementPart(int(element.rows) if element.rows.is_static else 0, int(element.cols), element.dtype.bits)
