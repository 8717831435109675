"""PermittedStore: writes a tile to off-chip memory for every permit."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.draft import Draft
from step.language.faults import aligned
from step.language.operator import (
    Access,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    each_input,
    expect,
    expect_same_shape,
)
from step.language.stream import Stream, stream_method
from step.language.types import Tile

PERMIT, DATA = 0, 1


@dataclass(frozen=True)
class PermittedStore(Operator):
    """Stores the tiles of its second stream linearly, each together with an element of the first one."""

    output_names = ()
    ends_run = True

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 2, f"a permitted store takes permits and tiles, not {len(inputs)} streams")
        expect(isinstance(inputs[DATA].element, Tile), f"a store needs tiles, not {inputs[DATA].element}")
        expect_same_shape(inputs)
        return ()

    def process(self, node: Placed, around: Surroundings) -> Process:
        while True:
            tokens = yield from each_input(node)
            if aligned(*tokens).done:
                return
            around.collect(tokens[DATA])

    def writes(self, node: Placed) -> Access:
        data = node.input_types[DATA]
        assert isinstance(data.element, Tile)
        return Access(data.element, int(data.count) if data.count.is_Integer else None, port=DATA)


@stream_method
def store_permitted(stream: Stream, permits: Stream, name: str) -> None:
    """Write the tiles to off-chip memory as the program's output ``name``, one for each of the ``permits``."""
    stream.graph.add(PermittedStore(), [permits, stream], name=name)


def sample(draft: Draft) -> None:
    """Static tiles, with permits of their type."""
    piece = draft.pick(lambda each: each.is_tile and each.element.is_static)
    if piece:
        draft.read(piece).store_permitted(draft.read(draft.partner(piece, piece.element)), draft.name("y"))
