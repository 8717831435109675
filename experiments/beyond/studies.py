"""The studies: what their points are, and what is measured of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from experiments.beyond.arrivals import arrivals
from experiments.beyond.mixtures import mixtures
from experiments.rows import Row


class Study(Protocol):
    """A point of a study."""

    @property
    def name(self) -> str:
        """Another one for every point."""
        ...

    def measured(self, made_of: str) -> Row:
        """Its row, of sources with the digest ``made_of``."""
        ...


STUDIES: dict[str, Callable[[], Iterator[Study]]] = {"mixtures": mixtures, "arrivals": arrivals}
