"""Choices that are always the plain ones."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any


class Plain(Random):
    """Takes what stands first, or several in order, and the most of a range; what has a chance never happens."""

    def random(self) -> float:
        return 1 - 2**-53

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return range(start)[-1] if stop is None else range(start, stop, step)[-1]

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def choices(self, population: Any, *others: Any, k: int = 1, **named: Any) -> list[Any]:
        return [population[at % len(population)] for at in range(k)]

    def sample(self, population: Sequence[Any], k: int, **named: Any) -> list[Any]:
        return list(population[:k])

    def shuffle(self, x: Any) -> None:
        """It stays as it is."""
