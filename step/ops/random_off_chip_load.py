"""RandomOffChipLoad: a tile of an off-chip tensor for every address."""

from __future__ import annotations

from collections.abc import Sequence

from step.language.draft import Draft
from step.language.function import NUMBER
from step.language.graph import Tensor
from step.language.operator import Access, Names, Placed, StreamType, expect
from step.language.stream import Stream, stream_method
from step.language.tiling import _TiledAccess, rows_and_columns


class RandomOffChipLoad(_TiledAccess):
    """Reads the tile of ``tensor`` at every address: its index in the tiled tensor, row-major.

    The output has the shape of the addresses. An address that the tensor does not have is a fault.

    >>> graph = Graph("random_off_chip_load")
    >>> experts = graph.source("experts", Tile(UINT32), [3])
    >>> experts.load_random(graph.tensor("weights", (8, 4), BF16), tile=(4, 4)).sink("tiles")
    """

    control = (0,)
    data = ()

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 1, f"a random load takes one stream of addresses, not {len(inputs)} streams")
        self.tiling.check()
        self.expect_addresses(inputs[0])
        return (StreamType(self.tiling.element, inputs[0].shape),)

    def reads(self, node: Placed) -> Access:
        return Access(self.tiling.element, self.tiling.count, tensor=self.tensor.name)


@stream_method
def load_random(addresses: Stream, tensor: Tensor, *, tile: Sequence[int], name: str | None = None) -> Stream:
    """Read the tile of ``tensor`` at every address, in tiles of ``tile`` (rows, cols)."""
    return addresses.graph.add(RandomOffChipLoad(tensor, rows_and_columns(tile)), [addresses], name=name)[0]


_MOST = 200
"""Tiles of a tensor."""


def sample(draft: Draft) -> None:
    """Tiles at addresses that are there, or in the shape of any stream."""
    if piece := draft.pick(lambda each: not each.timed):
        tile, tiles, where = draft.tile(), draft.random.randint(1, 9), piece
        highest = _MOST
        if piece.element == NUMBER:
            highest = max((int(each.item()) for each in piece.elements), default=0)
        if highest < _MOST:
            tiles = highest + 1
        else:
            wanted = draft.random.choices(range(tiles), k=len(piece.elements))
            where = draft.numbers(piece, wanted, "at")
        draft.keep(draft.read(where).load_random(draft.tensor_of(tile, tiles), tile=tile.shape))
