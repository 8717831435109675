"""RandomOffChipStore: any tiles at any addresses that the tensor has, some of them again and again."""

from __future__ import annotations

from contract.draft import Draft
from contract.random_off_chip_load import addresses, cut


def contract(draft: Draft) -> None:
    tensor, tile, tiles = cut(draft)
    data = draft.stream(tile, most=3)
    acknowledged = data.store_random(tensor, addresses(draft, data, tiles))
    if draft.flag():
        draft.sink(acknowledged)
