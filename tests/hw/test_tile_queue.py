"""The memory of a load's queue, as `step.lowering.storage` counts it."""

import pytest

from hw.links.layout import TileFormat
from hw.links.tile_queue import TileQueue
from step.lowering.storage import queued_tiles


@pytest.mark.parametrize("words", [1, 2, 4])
def test_the_queue_has_places_for_the_tiles_that_are_counted(words: int) -> None:
    """Tiles of 16 bits a word, from beats of the same width, with 3 outstanding: no place is padding."""
    module = TileQueue(TileFormat(16, words), 16, words, 3, block_ram=False).elaborate(None)
    memory = module.submodules.rows
    tiles = 4 if words == 4 else 3
    assert memory.depth == tiles * words and queued_tiles(3, words) == tiles
