"""Numbers of cells of a family."""

from __future__ import annotations

from abc import ABC
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class Cells(ABC):
    """Numbers of cells, of which each field is a kind; families have a subclass each."""

    heads: ClassVar[tuple[str, ...]]
    """What tables call the fields."""

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
