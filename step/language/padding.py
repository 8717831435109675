"""Padding: rows that only fill up tiles. Useful operations are those on all other rows.

A row is padding where `Reshape` made it, and where a function made it of rows that are. Numbers of rows are followed
along streams as expressions, so nothing runs for them; see `step.language.useful`.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy


@dataclass(frozen=True)
class Padded:
    """A stream on which there may be padding: its tiles have so many ``rows`` of data in all, None: nobody knows.

    Elements that differ only in the innermost ``alike`` dimensions have equally many. ``flags``: its elements say what
    is padding of another stream, and it has none itself.
    """

    rows: sympy.Expr | None
    alike: int = 0
    flags: bool = False

    def times(self, factor: sympy.Expr | int, alike: int) -> Padded:
        """With ``factor`` as many rows, of elements of other dimensions."""
        return UNKNOWN if self.rows is None else Padded(self.rows * factor, alike)


UNKNOWN = Padded(None)
FLAGS = Padded(None, flags=True)

Padding = Padded | None
"""None: all rows are data."""


def has_padding(padding: Padding) -> bool:
    """Whether rows of a stream may be padding."""
    return padding is not None and not padding.flags
