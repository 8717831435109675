"""Dimensions of streams and tiles: static, dynamic-regular or ragged.

A ragged symbol absorbs: an expression that contains one is a *new* ragged symbol. In a metric a ragged
symbol stands for its total extent, the sum over all tensors of the stream, so the dimensions outside of it
count as absorbed (see `element_count`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from numbers import Integral

import sympy


class DimKind(enum.IntEnum):
    """How much a dimension may vary; an operator that accepts a kind accepts the stricter ones."""

    STATIC = 0
    DYNAMIC = 1
    RAGGED = 2


@dataclass(frozen=True)
class Dim:
    """One dimension: its extent as an expression, and its kind."""

    extent: sympy.Expr
    kind: DimKind = DimKind.STATIC

    @property
    def is_static(self) -> bool:
        return self.kind is DimKind.STATIC

    @property
    def is_ragged(self) -> bool:
        return self.kind is DimKind.RAGGED

    @property
    def may_be_empty(self) -> bool:
        """True unless the extent is known to be at least one."""
        return not self.extent.is_positive

    def __int__(self) -> int:
        if not self.is_static:
            raise TypeError(f"dimension {self} has no fixed extent")
        return int(self.extent)

    def __str__(self) -> str:
        return str(self.extent)

    __repr__ = __str__


Shape = tuple[Dim, ...]
FreshSymbol = Callable[[], Dim]


def symbol(name: str, kind: DimKind = DimKind.DYNAMIC) -> Dim:
    """A dimension known at run time only: an integer >= 0 called ``name``."""
    return Dim(sympy.Symbol(name, integer=True, nonnegative=True), kind)


def dim(value: Dim | int) -> Dim:
    """``value`` as a dimension; an integer must be >= 0, else `ValueError`."""
    if isinstance(value, Dim):
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"a dimension must be an integer >= 0 or a symbol, not {value!r}")
    return Dim(sympy.Integer(int(value)))


def shape(values: Iterable[Dim | int]) -> Shape:
    """A shape from integers and dimensions, outermost first."""
    return tuple(dim(value) for value in values)


def derive(dims: Iterable[Dim], expression: sympy.Expr, fresh: FreshSymbol) -> Dim:
    """The dimension ``expression`` computed from ``dims``: ragged absorbs, static stays static."""
    kind = max((each.kind for each in dims), default=DimKind.STATIC)
    if kind is DimKind.RAGGED:
        return fresh()
    return Dim(sympy.sympify(expression), kind)


def product(dims: Iterable[Dim]) -> sympy.Expr:
    """Product of the extents."""
    return reduce(lambda total, each: total * each.extent, dims, sympy.Integer(1))


def element_count(dims: Shape) -> sympy.Expr:
    """||x||, the number of elements of a stream of this shape.

    With a ragged dimension this is the innermost ragged symbol (its total extent) times the dimensions
    inside of it.
    """
    for position in reversed(range(len(dims))):
        if dims[position].is_ragged:
            return product(dims[position:])
    return product(dims)


def format_shape(dims: Shape) -> str:
    """``[64, D0, 4]``."""
    return "[" + ", ".join(str(each) for each in dims) + "]"
