"""Surroundings of an operator's meaning: the run around it."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableSequence, Sequence
from typing import Any, Protocol

import numpy as np

from step.language.tokens import Token
from step.language.types import ElementType

ANY_ROWS = sys.maxsize
"""As many rows as a tile may have where there is no fabric."""


class Surroundings(Protocol):
    """The run around a process, as far as it concerns the operator itself."""

    def emit(self, port: int, token: Token) -> None:
        """Send ``token`` on output ``port``."""

    def most_rows(self) -> int:
        """The most rows of a tile of dynamic size that leaves the operator: those that a fabric has room for."""
        return ANY_ROWS

    def computed(self, compute: Callable[..., Any], *values: Any, result: ElementType) -> Any:
        """``compute(*values)``, a ``result``, or what stands for it in a run that does not want to know: see
        `step.running.blank`."""
        return compute(*values)

    def tiles(self) -> MutableSequence[np.ndarray]:
        """The tiles of the declared tensor that the operator reads or writes, row-major over the tiled tensor.

        One that the program stores is shared by all operators: whoever writes puts a new tile in the place of the old.
        """

    def stream(self) -> Sequence[Token]:
        """The tokens that a source plays."""

    def port(self) -> int:
        """The input port that the last token came from."""

    def arrivals(self) -> Sequence[int]:
        """The input port of every data token that the operator took, in order, in the timed run that is replayed."""

    def collect(self, token: Token) -> None:
        """Note a token that leaves the program through a store or a sink."""
