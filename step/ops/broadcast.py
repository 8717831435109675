"""Broadcast: one stream for several readers. The compiler inserts it; users never write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.language.draft import Draft
from step.language.operator import Names, Operator, Placed, StreamType, expect
from step.language.padding import Padding


@dataclass(frozen=True)
class Broadcast(Operator):
    """Copies every token to ``copies`` outputs, in the cycle in which all of them have space.

    >>> graph = Graph("broadcast")
    >>> x = graph.source("x", Tile(FP32), [4])
    >>> x.map(Add(), x).sink("twice")  # read by two ports
    """

    copies: int

    inserted = True

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(str(copy) for copy in range(self.copies))

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(self.copies >= 2, f"copies must be at least 2, not {self.copies}")
        return inputs * self.copies

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        return (inputs[0],) * self.copies


WEIGHT = 1


def sample(draft: Draft) -> None:
    """A stream that two read."""
    if piece := draft.pick():
        for _ in range(2):
            draft.read(piece).sink(draft.name("y"))
