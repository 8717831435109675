"""The bits of a token on a wire, and of tiles in off-chip memory.

A token is a header and, if it has a value, words of data. The header is, from the lowest bit: ``done``, ``value``,
``stop`` and ``rank`` (each as many bits as the stream's rank needs, at least one); the rank is that of an empty, else
zero; of a tile of dynamic size there are its ``rows``. Values on which rules decide, selectors and addresses, travel in
the header as well, as ``control``. All others follow their header one cycle behind it, a word a cycle (see
`step.lowering.links`), a tile of dynamic size in as many words as its rows take, maybe none. A tile is row-major, its
first scalar lowest; the items of a tuple follow one another; a selector is its mask. Data of a token without a value
means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from amaranth.lib import data

from step.language.dtypes import BOOL
from step.language.graph import Node
from step.language.tokens import DONE, Token, empty
from step.language.types import ElementType, Tile, Tuple, is_dynamic
from step.lowering.fabric import FabricConfig
from step.lowering.links import item_bits, stop_bits, words
from step.lowering.links import word_bits as widest_word
from step.lowering.netlist import Channel, Netlist
from step.lowering.plans.rows import largest, parts


class Format(Protocol):
    """What a channel may carry: the fields of a header, and words of data that follow one cycle behind it.

    ``word_bits`` is 0 where there is no data; ``beats`` are the words of a value.
    """

    @property
    def header(self) -> data.StructLayout: ...

    @property
    def word_bits(self) -> int: ...

    @property
    def beats(self) -> int: ...


@dataclass(frozen=True)
class TokenFormat:
    """All that hardware needs to know of a stream: its rank, the bits of an element's items, and if they are control.

    Without items there is only the header; ``link_bits`` is the width of the link.
    """

    rank: int
    items: tuple[int, ...]
    link_bits: int
    control: bool = False

    @classmethod
    def of(cls, channel: Channel, fabric: FabricConfig) -> TokenFormat:
        """What ``channel`` carries."""
        return cls.element(channel.type.rank, channel.element, fabric)

    @classmethod
    def element(cls, rank: int, element: ElementType | None, fabric: FabricConfig) -> TokenFormat:
        """Elements, or None, in a stream of ``rank``."""
        link = 8 * fabric.link_bytes
        if element is None:
            return cls(rank, (), link)
        if isinstance(element, Tile) and is_dynamic(element):
            row = element.with_rows(1).bits
            return DynamicFormat(rank, (fabric.dynamic_rows * row,), link, row_bits=row)
        return cls(rank, item_bits(element), link, element.is_control)

    @property
    def stop_bits(self) -> int:
        return stop_bits(self.rank)

    @property
    def header_bits(self) -> int:
        """Bits of a header without control."""
        return 2 + 2 * self.stop_bits

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return sum(self.items)

    @property
    def header(self) -> data.StructLayout:
        fields = {"done": 1, "value": 1, "stop": self.stop_bits, "rank": self.stop_bits}
        return data.StructLayout(fields | ({"control": self.bits} if self.control else {}))

    @property
    def word_bits(self) -> int:
        return 0 if self.control else widest_word(self.items, self.link_bits // 8)

    @property
    def item_words(self) -> tuple[int, ...]:
        """Words of each item."""
        return () if self.control else words(self.items, self.link_bits // 8)

    @property
    def beats(self) -> int:
        return sum(self.item_words)

    @property
    def edge_bits(self) -> int:
        """Data bits of a transfer at the edge of the fabric, where control is data too."""
        return self.bits if self.control else self.word_bits

    @property
    def cycles(self) -> int:
        """Cycles that a value takes on the link, with the most rows."""
        return max(1, self.beats)

    def words_of(self, rows: Any) -> Any:
        """Words of a value; of a tile of dynamic size with so many ``rows``: a number, or hardware."""
        return self.beats


@dataclass(frozen=True)
class DynamicFormat(TokenFormat):
    """Of a stream of tiles of dynamic size, with ``row_bits`` bits a row: the item is one with the most rows."""

    row_bits: int = 0

    @property
    def most_rows(self) -> int:
        """The most rows of a tile."""
        return self.bits // self.row_bits

    @property
    def rows_bits(self) -> int:
        """Bits of a number of rows; one more than the most is told as well, so that it can be refused."""
        return (self.most_rows + 1).bit_length()

    @property
    def header_bits(self) -> int:
        return super().header_bits + self.rows_bits

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({**super().header.members, "rows": self.rows_bits})

    def words_of(self, rows: Any) -> Any:
        return parts(rows, self.row_bits, self.link_bits)


def cycles_of(format: TokenFormat, header: Any) -> Any:
    """Cycles that the value with ``header`` takes on a link of ``format``."""
    return largest(1, format.words_of(header.rows)) if isinstance(format, DynamicFormat) else format.cycles


def input_formats(node: Node, netlist: Netlist) -> tuple[TokenFormat, ...]:
    """What arrives at the inputs of ``node``."""
    return tuple(TokenFormat.of(each, netlist.fabric) for each in netlist.inputs(node))


def output_formats(node: Node, netlist: Netlist) -> tuple[TokenFormat, ...]:
    """What leaves the outputs of ``node``; only headers where nobody reads."""
    fabric = netlist.fabric
    return tuple(
        TokenFormat.element(stream.rank, None, fabric) if channel is None else TokenFormat.of(channel, fabric)
        for stream, channel in zip(node.output_types, netlist.outputs(node), strict=True)
    )


@dataclass(frozen=True)
class TileFormat:
    """The words of a tile alone."""

    word_bits: int
    beats: int

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({})


@dataclass(frozen=True)
class HeaderFormat:
    """The headers of ``token`` alone: its words go another way."""

    token: TokenFormat
    word_bits = beats = 0

    @property
    def header(self) -> data.StructLayout:
        return self.token.header


@dataclass(frozen=True)
class WriteFormat:
    """A beat on its way to off-chip memory: the address (in beats), and ``bits`` of data beside it."""

    bits: int
    word_bits = beats = 0

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({"address": 32, "data": self.bits})


@dataclass(frozen=True)
class AddressFormat:
    """The address (in beats) of a tile to read."""

    word_bits = beats = 0

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({"address": 32})


def pack_element(value: Any, element: ElementType) -> int:
    """The data bits of ``value``."""
    if isinstance(element, Tile):
        return int.from_bytes(_tile_bytes(value, element), "little")
    if isinstance(element, Tuple):
        word, shift = 0, 0
        for part, item in zip(value, element.items, strict=True):
            word |= pack_element(part, item) << shift
            shift += item.bits
        return word
    return int(value)


def unpack_element(word: int, element: ElementType) -> Any:
    """The opposite of `pack_element`."""
    if isinstance(element, Tile):
        return _tile_from_bytes(word.to_bytes(-(-element.bits // 8), "little"), element)
    if isinstance(element, Tuple):
        parts = []
        for item in element.items:
            parts.append(unpack_element(word & ((1 << item.bits) - 1), item))
            word >>= item.bits
        return tuple(parts)
    return word


def pack_words(value: Any, element: ElementType, format: TokenFormat) -> list[int]:
    """The words of ``value`` on a link of ``format``."""
    mask = (1 << format.link_bits) - 1
    packed = []
    counts = format.item_words
    if isinstance(format, DynamicFormat):
        assert isinstance(element, Tile)
        element, counts = element.with_rows(len(value)), (format.words_of(len(value)),)
    for part, count in zip(_items(value, element), counts, strict=True):
        packed += [part >> number * format.link_bits & mask for number in range(count)]
    return packed


def unpack_words(packed: Iterable[int], element: ElementType, format: TokenFormat, rows: int = 0) -> Any:
    """The opposite of `pack_words`; a tile of dynamic size has so many ``rows``."""
    word, shift, left = 0, 0, iter(packed)
    items, counts = format.items, format.item_words
    if isinstance(format, DynamicFormat):
        assert isinstance(element, Tile)
        element, items, counts = element.with_rows(rows), (rows * format.row_bits,), (format.words_of(rows),)
    for bits, count in zip(items, counts, strict=True):
        item = sum(next(left) << number * format.link_bits for number in range(count))
        word |= (item & ((1 << bits) - 1)) << shift
        shift += bits
    return unpack_element(word, element)


def pack_header(token: Token, format: TokenFormat) -> int:
    """The bits of ``token``'s header on a link of ``format``."""
    if token.done:
        return 1
    header = token.stop << 2 | token.rank << 2 + format.stop_bits
    if token.has_value:
        header |= 2 | (control_bits(token.value) << format.header_bits if format.control else 0)
        if isinstance(format, DynamicFormat):
            header |= min(len(token.value), format.most_rows + 1) << 2 + 2 * format.stop_bits
    return int(header)


def control_bits(value: Any) -> int:
    """The bits of a value that is control: the mask of a selector, or the one scalar of a tile."""
    return int(value) if isinstance(value, int) else int(value.item())


def rows_of(header: int, format: TokenFormat) -> int:
    """The rows of the tile of dynamic size with ``header``; 0 for other elements."""
    if not isinstance(format, DynamicFormat):
        return 0
    return header >> 2 + 2 * format.stop_bits & (1 << format.rows_bits) - 1


def unpack_header(header: int, format: TokenFormat, value: Any = None) -> Token:
    """The token with ``header``, and ``value`` where it has one."""
    if header & 1:
        return DONE
    stop, rank = (header >> shift & ((1 << format.stop_bits) - 1) for shift in (2, 2 + format.stop_bits))
    if not header & 2:
        return empty(rank, stop)
    return Token(value, stop)


def pack_tiles(tiles: np.ndarray, tile: Tile, beat_bytes: int) -> bytes:
    """The memory image of ``tiles`` (``[n, rows, cols]``): one after the other, each padded to whole beats."""
    if tile.dtype == BOOL:
        rows = np.packbits(tiles.reshape(len(tiles), -1), axis=1, bitorder="little")
    else:
        flat = np.ascontiguousarray(tiles, tile.dtype.numpy).reshape(len(tiles), -1)
        rows = flat.view(np.uint8)
    size = -(-tile.bits // (8 * beat_bytes)) * beat_bytes
    image = np.zeros((len(tiles), size), np.uint8)
    image[:, : rows.shape[1]] = rows
    return image.tobytes()


def unpack_tiles(image: bytes, tile: Tile, beat_bytes: int) -> np.ndarray:
    """The tiles ``[n, rows, cols]`` of a memory image; the opposite of `pack_tiles`."""
    size = -(-tile.bits // (8 * beat_bytes)) * beat_bytes
    rows = np.frombuffer(image, np.uint8).reshape(-1, size)[:, : -(-tile.bits // 8)]
    if tile.dtype == BOOL:
        elements = int(tile.elements)
        flat = np.unpackbits(rows, axis=1, count=elements, bitorder="little").astype(np.bool_)
    else:
        flat = np.ascontiguousarray(rows).view(tile.dtype.numpy)
    return flat.reshape(-1, *tile.shape)


def _items(value: Any, element: ElementType) -> Iterator[int]:
    """The bits of each item of ``value``."""
    if isinstance(element, Tuple):
        for part, item in zip(value, element.items, strict=True):
            yield from _items(part, item)
    else:
        yield pack_element(value, element)


def _tile_bytes(value: np.ndarray, tile: Tile) -> bytes:
    if tile.dtype == BOOL:
        return np.packbits(value.reshape(-1), bitorder="little").tobytes()
    return np.ascontiguousarray(value, tile.dtype.numpy).tobytes()


def _tile_from_bytes(content: bytes, tile: Tile) -> np.ndarray:
    if tile.dtype == BOOL:
        flat = np.unpackbits(np.frombuffer(content, np.uint8), count=int(tile.elements), bitorder="little")
        return flat.astype(np.bool_).reshape(tile.shape)
    return np.frombuffer(content, tile.dtype.numpy).reshape(tile.shape)
