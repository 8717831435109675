"""Generate: a stream that the program makes itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from step.language.constants import Constant, as_constant, constant_rows, has_integer, selector_mask
from step.language.dims import DimKind, derive, shape
from step.language.draft import HIGHEST_RANK, Draft
from step.language.dtypes import BF16, INT8, INT32, INTEGERS, UINT32, DType, as_dtype
from step.language.graph import Graph, graph_method
from step.language.operator import Names, Operator, StreamType, expect
from step.language.stream import Stream
from step.language.types import Selector, Tile

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

    data = ()  # the reference only says how many

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
        dims = (*(inputs[0].shape if inputs else ()), *shape(self.extents))
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
                expect(has_integer(tile, number), f"{number} is no {tile}")
            return
        for each in (*self.values, *self.before, *self.behind):
            as_constant(self.element, each)

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


@graph_method
def generate(
    graph: Graph,
    element: Tile | Selector,
    values: Sequence[Any] | range,
    dims: Sequence[int] = (),
    *,
    before: Sequence[Any] = (),
    behind: Sequence[Any] = (),
    reference: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """A stream ``[*dims]``, or ``[*reference, *dims]``, of the ``values``, again and again (see `Generate`).

    A value is the mask of a selector, or the rows of a tile, as lists or as an array; a number is a tile of one scalar,
    and a list of numbers one of a single row.
    """
    if not isinstance(values, range):
        values = tuple(as_constant(element, each) for each in values)
    around = ([as_constant(element, each) for each in some] for some in (before, behind))
    operator = Generate(element, values, tuple(dims), *map(tuple, around))
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
    rows = constant_rows(value, dtype)
    return generate(graph, Tile(dtype, len(rows), len(rows[0])), [rows], dims, reference=reference, name=name)


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
    expect(step != 0, "counting needs a step other than 0")
    last = int(np.iinfo(dtype.numpy).max)
    integers = range(start, start + step * max(1, prod(dims)), step) if dims else range(start, last + 1, step)
    if dims and prod(dims) > 0:
        expect(has_integer(Tile(dtype), integers[-1]), f"{integers[-1]} is no {Tile(dtype)}")
    return generate(graph, Tile(dtype), integers, dims, reference=reference, name=name)


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
    selector = Selector(targets)
    masks = [selector_mask(selector, each) for each in (range(targets) if order is None else order)]
    extents = dims if dims is not None else () if reference is not None else (len(masks),)
    return generate(graph, selector, masks, extents, reference=reference, name=name)


def sample(draft: Draft) -> None:
    """Integers or constants, for every element of a stream, or by themselves."""
    random = draft.random
    reference = None if draft.chance(0.4) else draft.pick(lambda each: each.rank < HIGHEST_RANK - 1, factor=3)
    extents = [random.randint(1, 3) for _ in range(random.randint(0 if reference else 1, 2))]
    read = None if reference is None else draft.read(reference)
    if draft.chance(0.3):
        start = random.randint(-9, 9)
        integers = range(start, start + random.choice([-3, 1, 4]) * random.randint(1, 7))
        integers = integers or range(start, start - 20, -7)
        stream = draft.graph.generate(Tile(random.choice([INT8, INT32])), integers, extents, reference=read)
    else:
        element = draft.tile() if draft.chance(0.6) else Selector(random.randint(1, 3))
        rank = len(extents) - 1 if reference is None else reference.rank + len(extents)
        counts = [random.randint(1, 4), *(random.randint(0, 2) * (rank == 0) for _ in range(2))]
        values, before, behind = ([_plain(draft.value(element)) for _ in range(n)] for n in counts)
        stream = draft.graph.generate(element, values, extents, before=before, behind=behind, reference=read)
    draft.keep(stream, timed=reference is not None and reference.timed)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else tuple(map(tuple, (value * 1).tolist()))
