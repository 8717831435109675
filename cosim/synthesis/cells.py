"""Numbers of cells of a family."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class Cells(ABC):
    """Numbers of cells, of which each field is a kind; families have a subclass each."""

    heads: ClassVar[tuple[str, ...]]
    """What tables call the fields."""

    types: ClassVar[tuple[Mapping[str, int], ...]]
    """Types of cells that each field counts, with how many one stands for."""

    @classmethod
    def of_cells(cls, cells: Mapping[str, int]) -> Self:
        """From the number of cells of each type."""
        return cls(*(sum(number * cells.get(cell, 0) for cell, number in each.items()) for each in cls.types))

    @property
    def columns(self) -> dict[str, int]:
        """Numbers that a table shows, by its head; the last one is the `size`."""
        return dict(zip(self.heads, astuple(self), strict=True))

    @property
    def size(self) -> int:
        """By which modules are compared."""
        return next(reversed(self.columns.values()))

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)
