"""Bits of tokens and tiles."""

from __future__ import annotations

import numpy as np
import pytest
from scenarios import element_value

from hw.layout import TokenFormat, pack_tiles, pack_token, unpack_tiles, unpack_token
from step.language.dims import dim
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.operator import StreamType
from step.language.tokens import DONE, Token, empty
from step.language.types import Selector, Tile, Tuple

ELEMENTS = [
    Tile(BF16, 2, 3), Tile(FP32, 3, 1), Tile(INT8, 1, 5), Tile(INT32), Tile(UINT32, 2, 2), Tile(BOOL, 3, 3),
    Selector(5),
    Tuple((Tile(BOOL, 1, 3), Tile(BF16), Tuple((Selector(3), Tile(INT8))))),
]  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_tokens_come_back(element, rank):
    stream = StreamType(element, (dim(1),) * (rank + 1))
    for token in (Token(element_value(5, element), rank), Token(element_value(3, element)), DONE, empty(rank)):
        word = pack_token(token, stream)
        assert word < 1 << TokenFormat.of(stream).width
        assert str(unpack_token(word, stream)) == str(token)


def test_the_order_of_bits():
    tile = np.array([[1, 2], [3, -1]], np.int8)
    stream = StreamType(Tile(INT8, 2, 2), (dim(1),) * 3)
    assert TokenFormat.of(stream) == TokenFormat(2, 32)
    assert pack_token(Token(tile, 2), stream) == 0xFF030201 << 6 | 0b001010
    assert pack_token(DONE, stream) == 1
    assert pack_token(empty(1), stream) == 0b010100
    assert TokenFormat(0, 8).stop_bits == 1


@pytest.mark.parametrize("tile", [each for each in ELEMENTS if isinstance(each, Tile)], ids=str)
def test_tiles_come_back_from_memory(tile):
    tiles = np.stack([element_value(number, tile) for number in range(4)])
    image = pack_tiles(tiles, tile, 4)
    assert len(image) % 16 == 0
    assert np.array_equal(unpack_tiles(image, tile, 4), tiles)


def test_a_tile_starts_on_a_beat():
    tiles = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.int8)
    assert pack_tiles(tiles, Tile(INT8, 1, 3), 4) == bytes([1, 2, 3, 0, 4, 5, 6, 0])
