"""The common part of functions that treat every scalar alike: formats, repeated operands, rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy as np
import sympy

from step.language import numerics
from step.language.dims import Dim, Shape, dim
from step.language.dtypes import BF16, FLOATS, FP32, INT8, INT32, INTEGERS, DType, dtype_of
from step.language.function import AccumFunction, Function, MapFunction, Sample, mismatch, wrong_parameter
from step.language.types import ElementType, Tile


def listed(dtypes: Sequence[DType]) -> str:
    """Formats as a text: ``BF16, FP32 or INT8``."""
    names = [each.name for each in dtypes]
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def tiles_of(
    function: Function, inputs: tuple[ElementType, ...], count: int, formats: Sequence[DType] = FLOATS
) -> list[Tile]:
    """``inputs`` as ``count`` tiles of ``formats``; raises `TypeMismatch` where they are not.

    BF16 and FP32 may mix; of other formats all tiles must have the same.
    """
    tiles = [each for each in inputs if isinstance(each, Tile) and each.dtype in formats]
    found = {each.dtype for each in tiles}
    if len(tiles) != len(inputs) or len(inputs) != count or not (len(found) == 1 or found <= {*FLOATS}):
        floats, others = ([each for each in formats if (each in FLOATS) is kind] for kind in (True, False))
        wanted = f"{listed(floats)}, or all of {listed(others)}" if count > 1 and floats and others else listed(formats)
        raise mismatch(function, f"{count} tile{'s' if count > 1 else ''} of {wanted}", inputs)
    return tiles


def broadcast(function: Function, inputs: Sequence[ElementType]) -> tuple[Dim, Dim]:
    """Rows and columns of the result for these tiles, of which each extent is the same, or 1 and repeated.

    Raises `TypeMismatch` where they do not fit.
    """
    rows = cols = dim(1)
    for tile in inputs:
        assert isinstance(tile, Tile)
        pair = _common(rows, tile.rows), _common(cols, tile.cols)
        if None in pair:
            raise mismatch(function, "tiles of the same shape, or with 1 row or 1 column to repeat", tuple(inputs))
        rows, cols = pair  # type: ignore[assignment]
    return rows, cols


def alike(random: Random, tile: Tile, formats: Sequence[DType] = FLOATS) -> Tile:
    """A tile that fits beside ``tile``, perhaps one that is repeated; of any of ``formats`` where it is of these."""
    dtype = random.choice([tile.dtype, *(formats if tile.dtype in formats else ())])
    return Tile(dtype, random.choice([tile.rows, tile.rows, dim(1)]), random.choice([tile.cols, tile.cols, dim(1)]))


def _common(first: Dim, second: Dim) -> Dim | None:
    """The common extent of two dimensions of which one may be 1; None where they do not fit."""
    if first == second or second == dim(1):
        return first
    return second if first == dim(1) else None


class Elementwise(MapFunction):
    """A function of one scalar of each operand, computed in FP32 or in integers, and rounded to ``out``.

    BF16 and FP32 may mix; ``out`` is then one of them, by default FP32 where an operand is FP32, else BF16. A function
    with ``integers`` takes tiles of one integer format as well: the result is that of unlimited integers, of which
    ``out``, by default the format of the operands, keeps the lowest bits (two's complement: it wraps around).
    """

    out: DType | None
    operands: ClassVar[int] = 1
    cost = 1
    combine: ClassVar[Callable[..., Any]]
    """The FP32 result for flushed FP32 operands."""
    integers: ClassVar[Callable[..., Any] | None] = None
    """The result for int64 operands, of which the lowest 32 bits count; None without an integer form."""

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        formats, tile = (*FLOATS, *INTEGERS) if cls.integers else FLOATS, element
        if not isinstance(tile, Tile) or tile.dtype not in formats:
            tile = Tile(random.choice(formats), random.randint(1, 4), random.randint(1, 4))
        elements = [alike(random, tile) for _ in range(cls.operands - 1 - reduce)]
        elements.insert(random.randint(0, len(elements)), tile)
        out = random.choice([None, *(FLOATS if tile.dtype.is_float else INTEGERS)])
        return Sample(cls(**cls.sample_parameters(random, tile) | {"out": out}), tuple(elements))

    @classmethod
    def sample_parameters(cls, random: Random, tile: Tile) -> dict[str, Any]:
        """Parameters of a `sample` on a ``tile`` beside ``out``."""
        return {}

    def _tiles(self, inputs: tuple[ElementType, ...], count: int) -> list[Tile]:
        tiles = tiles_of(self, inputs, count, (*FLOATS, *INTEGERS) if self.integers else FLOATS)
        formats = FLOATS if tiles[0].dtype.is_float else INTEGERS
        if self.out is not None and self.out not in formats:
            raise wrong_parameter(self, "out", listed(formats), inputs)
        return tiles

    def result_type(self, *inputs: ElementType) -> Tile:
        tiles = self._tiles(inputs, self.operands)
        return Tile(self.out or _widest(each.dtype for each in tiles), *broadcast(self, inputs))

    def apply(self, *values: np.ndarray) -> np.ndarray:
        return self.compute(self.out or _widest(map(dtype_of, values)), *values)

    def compute(self, out: DType, *values: np.ndarray) -> np.ndarray:
        """The result in the format ``out``."""
        if out.is_float:
            with numerics.quiet():
                return numerics.narrow(self.combine(*map(numerics.widen, values)), out)
        assert self.integers is not None
        return self.integers(*(each.astype(np.int64) for each in values)).astype(out.numpy)


def _widest(dtypes: Any) -> DType:
    """The format of a result: FP32 beside BF16, else that of all operands."""
    found = {*dtypes}
    return FP32 if FP32 in found else found.pop()


@dataclass(frozen=True)
class Rounded(Elementwise):
    """An `Elementwise` function whose first parameter is ``out``."""

    out: DType | None = None


class Folding(Rounded, AccumFunction):
    """An `Elementwise` function that also folds the elements of a reduction: the state is its first operand.

    The state starts at the ``identity``, and is rounded to its format after every element: to ``out``, by default FP32
    where elements are BF16, INT32 where they are INT8, else their format.
    """

    identity: ClassVar[float]

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Tile:
        tiles = self._tiles(inputs, self.operands - 1)
        wide = {BF16: FP32, INT8: INT32}
        dtype = _widest(each.dtype for each in tiles)
        return Tile(self.out or wide.get(dtype, dtype), *broadcast(self, inputs))

    def initial(self, state: Tile) -> np.ndarray:
        """The identity everywhere; a state of unknown extent has no scalars before the first element."""
        rows, cols = (int(each) if each.is_static else 0 for each in (state.rows, state.cols))
        return self._identities((rows, cols), state.dtype)

    def _identities(self, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        return numerics.convert(np.full(shape, self.identity, np.float32), dtype)

    def update(self, state: np.ndarray, *values: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(*(each.shape for each in values))
        if state.shape != shape:
            state = self._identities(shape, dtype_of(state))
        return self.compute(dtype_of(state), state, *values)

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        result = self.result_type(*inputs) if len(inputs) == self.operands else self.state_type((), *inputs)
        return self.cost * result.elements
