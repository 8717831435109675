"""Generate: a stream that the program makes itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from step.errors import TypeMismatch
from step.language import numerics
from step.language.dims import DimKind, derive, shape
from step.language.dtypes import BF16, INTEGERS, UINT32, DType, as_dtype
from step.language.graph import Graph, graph_method
from step.language.loops import Stops, listed
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.stream import Stream
from step.language.tokens import DONE, Token, empty
from step.language.types import Selector, Tile

Constant = int | tuple[tuple[float, ...], ...]
"""The mask of a selector, or the rows of a tile."""

Targets = Sequence[int | Sequence[int]]


@dataclass(frozen=True)
class Generate(Operator):
    """Plays ``values`` one after the other, and again from the first one, whatever it is that they follow.

    The output is ``[*extents]``, or with a reference ``[*ref, *extents]``: as many per element of the reference, whose
    values do not matter. A range is integers of a 1x1 tile. Where the output has rank 0, the values ``before`` come
    first, and those ``behind`` when the reference is done.

    >>> graph = Graph("generate")
    >>> rows = graph.source("x", Tile(FP32), [3])
    >>> graph.count([2], reference=rows).sink("numbers")
    """

    element: Tile | Selector
    values: tuple[Constant, ...] | range
    extents: tuple[int, ...]
    before: tuple[Constant, ...] = ()
    behind: tuple[Constant, ...] = ()

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) <= 1, f"generate takes at most one reference, not {len(inputs)} streams")
        least = [1] * len(self.extents)
        if not inputs:
            expect(bool(self.extents), "without a reference there must be at least one dimension")
            least[0] = 0
        expect(
            all(each >= few for each, few in zip(self.extents, least, strict=True)),
            f"extents must be at least {least}, not {list(self.extents)}",
        )
        self._check_values()
        outer = inputs[0].shape if inputs else ()
        dims = (*outer, *shape(self.extents))
        more = len(self.before) + len(self.behind)
        if more:
            expect(len(dims) == 1, f"only a stream of rank 0 can have more before or behind, not {len(dims) - 1}")
            (count,) = dims
            dims = (derive(dims, count.extent + more, lambda: names.symbol("count", DimKind.RAGGED)),)
        return (StreamType(self.element, dims),)

    def _check_values(self) -> None:
        expect(len(self.values) > 0, "there must be at least one value")
        if isinstance(self.values, range):
            tile = self.element
            whole = isinstance(tile, Tile) and tile == Tile(tile.dtype) and tile.dtype.numpy.kind in "iu"
            expect(whole, f"a range is integers, 1x1 tiles, not {tile}")
            expect(not self.before and not self.behind, "a range has nothing before or behind it")
            for number in (self.values[0], self.values[-1]):
                expect(_has(tile, number), f"{number} is no {tile}")
            return
        for each in (*self.values, *self.before, *self.behind):
            expect(self._accepts(each), f"{each} is no {self.element}")

    def _accepts(self, constant: Constant) -> bool:
        if isinstance(self.element, Selector):
            return self.element.accepts(constant)
        try:
            return self.element.accepts(self._tile(constant))
        except (OverflowError, ValueError):  # integers that the format does not have, rows of different lengths
            return False

    def _tile(self, constant: Any) -> np.ndarray:
        assert isinstance(self.element, Tile)
        return np.array(constant, self.element.dtype.numpy)

    @property
    def constants(self) -> list[Any]:
        """All values of the lists: those before, those that are repeated, those behind."""
        assert not isinstance(self.values, range)
        listed = (*self.before, *self.values, *self.behind)
        return [each if isinstance(each, int) else self._tile(each) for each in listed]

    def number(self, index: int) -> np.ndarray:
        """Value ``index`` of a range, as a tile."""
        return self._tile([[self.values[index]]])

    def levels(self, referred: bool) -> Sequence[int]:
        """The own stops of the values that follow each other: for an element of the reference, or in all."""
        return listed(Stops(self.extents, len(self.extents) - (not referred)))

    def process(self, node: Placed, around: Surroundings) -> Process:
        referred = bool(node.input_types)
        levels, depth, period = self.levels(referred), len(self.extents), len(self.values)
        place, first = 0, len(self.before)
        values = None if isinstance(self.values, range) else self.constants
        for each in (values or [])[:first]:
            around.emit(0, Token(each))
        done = False
        while not done:
            reference = (yield 0) if referred else Token(None)
            if reference.has_value:
                for position, level in enumerate(levels):
                    value = self.number(place) if values is None else values[first + place]
                    stop = level + reference.stop if position == len(levels) - 1 else level
                    around.emit(0, Token(value, stop))
                    place = (place + 1) % period
            elif not reference.done:
                around.emit(0, empty(reference.rank + depth, reference.stop + depth))
            done = reference.done or not referred
        for each in (values or [])[first + period :]:
            around.emit(0, Token(each))
        around.emit(0, DONE)

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return ()  # the reference only says how many


@graph_method
def generate(
    graph: Graph,
    element: Tile | Selector,
    values: Sequence[Constant] | range,
    dims: Sequence[int] = (),
    *,
    before: Sequence[Constant] = (),
    behind: Sequence[Constant] = (),
    reference: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """A stream ``[*dims]``, or ``[*reference, *dims]``, of the ``values``, again and again (see `Generate`)."""
    listed = values if isinstance(values, range) else tuple(values)
    operator = Generate(element, listed, tuple(dims), tuple(before), tuple(behind))
    return graph.add(operator, [] if reference is None else [reference], name=name)[0]


@graph_method
def constant(
    graph: Graph,
    value: Any,
    dims: Sequence[int] = (),
    *,
    dtype: DType | str = BF16,
    reference: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """A stream of the same tile everywhere: ``value`` is a number or a matrix, which ``dtype`` may round.

    Raises `TypeMismatch` for numbers that ``dtype`` does not have.
    """
    dtype = as_dtype(dtype)
    rows = _rows(value, dtype)
    stream: Stream = generate(graph, Tile(dtype, len(rows), len(rows[0])), [rows], dims, reference=reference, name=name)
    return stream


@graph_method
def count(
    graph: Graph,
    dims: Sequence[int] = (),
    *,
    start: int = 0,
    step: int = 1,
    dtype: DType | str = UINT32,
    reference: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """A stream ``[*dims]`` of integers from ``start`` on, or ``[*reference, *dims]`` where each element begins again.

    Without ``dims`` it numbers the elements of the reference; behind the last integer of ``dtype`` comes ``start``.
    """
    dtype = as_dtype(dtype)
    expect(dtype in INTEGERS, f"counting needs integers, not {dtype}")
    last = int(np.iinfo(dtype.numpy).max)
    integers = range(start, start + step * max(1, prod(dims)), step) if dims else range(start, last + 1, step)
    stream: Stream = generate(graph, Tile(dtype), integers, dims, reference=reference, name=name)
    return stream


@graph_method
def turns(
    graph: Graph,
    targets: int,
    order: Targets | None = None,
    dims: Sequence[int] | None = None,
    *,
    reference: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """Selectors over ``targets`` targets in a fixed ``order``, again and again; by default each target in its turn.

    ``order`` has the index of a target, or the indices of several, for each selector. Without ``dims`` there are as
    many as ``order`` has, or with a reference one for each of its elements.
    """
    masks = [selector_mask(each) for each in (range(targets) if order is None else order)]
    extents = dims if dims is not None else () if reference is not None else (len(masks),)
    stream: Stream = generate(graph, Selector(targets), masks, extents, reference=reference, name=name)
    return stream


def selector_mask(chosen: int | Sequence[int]) -> int:
    """The mask of a target, or of several."""
    return sum({1 << each for each in ([chosen] if isinstance(chosen, int) else chosen)})


def _has(tile: Tile | Selector, number: int) -> bool:
    """Whether integers of ``tile`` go as far as ``number``."""
    assert isinstance(tile, Tile)
    limits = np.iinfo(tile.dtype.numpy)
    return bool(limits.min <= number <= limits.max)


def _rows(value: Any, dtype: DType) -> tuple[tuple[float, ...], ...]:
    given = np.atleast_2d(np.asarray(value))
    with numerics.quiet():
        tile = given.astype(dtype.numpy)
    lost = np.isfinite(given.astype(np.float64)) & ~np.isfinite(tile.astype(np.float64))
    if given.ndim != 2 or lost.any() or not (dtype.is_float or (tile == given).all()):
        raise TypeMismatch(f"a constant of {dtype} can not be {value!r}")
    plain = tile if dtype.is_float else tile.astype(int)
    return tuple(tuple(row) for row in plain.astype(np.float64 if dtype.is_float else int).tolist())
