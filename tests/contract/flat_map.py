"""FlatMap: pieces of a tile, and numbers that are counted."""

from __future__ import annotations

import numpy as np
from meaning.nested import inside

from contract.draft import Draft
from step.functions.counting import CountFrom
from step.functions.retile import RetileStreamify
from step.language.dtypes import UINT32
from step.language.types import Tile


def contract(draft: Draft) -> None:
    if draft.flag():
        x = draft.stream(Tile(UINT32))
        counts = inside(x.rank + 1, lambda _: np.array([[draft.number(0, 3)]], np.uint32), draft.nested(x))
        draft.sink(x.flat_map(CountFrom(), draft.play(Tile(UINT32), counts, x.shape)))
        return
    tile = draft.tile()
    axis = draft.one_of("row", "col")
    extent = tile.shape[axis == "col"]
    chunk = draft.one_of(*(each for each in range(1, extent + 1) if extent % each == 0))
    draft.sink(draft.stream(tile, most=3).flat_map(RetileStreamify(chunk, axis, draft.number(0, 1))))
