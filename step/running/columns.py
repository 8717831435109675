"""A table as its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from step.host.names import Named
from step.programs.hypertext import table


class Columns(Named[np.ndarray]):
    """Arrays of one length by the name of their column; ``pandas.DataFrame(columns)`` takes it as it is."""

    def __init__(self, columns: Mapping[str, np.ndarray] | Iterable[tuple[str, np.ndarray]] = ()) -> None:
        super().__init__(columns, "column")

    @classmethod
    def of(cls, heading: str, rows: Mapping[str, Any], columns: Sequence[str]) -> Columns:
        """The attributes ``columns`` of all ``rows``, behind a column ``heading`` of their names."""
        found = cls({heading: np.array(list(rows), np.str_)})
        for name in columns:
            found[name] = np.array([getattr(each, name) for each in rows.values()], np.int64)
        return found

    def _repr_html_(self) -> str:
        rows = zip(*(each.tolist() for each in self.values()), strict=True)
        return table(list(self), rows)
