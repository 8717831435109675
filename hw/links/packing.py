"""Values and tokens as the bits that they have on links and in memories, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hw.links.layout import TokenFormat
from step.language.dtypes import BOOL
from step.language.faults import rows_of, tuple_of
from step.language.tokens import DONE, Token, empty
from step.language.types import ElementType, Tile, Tuple, leaves, with_rows
from step.lowering.links import words


def pack_element(value: Any, element: ElementType) -> int:
    """The data bits of ``value``."""
    if isinstance(element, Tile):
        return bits_of(np.asarray(value, element.dtype.numpy))
    if isinstance(element, Tuple):
        word, shift = 0, 0
        for part, item in zip(value, element.items, strict=True):
            word |= pack_element(part, item) << shift
            shift += item.bits
        return word
    return int(value)


def unpack_element(word: int, element: ElementType, rows: int = 0) -> Any:
    """The opposite of `pack_element`; tiles of dynamic size have so many ``rows``."""
    if isinstance(element, Tile):
        tile = element.with_rows(rows)
        return _tile_from_bytes(word.to_bytes(-(-tile.bits // 8), "little"), tile)
    if isinstance(element, Tuple):
        parts = []
        for item in element.items:
            bits = with_rows(item, rows).bits
            parts.append(unpack_element(word & ((1 << bits) - 1), item, rows))
            word >>= bits
        return tuple_of(element.items)(parts)
    return word


def pack_words(value: Any, element: ElementType, format: TokenFormat) -> list[int]:
    """The words of ``value`` on a link of ``format``; control is one word."""
    if format.control:
        return [bits_of(value)]
    mask = (1 << format.link_bits) - 1
    packed = []
    _, counts = _sizes(element, format, rows_of(value) if format.most_rows else 0)
    for part, count in zip(items_of(value), counts, strict=True):
        packed += [part >> number * format.link_bits & mask for number in range(count)]
    return packed


def unpack_words(packed: Iterable[int], element: ElementType, format: TokenFormat, rows: int = 0) -> Any:
    """The opposite of `pack_words`; a tile of dynamic size has so many ``rows``."""
    if format.control:
        return unpack_element(next(iter(packed)), element)
    word, shift, left = 0, 0, iter(packed)
    items, counts = _sizes(element, format, rows)
    for bits, count in zip(items, counts, strict=True):
        item = sum(next(left) << number * format.link_bits for number in range(count))
        word |= (item & ((1 << bits) - 1)) << shift
        shift += bits
    return unpack_element(word, element, rows)


def pack_header(token: Token, format: TokenFormat) -> int:
    """The bits of ``token``'s header on a link of ``format``."""
    if token.done:
        return 1
    header = token.stop << 2 | token.rank << 2 + format.stop_bits
    if token.has_value:
        header |= 2 | (bits_of(token.value) << format.header_bits if format.control else 0)
        if format.most_rows:
            header |= min(rows_of(token.value), format.most_rows + 1) << 2 + 2 * format.stop_bits
    return int(header)


def items_of(value: Any) -> tuple[int, ...]:
    """The bits of the items of ``value``, a tuple, or of a tile or a number; none of None, which nobody can get."""
    if isinstance(value, tuple):
        return tuple(bits for each in value for bits in items_of(each))
    return () if value is None else (bits_of(value),)


def bits_of(value: Any) -> int:
    """The bits of a tile, row-major, or of a number."""
    if not isinstance(value, np.ndarray):
        return int(value)
    if value.dtype == np.bool_:
        value = np.packbits(value.reshape(-1), bitorder="little")
    return int.from_bytes(np.ascontiguousarray(value).tobytes(), "little")


def header_rows(header: int, format: TokenFormat) -> int:
    """The rows of the tile of dynamic size with ``header``; 0 for other elements."""
    return header >> 2 + 2 * format.stop_bits & (1 << format.rows_bits) - 1


def unpack_header(header: int, format: TokenFormat, value: Any = None) -> Token:
    """The token with ``header``, and ``value`` where it has one."""
    if header & 1:
        return DONE
    stop, rank = (header >> shift & ((1 << format.stop_bits) - 1) for shift in (2, 2 + format.stop_bits))
    if not header & 2:
        return empty(rank, stop)
    return Token(value, stop)


def pack_transfers(token: Token, element: ElementType, format: TokenFormat) -> list[int]:
    """The transfers of ``token``; each is ``tuser``, above it ``tlast``, above that ``tdata``."""
    header = pack_header(token, format) & ((1 << format.header_bits) - 1)
    words = (pack_words(token.value, element, format) if token.has_value and format.items else []) or [0]
    lasts = [0] * (len(words) - 1) + [1]
    return [(word << 1 | last) << format.header_bits | header for word, last in zip(words, lasts, strict=True)]


def unpack_transfers(transfers: Iterable[int], element: ElementType, format: TokenFormat) -> list[Token]:
    """The tokens in ``transfers``, as far as they are whole."""
    tokens, words = [], []
    for transfer in transfers:
        header, word = transfer & ((1 << format.header_bits) - 1), transfer >> format.header_bits + 1
        words.append(word)
        if transfer >> format.header_bits & 1:
            value = None
            if header & 2:
                value = unpack_words(words, element, format, header_rows(header, format))
            tokens.append(unpack_header(header, format, value))
            words = []
    return tokens


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


def _sizes(element: ElementType, format: TokenFormat, rows: int) -> tuple[Sequence[int], Sequence[int]]:
    """The bits and the words of the items of ``element``, with so many ``rows`` where these are dynamic."""
    if not format.most_rows:
        return format.items, format.item_words
    items = tuple(each.bits for each in leaves(with_rows(element, rows)))
    return items, words(items, format.link_bits)


def _tile_from_bytes(content: bytes, tile: Tile) -> np.ndarray:
    if tile.dtype == BOOL:
        flat = np.unpackbits(np.frombuffer(content, np.uint8), count=int(tile.elements), bitorder="little")
        return flat.astype(np.bool_).reshape(tile.shape)
    return np.frombuffer(content, tile.dtype.numpy).reshape(tile.shape)
