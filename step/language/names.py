"""Symbols that an operator makes for what only a run tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from step.language.dims import Dim, DimKind, Shape


@dataclass(frozen=True)
class Names:
    """Makes symbols for the operator that is being placed.

    ``symbol`` makes one that is named after the operator and a hint; ``made`` are those for keys in this graph.
    ``drivers`` tell the streams at the inputs apart: equal ones are equal.
    """

    symbol: Callable[..., Dim]
    made: dict[tuple[Any, ...], Shape]
    drivers: Sequence[tuple[Any, ...]]

    def shared(self, key: tuple[Any, ...], make: Callable[[], Shape]) -> Shape:
        """The symbols made for ``key`` before in this graph, or else new ones."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def apart(self, each: Dim, key: tuple[Any, ...], hint: str) -> Dim:
        """``each``, but a ragged one is a symbol of its own for ``key``: not all tensors of the stream go there."""
        return self.shared(key, lambda: (self.symbol(hint, DimKind.RAGGED),))[0] if each.is_ragged else each
