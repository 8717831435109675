"""Element types: what one value of a stream is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
import sympy

from step.errors import TypeMismatch, expect
from step.language.arguments import Checked
from step.language.dims import Dim, Shape, dim, element_count, format_shape
from step.language.dtypes import UINT32, DType, as_dtype
from step.language.parameters import settle_parameters

MOST_TARGETS = 1 << 16
"""Of a selector, which has a wire for each; what is beyond is a slip of the pen."""


@dataclass(frozen=True)
class Tile(metaclass=Checked):
    """Type of a regular matrix of ``rows`` x ``cols`` scalars; a scalar is a 1x1 tile.

    ``dtype``: scalar format, or its name, such as "BF16".
    ``rows``: an integer >= 1, or a dimension with a symbol: then the tile is dynamic, and may be without rows in a run.
    ``cols``: as ``rows``.

    Raises `TypeMismatch` for other extents, and `FormatError` for a format that there is not.

    >>> Tile("BF16", 4, 16), Tile("BF16", 4, 16).bytes, Tile(FP32, Graph("dynamic").symbol("N"), 16).is_static
    (Tile(BF16, 4, 16), 128, False)
    """

    dtype: DType
    rows: Dim
    cols: Dim

    def __init__(self, dtype: DType | str, rows: Dim | int = 1, cols: Dim | int = 1) -> None:
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "rows", dim(rows, "the rows of a tile", 1))
        object.__setattr__(self, "cols", dim(cols, "the columns of a tile", 1))

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles that the element is made of."""
        return (self,)

    @property
    def is_static(self) -> bool:
        """Whether rows and columns are integers."""
        return self.rows.is_static and self.cols.is_static

    def with_rows(self, rows: int) -> Tile:
        """The same with so many rows, where these are dynamic; columns that are dynamic stay so."""
        return self if self.rows.is_static else Tile(self.dtype, dim(rows), self.cols)

    @property
    def is_control(self) -> bool:
        """Whether operators decide on such values; in hardware these travel with the header of their token.

        A tile with one UINT32 is an address or a count.
        """
        return self.dtype is UINT32 and self.rows == self.cols == dim(1)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns as integers; `TypeError` for a dynamic tile."""
        return int(self.rows), int(self.cols)

    @property
    def elements(self) -> sympy.Expr:
        """Number of scalars."""
        return self.rows.extent * self.cols.extent

    @property
    def bytes(self) -> sympy.Expr:
        """Size in metrics."""
        return self.elements * self.dtype.bytes

    @property
    def bits(self) -> int:
        """Width on a wire; static tiles only."""
        rows, cols = self.shape
        return rows * cols * self.dtype.bits

    def accepts(self, value: object) -> bool:
        """Whether ``value`` is an array of this type (dynamic extents match anything)."""
        return (
            isinstance(value, np.ndarray)
            and value.ndim == 2
            and value.dtype == self.dtype.numpy
            and all(not d.is_static or int(d) == n for d, n in zip((self.rows, self.cols), value.shape, strict=True))
        )

    def __repr__(self) -> str:
        return f"Tile({self.dtype}, {self.rows}, {self.cols})"


def leaves(element: ElementType) -> Iterator[ElementType]:
    """Parts of ``element``, in order: a tuple has those of its items, all else is one."""
    if not isinstance(element, Tuple):
        yield element
        return
    for item in element.items:
        yield from leaves(item)


def is_dynamic(element: ElementType | None) -> bool:
    """Whether ``element`` is a tile with a dynamic number of rows, or a tuple that has one."""
    return element is not None and any(map(has_rows, leaves(element)))


def has_rows(element: ElementType) -> bool:
    """Whether ``element`` is a tile, of which each has a number of rows of its own."""
    return isinstance(element, Tile) and not element.rows.is_static


@lru_cache(maxsize=1 << 10)  # an element is asked for with every channel that it passes
def with_rows(element: ElementType, rows: int) -> ElementType:
    """The same with so many rows where these are dynamic, in all items of a tuple."""
    if isinstance(element, Tuple):
        return Tuple(tuple(with_rows(item, rows) for item in element.items))
    return element.with_rows(rows) if isinstance(element, Tile) else element


@dataclass(frozen=True)
class Selector(metaclass=Checked):
    """Type of a multi-hot vector: says to which targets a tensor goes, or from which it comes.

    A value is an integer, bit i set for target i.

    ``targets``: number of targets, >= 1; else `TypeMismatch`.

    >>> step.Selector(4).bits, step.Selector(4).multi_hot([0b0101]).tolist()
    (4, [[True, False, True, False]])
    """

    targets: int

    is_static = True
    is_control = True
    tiles: ClassVar[tuple[Tile, ...]] = ()

    def __post_init__(self) -> None:
        settle_parameters(self)
        expect(self.targets >= 1, f"a selector must have at least one target, not {self.targets}")
        if self.targets > MOST_TARGETS:
            raise TypeMismatch(f"a selector must have at most {MOST_TARGETS:,} targets, not {self.targets:,}")

    @property
    def bytes(self) -> sympy.Expr:
        """Size in metrics: whole bytes."""
        return sympy.Integer(-(-self.targets // 8))

    @property
    def bits(self) -> int:
        """Width on a wire: a bit per target."""
        return self.targets

    def multi_hot(self, masks: Sequence[int]) -> np.ndarray:
        """Booleans ``[masks, targets]``."""
        hot = [[mask >> target & 1 for target in range(self.targets)] for mask in masks]
        return np.array(hot, np.bool_).reshape(len(masks), self.targets)

    def accepts(self, value: object) -> bool:
        """Whether ``value`` is a mask over the targets."""
        return isinstance(value, int) and 0 <= value < 1 << self.targets

    def __repr__(self) -> str:
        return f"Selector({self.targets})"


@dataclass(frozen=True)
class Buffer(metaclass=Checked):
    """Type of a read-only reference to an on-chip tensor, as Bufferize makes it.

    ``tile``: the `Tile` that the tensor is made of.
    ``shape``: its inner dimensions, a tuple of `Dim`.

    Raises `TypeMismatch` for a buffer without a dimension.

    >>> Graph("held").source("rows", Tile("BF16", 4, 4), [3, 2]).bufferize(rank=1).element
    Buffer(Tile(BF16, 4, 4), [2])
    """

    tile: Tile
    shape: Shape

    is_static = True
    is_control = False
    bits: ClassVar[int] = 0
    """Width of the reference: none, as buffers are read in the order in which they were filled."""

    def __post_init__(self) -> None:
        settle_parameters(self)
        expect(self.shape, "a buffer must have at least one dimension, not []")

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Tile of the tensor."""
        return (self.tile,)

    @property
    def bytes(self) -> sympy.Expr:
        """Bytes of the tensor that is referred to."""
        return self.tile.bytes * element_count(self.shape)

    def accepts(self, value: object) -> bool:
        """Whether ``value`` is a tuple, of the buffer's tokens."""
        return isinstance(value, tuple)

    def __repr__(self) -> str:
        return f"Buffer({self.tile}, {format_shape(self.shape)})"


@dataclass(frozen=True)
class Tuple(metaclass=Checked):
    """Type of several elements side by side, as Zip makes them.

    ``items``: types of the elements, at least one; else `TypeMismatch`.

    >>> pair = step.Tuple((Tile(FP32), step.Selector(2)))
    >>> pair, pair.bits
    ((Tile(FP32, 1, 1), Selector(2)), 34)
    """

    items: tuple[ElementType, ...]

    is_control = False

    def __post_init__(self) -> None:
        settle_parameters(self)
        expect(self.items, "a tuple must have at least one item, not ()")

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Tiles of all items."""
        return tuple(tile for item in self.items for tile in item.tiles)

    @property
    def is_static(self) -> bool:
        """Whether all items are."""
        return all(item.is_static for item in self.items)

    @property
    def bytes(self) -> sympy.Expr:
        """Size in metrics: that of all items."""
        return sum((item.bytes for item in self.items), sympy.Integer(0))

    @property
    def bits(self) -> int:
        """Width on a wire: that of all items."""
        return sum(item.bits for item in self.items)

    def accepts(self, value: object) -> bool:
        """Whether ``value`` is a tuple of values of the items."""
        return (
            isinstance(value, tuple)
            and len(value) == len(self.items)
            and all(item.accepts(part) for item, part in zip(self.items, value, strict=True))
        )

    def __repr__(self) -> str:
        return "(" + ", ".join(str(item) for item in self.items) + ")"


ElementType = Tile | Selector | Buffer | Tuple
