"""RandomOffChipLoad: any addresses that the tensor has."""

from __future__ import annotations

import numpy as np
from meaning.nested import inside

from contract.draft import Draft
from step.language.dtypes import UINT32
from step.language.graph import Tensor
from step.language.stream import Stream
from step.language.types import Tile


def contract(draft: Draft) -> None:
    tensor, tile, tiles = cut(draft)
    shaped = draft.stream(Tile(UINT32), most=3)
    draft.sink(shaped)
    draft.sink(addresses(draft, shaped, tiles).load_random(tensor, tile=tile.shape))


def cut(draft: Draft) -> tuple[Tensor, Tile, int]:
    """A tensor, a tile that it is cut into, and how many of them it has."""
    tile, height, width = draft.tile(most=3), draft.number(1, 3), draft.number(1, 3)
    rows, cols = tile.shape
    name = draft.name("t")
    draft.inputs[name] = draft.value(Tile(tile.dtype, height * rows, width * cols))
    return draft.graph.tensor(name, (height * rows, width * cols), tile.dtype), tile, height * width


def addresses(draft: Draft, stream: Stream, tiles: int) -> Stream:
    """Addresses below ``tiles`` in the shape of a source."""
    nested = inside(
        stream.rank + 1, lambda _: np.array([[draft.number(0, tiles - 1)]], np.uint32), draft.nested(stream)
    )
    return draft.play(Tile(UINT32), nested, stream.shape)
