"""Dimensions of streams and tiles: static, dynamic-regular or ragged.

A ragged symbol absorbs: an expression that contains one is a *new* ragged symbol, unless it is that symbol itself. In a
metric a ragged symbol stands for its total extent, the sum over all tensors of the stream, so the dimensions outside of
it count as absorbed (see `element_count`).
"""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from numbers import Integral
from typing import Any

import sympy
from sympy.core.function import Application
from sympy.functions.elementary.integers import RoundFunction

from step.errors import TypeMismatch
from step.language.arguments import tells_line


class DimKind(enum.IntEnum):
    """Freedom of a dimension; an operator that accepts a kind accepts the stricter ones.

    A static extent is an integer, a dynamic one the same for all tensors of a stream and known at run time, and a
    ragged one differs from tensor to tensor.

    >>> step.DimKind.STATIC < step.DimKind.DYNAMIC < step.DimKind.RAGGED, Graph("counted").symbol("N").kind.name
    (True, 'DYNAMIC')
    """

    STATIC = 0
    DYNAMIC = 1
    RAGGED = 2


def _sign(function: Callable[[Any, Any], Any], sign: str, *, turned: bool = False) -> Callable[[Dim, Dim | int], Dim]:
    """The method of a sign between dimensions and integers; ``turned``: the dimension stands behind it."""

    @tells_line
    def method(self: Dim, other: Dim | int) -> Dim:
        return _combined(function, sign, other, self) if turned else _combined(function, sign, self, other)

    return method


def _order(function: Callable[[Any, Any], Any], sign: str) -> Callable[[Dim, Dim | int], bool]:
    """The method of a comparison."""
    return tells_line(lambda self, other: _compared(function, sign, self, other))


@dataclass(frozen=True)
class Dim:
    """Dimension of a stream or a tile: its extent as an expression, and its kind.

    Regular ones, static and dynamic, can be added, subtracted and multiplied, with each other and with integers. A
    graph makes those that only a run tells (`Graph.symbol`).

    ``extent``: an expression of SymPy.
    ``kind``: its `DimKind`.

    >>> n = Graph("counted").symbol("N")
    >>> n + 1, 2 * n, (n + 1) - 1
    (N + 1, 2*N, N)
    """

    extent: sympy.Expr
    kind: DimKind = DimKind.STATIC

    @property
    def is_static(self) -> bool:
        """Whether the extent is an integer."""
        return self.kind is DimKind.STATIC

    @property
    def is_ragged(self) -> bool:
        """Whether the extent differs from tensor to tensor."""
        return self.kind is DimKind.RAGGED

    @property
    def may_be_empty(self) -> bool:
        """True unless the extent is known to be at least one."""
        return not self.extent.is_positive

    __add__, __radd__ = _sign(operator.add, "+"), _sign(operator.add, "+", turned=True)
    __sub__, __rsub__ = _sign(operator.sub, "-"), _sign(operator.sub, "-", turned=True)
    __mul__, __rmul__ = _sign(operator.mul, "*"), _sign(operator.mul, "*", turned=True)
    __lt__, __le__ = _order(operator.lt, "<"), _order(operator.le, "<=")
    __gt__, __ge__ = _order(operator.gt, ">"), _order(operator.ge, ">=")

    @tells_line
    def __eq__(self, other: object) -> bool:
        """Whether two dimensions are one, or an integer is the extent of this one.

        Raises `TypeMismatch` for an integer that only a run can tell from the extent.
        """
        if isinstance(other, Dim):
            return self.kind is other.kind and bool(self.extent == other.extent)
        if isinstance(other, Integral) and not isinstance(other, bool):
            return _known(sympy.Eq(self.extent, int(other)), f"{self} == {other}")
        return NotImplemented

    @tells_line
    def __bool__(self) -> bool:
        """Whether the extent is not 0; raises `TypeMismatch` where only a run can tell."""
        return _known(sympy.Ne(self.extent, 0), f"whether {self} is 0")

    def __hash__(self) -> int:
        return hash(self.extent)

    def __int__(self) -> int:
        if not self.is_static:
            raise TypeError(f"dimension {self} has no fixed extent")
        return int(self.extent)

    def __repr__(self) -> str:
        return _text(self.extent)


_text = lru_cache(maxsize=1 << 14)(str)  # a program has thousands of streams, and few extents that differ

Shape = tuple[Dim, ...]
FreshSymbol = Callable[[], Dim]


def symbol(name: str, kind: DimKind = DimKind.DYNAMIC) -> Dim:
    """A dimension known at run time only: an integer >= 0 called ``name``."""
    return Dim(sympy.Symbol(name, integer=True, nonnegative=True), kind)


def dim(value: Dim | int, what: str = "a dimension", least: int = 0) -> Dim:
    """``value`` as a dimension; raises `TypeMismatch`, of ``what``, unless it is one, or an integer >= ``least``."""
    if isinstance(value, Dim):
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        meant = f"; did you mean graph.symbol({value!r})?" if isinstance(value, str) and value.isidentifier() else ""
        raise TypeMismatch(f"{what} must be an integer >= {least} or a symbol, not {value!r}{meant}")
    return Dim(sympy.Integer(int(value)))


def shape(values: Iterable[Dim | int]) -> Shape:
    """A shape from integers and dimensions, outermost first."""
    return tuple(dim(value) for value in values)


def _combined(function: Callable[[Any, Any], Any], sign: str, left: Dim | int, right: Dim | int) -> Dim:
    """A dimension that the program derives from others.

    Raises `TypeMismatch` for ragged ones, whose expressions are symbols of their own, for what may be negative, and for
    what is no extent.
    """
    expression = f"{left} {sign} {right}"
    for each in (left, right):
        if not isinstance(each, Dim | Integral) or isinstance(each, bool):
            raise TypeMismatch(f"{expression} is no dimension: {each!r} is neither one nor an integer")
    parts = [each if isinstance(each, Dim) else Dim(sympy.Integer(int(each))) for each in (left, right)]
    for part in parts:
        if part.is_ragged:
            raise TypeMismatch(
                f"{expression} is no dimension: {part} is ragged, so this would differ from tensor to tensor; "
                "declare a symbol for it: graph.symbol(name, ragged=True)"
            )
    extent = function(*(each.extent for each in parts))
    if not extent.is_nonnegative:
        raise TypeMismatch(f"{expression} is no dimension: it may be negative; declare a symbol for the smaller one")
    return Dim(extent, max(each.kind for each in parts) if extent.free_symbols else DimKind.STATIC)


def _compared(function: Callable[[Any, Any], Any], sign: str, left: Dim, right: Dim | int) -> Any:
    """Whether two extents are in an order, as far as that is known before a run; else raises `TypeMismatch`."""
    if not isinstance(right, Dim | Integral) or isinstance(right, bool):
        return NotImplemented
    return _known(function(left.extent, dim(right, least=-sys.maxsize).extent), f"{left} {sign} {right}")


def _known(relation: Any, what: str) -> bool:
    if relation in (sympy.true, sympy.false):
        return bool(relation)
    raise TypeMismatch(
        f"{what} is known in a run only, so a program can not depend on it: what it makes has to be right for all "
        "extents of its symbols, or give integers to the function that makes it"
    )


def derive(dims: Iterable[Dim], expression: sympy.Expr, fresh: FreshSymbol) -> Dim:
    """The dimension ``expression`` computed from ``dims``: ragged absorbs, static stays static; a dimension that is
    as it was, as those beside it are 1, is itself, ragged or not."""
    dims = tuple(dims)
    kind = max((each.kind for each in dims), default=DimKind.STATIC)
    if kind is DimKind.RAGGED:
        same = [each for each in dims if each.extent == expression]
        return same[0] if same else fresh()
    return Dim(sympy.sympify(expression), kind)


def product(dims: Iterable[Dim]) -> sympy.Expr:
    """Product of the extents."""
    return reduce(lambda total, each: total * each.extent, dims, sympy.Integer(1))


@lru_cache(maxsize=1 << 12)  # streams of one origin have shapes alike
def element_count(dims: Shape) -> sympy.Expr:
    """||x||, the number of elements of a stream of this shape.

    With a ragged dimension this is the innermost ragged symbol (its total extent) times the dimensions
    inside of it.
    """
    for position in reversed(range(len(dims))):
        if dims[position].is_ragged:
            return product(dims[position:])
    return product(dims)


def per_tensor(dims: Shape, rank: int) -> Shape:
    """The inner ``rank`` dimensions as one tensor has them; ragged ones are one: the mean of its elements."""
    inner = dims[-rank:]
    if not any(each.is_ragged for each in inner):
        return inner
    return (mean(element_count(dims), element_count(dims[:-rank])),)


def mean(total: sympy.Expr, tensors: sympy.Expr) -> Dim:
    """The ragged dimension of which so many ``tensors`` have ``total``, in the mean."""
    return Dim(total / at_least_one(tensors), DimKind.RAGGED)


@lru_cache(maxsize=1 << 12)  # streams of one origin have tensors alike
def of_all(mean: sympy.Expr, tensors: sympy.Expr) -> sympy.Expr:
    """Total of so many ``tensors`` that have ``mean`` each."""
    return mean * at_least_one(tensors)


@lru_cache(maxsize=1 << 12)
def at_least_one(extent: sympy.Expr) -> sympy.Expr:
    """The larger of ``extent`` and 1."""
    return extent if extent.is_positive else _bounded(sympy.Max, extent)


@lru_cache(maxsize=1 << 12)
def at_most_one(extent: sympy.Expr) -> sympy.Expr:
    """The smaller of ``extent`` and 1: 0 for nothing."""
    return sympy.Integer(1) if extent.is_positive else _bounded(sympy.Min, extent)


def _bounded(function: Any, extent: sympy.Expr) -> sympy.Expr:
    """``function`` of 1 and an ``extent`` that may be 0.

    Of sums and products of symbols, and of what these are rounded to, nothing more is known, for which SymPy would look
    for tens of milliseconds.
    """
    unknown = extent.atoms(Application) - extent.atoms(RoundFunction)
    return function(1, extent, evaluate=bool(extent.is_number or unknown))


def total(each: Dim, tensors: sympy.Expr, fresh: FreshSymbol) -> Dim:
    """The dimension of a stream of so many ``tensors`` that have the dimension ``each``, a ragged one in the `mean`."""
    whole = of_all(each.extent, tensors)
    if not each.is_ragged:
        return each
    return Dim(whole, DimKind.RAGGED) if whole.is_Symbol else fresh()


def alike(one: Shape, other: Shape) -> bool:
    """Whether two shapes of one rank are the same, but for ragged dimensions, which may have any extents."""
    return all(a == b or a.is_ragged or b.is_ragged for a, b in zip(one, other, strict=True))


def format_shape(dims: Shape) -> str:
    """``[64, D0, 4]``."""
    return "[" + ", ".join(str(each) for each in dims) + "]"


def if_equal(wanted: Shape, given: Shape) -> str:
    """A hint, for the end of a message, where symbols alone tell the two shapes apart; else nothing."""
    pairs = [(one, other) for one, other in zip(wanted, given, strict=False) if one != other]
    if len(wanted) != len(given) or any(one.is_static and other.is_static for one, other in pairs):
        return ""
    one, other = pairs[0] if pairs else ("", "")
    return f"; if {other} is {one} in every run, say so: stream.assume_shape(other.shape)" if pairs else ""
