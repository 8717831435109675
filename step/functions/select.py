"""Functions that make selectors, or keep of scores what a selector would have."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from step.errors import TypeMismatch, expect
from step.language import numerics
from step.language.dims import Shape
from step.language.dtypes import BOOL, ORDERED, UINT32, dtype_of
from step.language.function import NUMBER, AccumFunction, MapFunction, Sample, below, mismatch, one_tile
from step.language.parameters import Count
from step.language.types import ElementType, Selector, Tile


class SelectValid(MapFunction):
    """Selector of one target for a real element, and of none for padding.

    The operand is a padding flag, a tile of one BOOL (true: padding). No FLOPs.

    >>> graph = Graph()
    >>> graph.source("padding", Tile(BOOL), [3]).map(SelectValid()).sink("y")
    >>> step.run(graph, "interpret", inputs={"padding": [False, True, False]}).outputs["y"].numpy().tolist()
    [[True], [False], [True]]
    """

    keeps_data = True

    def result_type(self, *inputs: ElementType) -> Selector:
        if inputs != (Tile(BOOL),):
            raise mismatch(self, f"one padding flag, a {Tile(BOOL)}", inputs)
        return Selector(1)

    def apply(self, value: np.ndarray) -> int:
        return int(not value[0, 0])


@dataclass(frozen=True)
class SelectAll(MapFunction):
    """Selector with all of ``targets`` targets, whatever the element is.

    ``targets``: an integer >= 1; else `TypeMismatch`. No FLOPs.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [2]).map(SelectAll(3)).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [1, 2]}).outputs["y"].numpy().tolist()
    [[True, True, True], [True, True, True]]
    """

    targets: Count

    reads_operands = False

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        return Sample(cls(random.randint(1, 3)), (element,))

    def result_type(self, *inputs: ElementType) -> Selector:
        if len(inputs) != 1:
            raise mismatch(self, "one element", inputs)
        return Selector(self.targets)

    def apply(self, value: Any) -> int:
        return (1 << self.targets) - 1


@dataclass(frozen=True)
class SelectIndices(MapFunction, AccumFunction):
    """Selector over ``targets`` targets of an index, a tile of one UINT32; of a reduction, of all its indices.

    ``targets``: an integer >= 1. No FLOPs.

    A reduction of none has no target. An index that is not below ``targets``, or that comes twice in a reduction, is a
    fault. `step.library.selector_of` takes rows of indices.

    >>> graph = Graph()
    >>> graph.source("experts", Tile(UINT32), [2, 2]).accum(SelectIndices(4)).sink("y")
    >>> step.run(graph, "interpret", inputs={"experts": [[0, 2], [3, 1]]}).outputs["y"].numpy().astype(int).tolist()
    [[1, 0, 1, 0], [0, 1, 0, 1]]
    """

    targets: int

    indices = (0,)

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample | None:
        targets = random.randint(1, 5)
        return None if reduce else Sample(cls(targets), (NUMBER,), {0: below(targets)})  # random ones come twice

    def out_of_range(self) -> str:
        return f"an index is not one of 0 to {self.targets - 1}, or comes twice"

    def bound(self, port: int, *inputs: ElementType) -> int:
        return self.targets

    def result_type(self, *inputs: ElementType) -> Selector:
        if inputs != (NUMBER,):
            raise mismatch(self, f"the index of a target, a {NUMBER}", inputs)
        return Selector(self.targets)

    def state_type(self, reduced: Shape, *inputs: ElementType) -> Selector:
        return self.result_type(*inputs)

    def apply(self, value: np.ndarray) -> int:
        return 1 << int(value.item())

    def initial(self, state: ElementType) -> int:
        return 0

    def update(self, state: int, value: np.ndarray) -> int:
        return state | self.apply(value)


@dataclass(frozen=True)
class TargetIndices(MapFunction):
    """Indices of the ``k`` targets that a selector has, in ascending order: a ``[1, k]`` tile of UINT32.

    ``k``: 1 to the number of targets; else `TypeMismatch`. No FLOPs.

    A selector with more targets set, or fewer, is a fault. `step.library.indices_of` makes a stream of them.

    >>> graph = Graph()
    >>> graph.selectors("which", 4, [2]).map(TargetIndices(2)).sink("y")
    >>> step.run(graph, "interpret", inputs={"which": step.masks([0b0101, 0b1100])}).outputs["y"].numpy().tolist()
    [[[0, 2]], [[2, 3]]]
    """

    k: int

    indices = (0,)

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        selector = element if isinstance(element, Selector) else Selector(random.randint(1, 5))
        k = random.randint(1, selector.targets)
        some = lambda random: sum(1 << each for each in random.sample(range(selector.targets), k))  # noqa: E731
        return Sample(cls(k), (selector,), {0: some})

    def out_of_range(self) -> str:
        return f"a selector does not have {self.k} target{'s' * (self.k > 1)}"

    def bound(self, port: int, *inputs: ElementType) -> int:
        return self.k

    def result_type(self, *inputs: ElementType) -> Tile:
        match inputs:
            case (Selector(targets=targets),):
                if not 1 <= self.k <= targets:
                    raise TypeMismatch(f"target_indices needs k to be 1 to {targets}, the targets, not {self.k!r}")
                return Tile(UINT32, 1, self.k)
        raise mismatch(self, "a selector", inputs)

    def apply(self, value: int) -> np.ndarray:
        return np.array([[at for at in range(value.bit_length()) if value >> at & 1]], np.uint32)


@dataclass(frozen=True)
class TopK(MapFunction):
    """Selector of the ``k`` largest scalars of a ``[1, n]`` tile, of equal ones the first; it has n targets.

    ``k``: 1 to n; else `TypeMismatch`. The operand is of BF16, FP32, INT8 or INT32. No FLOPs.

    +0 is larger than -0, subnormal numbers are zeros, and NaN is larger than all numbers, as in `RowMax`.

    >>> graph = Graph()
    >>> graph.source("scores", Tile(FP32, 1, 4), [1]).map(TopK(2)).sink("y")
    >>> step.run(graph, "interpret", inputs={"scores": [[[0.1, 0.4, 0.2, 0.3]]]}).outputs["y"].numpy().tolist()
    [[False, True, False, True]]
    """

    k: int

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        row = element
        if not isinstance(row, Tile) or int(row.rows) > 1:
            row = Tile(random.choice(ORDERED), 1, random.randint(1, 5))
        return Sample(cls(random.randint(1, int(row.cols))), (row,))

    def result_type(self, *inputs: ElementType) -> Selector:
        wanted = "a [1, n] tile of BF16, FP32, INT8 or INT32"
        tile = one_tile(self, inputs, wanted, lambda row: row.dtype in ORDERED and row.is_static and row.shape[0] == 1)
        targets = tile.shape[1]
        expect(1 <= self.k <= targets, f"top_k needs k to be 1 to {targets}, the scalars of {tile}, not {self.k!r}")
        return Selector(targets)

    def apply(self, value: np.ndarray) -> int:
        best = np.argsort(-numerics.order(value.ravel()), kind="stable")[: self.k]
        return sum(1 << int(target) for target in best)


@dataclass(frozen=True)
class KeepTopK(MapFunction):
    """Rows with their ``k`` largest scalars, of equal ones the first, and zeros in the place of others.

    ``k``: 1 to the number of columns; else `TypeMismatch`. The operand is a static ``[rows, cols]`` of BF16, FP32, INT8
    or INT32, and its format stays. No FLOPs.

    +0 is larger than -0, subnormal numbers are zeros, and NaN, which becomes the canonical one, is larger than all
    numbers: what stays is what `TopK` selects.

    >>> graph = Graph()
    >>> graph.source("scores", Tile(FP32, 1, 4), [1]).map(KeepTopK(2)).sink("y")
    >>> step.run(graph, "interpret", inputs={"scores": [[[0.5, 4, 2, 3]]]}).outputs["y"].numpy().tolist()
    [[[0.0, 4.0, 0.0, 3.0]]]
    """

    k: int

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        most = int(element.cols) if isinstance(element, Tile) and element.cols.is_static else 1
        return Sample(cls(random.randint(1, most)), (element,))

    def result_type(self, *inputs: ElementType) -> Tile:
        wanted = "1 static tile of BF16, FP32, INT8 or INT32"
        tile = one_tile(self, inputs, wanted, lambda tile: tile.dtype in ORDERED and tile.is_static)
        columns = f"1 to {tile.shape[1]}, the columns of {tile}"
        expect(1 <= self.k <= tile.shape[1], f"keep_top_k needs k to be {columns}, not {self.k!r}")
        return tile

    def apply(self, value: np.ndarray) -> np.ndarray:
        best = np.argsort(-numerics.order(value), axis=1, kind="stable")[:, : self.k]
        flushed, kept = numerics.convert(value, dtype_of(value)), np.zeros_like(value)
        np.put_along_axis(kept, best, np.take_along_axis(flushed, best, axis=1), axis=1)
        return kept
