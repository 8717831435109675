"""Functions that count: rows of numbers from operands that say how many."""

from __future__ import annotations

from random import Random

import numpy as np

from step.language.dtypes import UINT32
from step.language.function import NUMBER, CountedFunction, Sample, below, mismatch
from step.language.types import ElementType, Tile


class CountFrom(CountedFunction):
    """Numbers ``first, first + 1, ..``, as many as ``count`` says: a function of FlatMap.

    Operands, ``first`` and ``count``, and numbers are tiles of one UINT32, modulo 2^32. No FLOPs.

    >>> graph = Graph()
    >>> first, count = (graph.source(name, Tile(UINT32), [2]) for name in ("first", "count"))
    >>> first.flat_map(CountFrom(), count).sink("y")
    >>> step.run(graph, "interpret", inputs={"first": [10, 20], "count": [3, 1]}).outputs["y"].ragged().values.ravel()
    array([10, 11, 12, 20], dtype=uint32)
    """

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        count = random.choice([1, 2, 5])  # below 1 all are 0, so that rows without any number occur
        return Sample(cls(), (NUMBER, NUMBER), {1: below(count)})

    def result_type(self, *inputs: ElementType) -> Tile:
        if inputs != (Tile(UINT32), Tile(UINT32)):
            raise mismatch(self, f"a first number and a count, two of {Tile(UINT32)}", inputs)
        return Tile(UINT32)

    def pieces(self, first: np.ndarray, count: np.ndarray) -> int:
        return int(count.item())

    def piece(self, index: int, first: np.ndarray, count: np.ndarray) -> np.ndarray:
        return np.array([[(int(first.item()) + index) % 2**32]], UINT32.numpy)
