"""RandomOffChipStore: a tile of an off-chip tensor is written at every address."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from step.errors import TypeMismatch
from step.language.draft import Draft
from step.language.dtypes import BOOL
from step.language.faults import Fault, Violation, aligned
from step.language.graph import Tensor
from step.language.operator import Access, Names, Placed, Process, StreamType, Surroundings, expect, expect_same_shape
from step.language.stream import Stream, stream_method
from step.language.tiling import _TiledAccess, fills, rows_and_columns
from step.language.types import Tile

ADDRESS, DATA = 0, 1


class RandomOffChipStore(_TiledAccess):
    """Writes every tile of the data into ``tensor``, at its address: the index in the tiled tensor, row-major.

    The output is an acknowledgement (true) of every write, in the shape of the addresses; it leaves once the write is
    visible, so whatever reads the tensor behind it sees the tile. What the tensor holds at the end is an output of the
    program, under the tensor's name. An address that the tensor does not have is a fault, and so is a tile of dynamic
    size that has not the rows of those in the tensor.

    >>> graph = Graph("random_off_chip_store")
    >>> rows, at = graph.source("rows", Tile(BF16, 1, 4), [3]), graph.source("at", Tile(UINT32), [3])
    >>> rows.store_random(graph.tensor("cache", (8, 4), BF16), at).sink("done")
    """

    control = (ADDRESS,)
    data = ()  # an acknowledgement only says when
    ends_run = True

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 2, f"a random store takes addresses and data, not {len(inputs)} streams")
        self.tiling.check()
        self.expect_addresses(inputs[ADDRESS])
        data, expected = inputs[DATA].element, self.tiling.element
        expect(fills(data, expected), f"tensor {self.tensor.name!r} is stored in {expected}, not in {data}")
        return (StreamType(Tile(BOOL), expect_same_shape(inputs)),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        tiles = around.tiles()
        done = False
        while not done:
            tokens = [(yield ADDRESS), (yield DATA)]
            token = aligned(*tokens)
            if token.has_value:
                place = self.place(token.value)
                if len(tokens[DATA].value) != self.tile[0]:
                    raise Violation(Fault.ROWS_DO_NOT_FILL)
                tiles[place] = tokens[DATA].value
                token = token._replace(value=np.ones((1, 1), np.bool_))
            around.emit(0, token)
            done = token.done

    def fault_ports(self, fault: Fault, inputs: int) -> tuple[int, ...]:
        return (DATA,) if fault is Fault.ROWS_DO_NOT_FILL else super().fault_ports(fault, inputs)

    def fault_text(self, fault: Fault) -> str:
        stored = f": tensor {self.tensor.name!r} is stored in tiles of {self.tile[0]} rows"
        return super().fault_text(fault) + stored * (fault is Fault.ROWS_DO_NOT_FILL)

    def writes(self, node: Placed) -> Access:
        return Access(self.tiling.element, self.tiling.count, tensor=self.tensor.name, port=DATA, acknowledged=True)


@stream_method
def store_random(
    data: Stream, tensor: Tensor, addresses: Stream, *, tile: Sequence[int] | None = None, name: str | None = None
) -> Stream:
    """Write every tile of ``data`` into ``tensor`` at its address; returns the acknowledgements.

    ``tile`` (rows, cols) says how the tensor is cut; only tiles of dynamic size need it, and have to have its rows.
    """
    match data.element:
        case _ if tile is not None:
            rows, cols = rows_and_columns(tile)
        case Tile() as element if element.is_static:
            rows, cols = element.shape
        case Tile() as element:
            raise TypeMismatch(
                f"store_random needs tile=(rows, columns), in which tensor {tensor.name!r} is cut, as {element} does "
                "not say so"
            )
        case _:  # which is refused
            rows, cols = tensor.shape[-2:]
    return data.graph.add(RandomOffChipStore(tensor, (rows, cols)), [addresses, data], name=name)[0]


WEIGHT = 2


def sample(draft: Draft) -> None:
    """Tiles to addresses of their own."""
    if piece := draft.pick(lambda each: each.is_tile and not each.timed):
        tile, number = piece.element, len(piece.elements)
        where = draft.numbers(piece, draft.random.sample(range(number + 2), number), "at")
        draft.keep(draft.read(piece).store_random(draft.tensor_of(tile, number + 2), draft.read(where)))
