"""LinearOffChipLoad: any walk, once or along a reference."""

from __future__ import annotations

from contract.draft import Draft
from step.language.types import Tile


def contract(draft: Draft) -> None:
    tile, (height, width) = draft.tile(most=3), (draft.number(1, 3), draft.number(1, 3))
    rows, cols = tile.shape
    name = draft.name("t")
    tensor = draft.graph.tensor(name, (height * rows, width * cols), tile.dtype)
    draft.inputs[name] = draft.value(Tile(tile.dtype, height * rows, width * cols))
    out, stride, last = [], [], height * width - 1
    for _ in range(draft.number(1, 2)):
        extent = draft.number(1, 3)
        step = draft.number(0, last // (extent - 1)) if extent > 1 else 0
        last -= (extent - 1) * step
        out.append(extent)
        stride.append(step)
    reference = draft.stream(most=2) if draft.flag() else None
    offset = draft.number(0, last)
    draft.sink(draft.graph.load(tensor, tile=(rows, cols), out=out, stride=stride, offset=offset, reference=reference))
