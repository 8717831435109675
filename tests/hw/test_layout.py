"""Bits of tokens and tiles."""

from __future__ import annotations

import numpy as np
import pytest
from scenarios import element_value

from hw.links.layout import TokenFormat, data_bits
from hw.links.packing import (
    pack_header,
    pack_tiles,
    pack_transfers,
    pack_words,
    unpack_element,
    unpack_header,
    unpack_tiles,
    unpack_transfers,
    unpack_words,
)
from step import Graph
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.faults import tuple_of
from step.language.tokens import DONE, Token, empty
from step.language.types import Selector, Tile, Tuple, with_rows
from step.lowering.fabric import FabricConfig
from step.programs.data.equality import same

ELEMENTS = [
    Tile(BF16, 2, 3), Tile(FP32, 3, 1), Tile(INT8, 1, 5), Tile(INT32), Tile(UINT32, 2, 2), Tile(BOOL, 3, 3),
    Selector(5), Tile(UINT32),
    Tuple((Tile(BOOL, 1, 3), Tile(BF16), Tuple((Selector(3), Tile(INT8))))),
]  # fmt: skip


@pytest.mark.parametrize("link_bytes", [1, 2, 8, 64])
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_tokens_come_back(element, rank, link_bytes):
    format = TokenFormat.element(rank, element, FabricConfig(link_bytes=link_bytes))
    tokens = [Token(element_value(5, element), rank), Token(element_value(3, element)), DONE, empty(max(1, rank))]
    for token in tokens:
        header, words = pack_header(token, format), []
        assert header < 1 << format.header.size
        if token.has_value and not format.control:
            words = pack_words(token.value, element, format)
            assert len(words) == format.words and max(words) < 1 << format.word_bits
        value = unpack_words(words, element, format) if words else None
        if format.control:
            value = unpack_element(header >> format.header_bits, element)
        assert str(unpack_header(header, format, value)) == str(token)
    transfers = [each for token in tokens for each in pack_transfers(token, element, format)]
    assert max(transfers) < 1 << format.header_bits + 1 + data_bits(format)
    assert len(transfers) == 2 * format.cycles + 2
    assert str(unpack_transfers(transfers, element, format)) == str(tokens)


@pytest.mark.parametrize("link_bytes", [1, 4, 64])
@pytest.mark.parametrize("dtype", [BF16, INT8, BOOL], ids=str)
def test_tiles_of_dynamic_size_come_back(dtype, link_bytes):
    element, fabric = Tile(dtype, Graph("rows").symbol("R"), 5), FabricConfig(link_bytes=link_bytes, dynamic_rows=4)
    format = TokenFormat.element(1, element, fabric)
    tokens = [Token(element_value(number, element.with_rows(number)), number % 2) for number in range(5)]
    assert [format.words_of(len(each.value)) for each in tokens] == [
        -(-each.value.size * dtype.bits // (8 * link_bytes)) for each in tokens
    ]
    transfers = [each for token in [*tokens, DONE] for each in pack_transfers(token, element, format)]
    assert max(transfers) < 1 << format.header_bits + 1 + data_bits(format)
    assert len(transfers) == sum(max(1, format.words_of(len(each.value))) for each in tokens) + 1
    assert str(unpack_transfers(transfers, element, format)) == str([*tokens, DONE])
    assert (format.words, format.header.size) == (format.words_of(4), 4 + 3)


@pytest.mark.parametrize("link_bytes", [4, 64])
def test_tuples_of_dynamic_size_come_back(link_bytes):
    """They know their rows, as those of the interpreter do, in tuples inside of tuples too."""
    tile = Tile(INT8, Graph("rows").symbol("R"), 5)
    element, fabric = Tuple((Selector(3), Tuple((tile, Tile(UINT32))))), FabricConfig(link_bytes=link_bytes)
    format = TokenFormat.element(1, element, fabric)
    tokens = [Token(_rowed(rows, element), rows % 2) for rows in range(3)]
    transfers = [each for token in [*tokens, DONE] for each in pack_transfers(token, element, format)]
    assert same(unpack_transfers(transfers, element, format), [*tokens, DONE])


def _rowed(rows, element):
    if not isinstance(element, Tuple):
        return element_value(rows, with_rows(element, rows))
    return tuple_of(element.items)([_rowed(rows, item) for item in element.items])


def test_the_order_of_bits():
    tile = np.array([[1, 2], [3, -1]], np.int8)
    format = TokenFormat.element(2, Tile(INT8, 2, 2), FabricConfig(link_bytes=64))
    assert format == TokenFormat(2, (32,), 512)
    assert (format.word_bits, format.words, format.header.size) == (32, 1, 6)
    assert (pack_header(Token(tile, 2), format), pack_words(tile, Tile(INT8, 2, 2), format)) == (0b001010, [0xFF030201])
    assert pack_header(DONE, format) == 1
    assert pack_header(empty(1), format) == 0b010100
    assert TokenFormat(0, (8,), 8).stop_bits == 1


def test_items_of_a_tuple_start_words():
    element = Tuple((Tile(INT8, 1, 5), Tile(INT8, 1, 2)))
    format = TokenFormat.element(0, element, FabricConfig(link_bytes=4))
    assert (format.word_bits, format.item_words, format.words) == (32, (2, 1), 3)
    value = np.array([[1, 2, 3, 4, 5]], np.int8), np.array([[6, 7]], np.int8)
    assert pack_words(value, element, format) == [0x04030201, 0x05, 0x0706]


def test_what_is_not_carried_has_no_words():
    format = TokenFormat.element(1, None, FabricConfig(link_bytes=64))
    assert (format.word_bits, format.words, format.cycles, format.header.size, data_bits(format)) == (0, 0, 1, 4, 0)
    assert pack_transfers(Token(5, 1), Tile(INT8), format) == [1 << 4 | 0b0110]


@pytest.mark.parametrize("tile", [each for each in ELEMENTS if isinstance(each, Tile)], ids=str)
def test_tiles_come_back_from_memory(tile):
    tiles = np.stack([element_value(number, tile) for number in range(4)])
    image = pack_tiles(tiles, tile, 4)
    assert len(image) % 16 == 0
    assert np.array_equal(unpack_tiles(image, tile, 4), tiles)


def test_a_tile_starts_on_a_beat():
    tiles = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.int8)
    assert pack_tiles(tiles, Tile(INT8, 1, 3), 4) == bytes([1, 2, 3, 0, 4, 5, 6, 0])
