"""The bits of a token on a wire, and of tiles in off-chip memory.

A token is a header and data. The header is, from the lowest bit: ``done``, ``value``, ``stop`` and ``rank`` (each as
many bits as the stream's rank needs, at least one); the rank is that of an empty, else zero. Values on which rules
decide, selectors, travel in the header as well, as ``control``; the data of all others lags it by one cycle. Where
both stand side by side, at the ports of a fabric and in files, the data is above the header. A tile is row-major, its
first scalar lowest; a tuple has its first item lowest; a selector is its mask. Data of a token without a value means
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from amaranth.lib import data

from step.language.dtypes import BOOL
from step.language.operator import StreamType
from step.language.tokens import DONE, Token, empty
from step.language.types import ElementType, Tile, Tuple


class Format(Protocol):
    """What a channel may carry: the fields of a header, and data one cycle behind it."""

    @property
    def header(self) -> data.StructLayout: ...

    @property
    def data_bits(self) -> int: ...


@dataclass(frozen=True)
class TokenFormat:
    """All that hardware needs to know of a stream's type: its rank, the bits of an element, and if they are control."""

    rank: int
    bits: int
    control: bool = False

    @classmethod
    def of(cls, stream: StreamType) -> TokenFormat:
        return cls(stream.rank, stream.element.bits, stream.element.is_control)

    @property
    def stop_bits(self) -> int:
        return max(1, self.rank.bit_length())

    @property
    def header_bits(self) -> int:
        """Bits of a header without control."""
        return 2 + 2 * self.stop_bits

    @property
    def width(self) -> int:
        """Bits of a whole token, header and data side by side."""
        return self.header_bits + self.bits

    @property
    def _fields(self) -> dict[str, int]:
        return {"done": 1, "value": 1, "stop": self.stop_bits, "rank": self.stop_bits}

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout(self._fields | ({"control": self.bits} if self.control else {}))

    @property
    def data_bits(self) -> int:
        """Bits of the data that lags the header."""
        return 0 if self.control else self.bits

    @property
    def layout(self) -> data.StructLayout:
        """Header and data side by side."""
        return data.StructLayout(self._fields | {"data": self.bits})


@dataclass(frozen=True)
class WriteFormat:
    """A beat on its way to off-chip memory: the address (in beats), and ``bits`` of data beside it."""

    bits: int
    data_bits = 0

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({"address": 32, "data": self.bits})


@dataclass(frozen=True)
class AddressFormat:
    """The address (in beats) of a tile to read."""

    data_bits = 0

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({"address": 32})


@dataclass(frozen=True)
class TileFormat:
    """The data of an element alone."""

    bits: int

    @property
    def header(self) -> data.StructLayout:
        return data.StructLayout({})

    @property
    def data_bits(self) -> int:
        return self.bits


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


def pack_token(token: Token, stream: StreamType) -> int:
    """The bits of ``token`` on a wire of ``stream``."""
    if token.done:
        return 1
    format = TokenFormat.of(stream)
    word = token.stop << 2 | token.rank << 2 + format.stop_bits
    if token.has_value:
        word |= 2 | pack_element(token.value, stream.element) << format.header_bits
    return word


def unpack_token(word: int, stream: StreamType) -> Token:
    """The opposite of `pack_token`."""
    if word & 1:
        return DONE
    format = TokenFormat.of(stream)
    stop, rank = (word >> shift & ((1 << format.stop_bits) - 1) for shift in (2, 2 + format.stop_bits))
    return Token(unpack_element(word >> format.header_bits, stream.element), stop) if word & 2 else empty(rank, stop)


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


def _tile_bytes(value: np.ndarray, tile: Tile) -> bytes:
    if tile.dtype == BOOL:
        return np.packbits(value.reshape(-1), bitorder="little").tobytes()
    return np.ascontiguousarray(value, tile.dtype.numpy).tobytes()


def _tile_from_bytes(content: bytes, tile: Tile) -> np.ndarray:
    if tile.dtype == BOOL:
        flat = np.unpackbits(np.frombuffer(content, np.uint8), count=int(tile.elements), bitorder="little")
        return flat.astype(np.bool_).reshape(tile.shape)
    return np.frombuffer(content, tile.dtype.numpy).reshape(tile.shape)
