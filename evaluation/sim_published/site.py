"""The surroundings of an operator when its context is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sim_published.engine import TimedFifo
from sim_published.profile import PublishedProfile
from step.errors import FabricError
from step.language.graph import Node
from step.language.tokens import Token
from step.language.types import ElementType, Selector, Tile


class TileSize(NamedTuple):
    """Rows and columns of a tile, which stand for its value; behind the first ``valid`` rows there is padding."""

    rows: int
    cols: int
    valid: int

    @classmethod
    def full(cls, shape: tuple[int, int]) -> TileSize:
        """The size of a tile without padding."""
        rows, cols = shape
        return cls(rows, cols, rows)

    @classmethod
    def of(cls, tile: Tile, valid: int | None = None) -> TileSize:
        """The size of a tile of static type."""
        rows, cols = tile.shape
        return cls(rows, cols, rows if valid is None or valid > rows else valid)


@dataclass(frozen=True, eq=False)
class ContextSite:
    """The place of the context of ``node``: its channels, and the profile.

    ``writes_back``: its result goes through an on-chip memory unit. ``port`` is its port of off-chip memory, if it has
    one. ``given`` are the tokens that it plays, of a source. ``by_turns``: the program makes its selectors,
    one target after the other. ``promoted``: it is a Reshape with the Promote behind it. ``repeats``: it is a static
    Expand with the Reshape into chunks of one before it. Outputs without a reader are None.
    """

    node: Node
    profile: PublishedProfile
    inputs: Sequence[TimedFifo]
    outputs: Sequence[TimedFifo | None]
    writes_back: bool
    port: int
    given: Sequence[Token]
    by_turns: bool
    promoted: bool
    repeats: bool

    def refuse(self, what: str) -> FabricError:
        """The error of a program that the published simulator could not run."""
        return FabricError(f"{self.node.describe()}: the published profile has {what}")

    def cycles(self, channel: TimedFifo, size: Any, port: int) -> int:
        """Cycles for reading a value of input ``port`` from an on-chip memory unit, if it comes from one."""
        return self.transfer(size, self.node.input_types[port].element) if channel.in_memory else 0

    def transfer(self, size: Any, element: ElementType) -> int:
        """Cycles of an on-chip memory unit for a value."""
        return math.ceil(self.bytes_of(size, element) / self.profile.on_chip_bytes)

    def bytes_of(self, size: Any, element: ElementType) -> int:
        """Bytes of a value, as the profile counts them."""
        if not isinstance(element, Tile):
            return int(element.bytes)
        rows, cols, _ = size_of(size, element)
        return rows * cols * (self.profile.scalar_bytes or math.ceil(element.dtype.bits / 8))

    def requests(self, size: Any, element: ElementType) -> int:
        """Requests for a tile: row by row, each row rounded up."""
        assert isinstance(element, Tile)
        rows, cols, _ = size_of(size, element)
        scalar = self.profile.scalar_bytes or math.ceil(element.dtype.bits / 8)
        return rows * math.ceil(cols * scalar / self.profile.hbm.request_bytes)


def is_known(element: ElementType) -> bool:
    """Whether a run knows values of this type, and not only their size: selectors, and single integers and flags."""
    if isinstance(element, Selector):
        return True
    return isinstance(element, Tile) and element == Tile(element.dtype) and element.dtype.numpy.kind in "iub"


def size_of(value: Any, element: Tile) -> TileSize:
    """Rows and columns of a value: it is these, or it is known."""
    return value if isinstance(value, TileSize) else TileSize.full((1, 1))


def concrete(value: Any, element: ElementType) -> ElementType:
    """The type of this very value."""
    return (
        Tile(element.dtype, value.rows, value.cols)
        if isinstance(element, Tile) and isinstance(value, TileSize)
        else element
    )


def as_value(value: Any, element: ElementType) -> Any:
    """A value that a program gives, as a run has it: itself where it is known, else its size."""
    if is_known(element) or not isinstance(value, np.ndarray):
        return value
    return TileSize.full(value.shape)
