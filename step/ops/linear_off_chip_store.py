"""LinearOffChipStore: writes the tiles of a stream to off-chip memory, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from step.language.operator import (
    Access,
    Accounting,
    Kind,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    double_buffered,
    expect,
)
from step.language.stream import Stream, stream_method
from step.language.types import Tile
from step.samples.draft import Draft


@dataclass(frozen=True)
class LinearOffChipStore(Operator):
    """Stores the tiles linearly; stops do not matter. The tiles are an output of the program, under the node's name.

    >>> graph = Graph("linear_off_chip_store")
    >>> x = graph.source("x", Tile(BF16, 4, 4), [2, 2])
    >>> x.store("y")
    """

    output_names = ()
    kind = Kind.OFF_CHIP
    ends_run = True

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 1, f"a linear store takes one stream, not {len(inputs)}")
        expect(isinstance(inputs[0].element, Tile), f"a store needs tiles, not {inputs[0].element}")
        return ()

    def process(self, node: Placed, around: Surroundings) -> Process:
        while not (token := (yield 0)).done:
            around.collect(token)

    def writes(self, node: Placed) -> Access:
        (stream,) = node.input_types
        assert isinstance(stream.element, Tile)
        return Access(stream.element, int(stream.count) if stream.count.is_Integer else None)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        return double_buffered(node.input_types[0].element, accounting)


@stream_method
def store(stream: Stream, name: str) -> None:
    """Write the tiles to off-chip memory as the program's output ``name``."""
    stream.graph.add(LinearOffChipStore(), [stream], name=name)


WEIGHT = 1


def sample(draft: Draft) -> None:
    """An output of tiles."""
    if piece := draft.pick(lambda each: each.is_tile):
        draft.read(piece).store(draft.name("y"))
