"""LinearOffChipStore: writes the tiles of a stream to off-chip memory, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.language.draft import Draft
from step.language.expecting import expect_element, only
from step.language.faults import Fault, Violation
from step.language.operator import Access, Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.stream import Stream, stream_method
from step.language.tiling import fills, rows_and_columns
from step.language.types import Tile


@dataclass(frozen=True)
class LinearOffChipStore(Operator):
    """Stores the tiles linearly; stops do not matter. The tiles are an output of the program, under the node's name.

    Where a tile of dynamic size lies in memory, and where the next one, says ``tile`` (rows, columns): one with other
    rows is a fault. Without it only the interpreter stores such tiles.

    >>> graph = Graph("linear_off_chip_store")
    >>> x = graph.source("x", Tile(BF16, 4, 4), [2, 2])
    >>> x.store("y")
    """

    tile: tuple[int, int] | None = None

    output_names = ()
    ends_run = True

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        data = expect_element(only(inputs, "a linear store takes").element, Tile, "a store needs tiles")
        if self.tile is not None:
            expected = Tile(data.dtype, *rows_and_columns(self.tile))
            expect(fills(data, expected), f"tiles are stored as {expected}, which {data} is not")
        return ()

    def process(self, node: Placed, around: Surroundings) -> Process:
        while not (token := (yield 0)).done:
            if self.tile is not None and token.has_value and len(token.value) != self.tile[0]:
                raise Violation(Fault.ROWS_DO_NOT_FILL)
            around.collect(token)

    def fault_text(self, fault: Fault) -> str:
        if fault == Fault.ROWS_DO_NOT_FILL and self.tile is not None:
            return f"{super().fault_text(fault)}: tiles of {self.tile[0]} rows are"
        return super().fault_text(fault)

    def writes(self, node: Placed) -> Access:
        (stream,) = node.input_types
        assert isinstance(stream.element, Tile)
        tile = stream.element if self.tile is None else stream.element.with_rows(self.tile[0])
        return Access(tile, int(stream.count) if stream.count.is_Integer else None)


@stream_method
def store(stream: Stream, name: str, *, tile: Sequence[int] | None = None) -> None:
    """Write the tiles to off-chip memory as the program's output ``name``.

    ``tile`` (rows, cols) says how large they are there; only tiles of dynamic size need it, and have to have its rows.
    """
    stream.graph.add(LinearOffChipStore(None if tile is None else rows_and_columns(tile)), [stream], name=name)


WEIGHT = 1


def sample(draft: Draft) -> None:
    """An output of tiles."""
    if piece := draft.pick(lambda each: each.is_tile):
        draft.read(piece).store(draft.name("y"))
