"""Comparing scalars, and choosing by the result."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from random import Random

import numpy as np

from step.errors import TypeMismatch
from step.language import numerics
from step.language.dtypes import BOOL, DTYPES, FLOATS, INTEGERS, dtype_of
from step.language.expecting import expect_element
from step.language.function import TILES, MapFunction, Sample, mismatch
from step.language.scalars import alike, broadcast, listed, tiles_of
from step.language.types import ElementType, Tile

RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Compare(MapFunction):
    """Truth of ``first relation second``, scalar by scalar: a tile of BOOL.

    ``relation``: one of ``<``, ``<=``, ``==``, ``!=``, ``>=`` and ``>``.

    Operands are two tiles ``[rows, cols]``, of which an extent of 1 is repeated to fit. BF16 and FP32 may mix, others
    have the same format. Zeros are equal, and subnormal numbers are zeros; with NaN only ``!=`` is true. Of BOOL true
    is the larger one. 1 FLOP per scalar. Raises `TypeMismatch` for another relation.

    >>> graph = Graph()
    >>> x, y = (graph.source(name, Tile(FP32), [3]) for name in ("x", "y"))
    >>> x.map(Compare("<="), y).sink("z")
    >>> step.run(graph, "interpret", inputs={"x": [1, 2, 3], "y": [2, 2, 2]}).outputs["z"].numpy().ravel().tolist()
    [True, True, False]
    """

    relation: str

    cost = 1

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        tile = expect_element(element, Tile, TILES)
        return Sample(cls(random.choice([*RELATIONS])), (tile, alike(random, tile)))

    def result_type(self, *inputs: ElementType) -> Tile:
        if self.relation not in RELATIONS:
            raise TypeMismatch(f"compare needs relation to be one of {' '.join(RELATIONS)}, not {self.relation!r}")
        tiles_of(self, inputs, 2, (*FLOATS, *INTEGERS, BOOL))
        return Tile(BOOL, *broadcast(self, inputs))

    def apply(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        if dtype_of(first).is_float:
            with numerics.quiet():
                first, second = numerics.widen(first), numerics.widen(second)
        return RELATIONS[self.relation](first, second)


class Where(MapFunction):
    """Scalars of the second tile where the first one, of BOOL, is true, else of the third one.

    Operands are tiles ``[rows, cols]``, of which an extent of 1 is repeated to fit; the second and the third one have
    the same format. All bits stay as they are. No FLOPs.

    >>> graph = Graph()
    >>> x, y = (graph.source(name, Tile(FP32), [3]) for name in ("x", "y"))
    >>> (x > y).map(Where(), x, y).sink("larger")
    >>> step.run(graph, "interpret", inputs={"x": [1, 2, 3], "y": [2, 2, 2]}).outputs["larger"].numpy().ravel().tolist()
    [2.0, 2.0, 3.0]
    """

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        tile = expect_element(element, Tile, TILES)
        other = alike(random, tile, ())
        return Sample(cls(), (Tile(BOOL, *alike(random, tile).shape), *random.choice([(tile, other), (other, tile)])))

    def result_type(self, *inputs: ElementType) -> Tile:
        tiles = [each for each in inputs if isinstance(each, Tile)]
        dtypes = [each.dtype for each in tiles]
        if len(inputs) != 3 or len(tiles) != 3 or dtypes[0] is not BOOL or dtypes[1] is not dtypes[2]:
            wanted = f"a tile of {BOOL} and 2 tiles of the same format ({listed([*DTYPES.values()])})"
            raise mismatch(self, wanted, inputs)
        return Tile(dtypes[1], *broadcast(self, inputs))

    def apply(self, condition: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.where(condition, first, second)
