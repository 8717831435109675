"""Tables: as their columns, and as notebooks show them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from step.host.names import ByName


class Markup(str):
    """A cell that is HTML already."""


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """An HTML table; numbers have thousands separators and stand on the right, other cells are shown as text."""
    title = f"<caption><b>{html.escape(caption)}</b></caption>" if caption else ""
    head = "".join(f"<th>{html.escape(each)}</th>" for each in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bar(shares: Mapping[str, float], colours: Mapping[str, str]) -> Markup:
    """``shares`` of a whole side by side, each in the colour of its name."""
    parts = "".join(
        f'<span title="{html.escape(name)} {share:.1%}" style="display:inline-block;height:0.9em;'
        f'width:{share:.2%};background:{colours[name]}"></span>'
        for name, share in shares.items()
        if share
    )
    return Markup(f'<div style="width:16em;white-space:nowrap;font-size:0.9em;line-height:0">{parts}</div>')


def _cell(value: Any) -> str:
    if isinstance(value, Markup):
        return f"<td>{value}</td>"
    if isinstance(value, sympy.Expr):
        value = int(value) if value.is_Integer else round(float(value), 2) if value.is_number else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value:,}</td>'
    return f'<td style="text-align:left">{html.escape(str(value))}</td>'


class Columns(ByName[np.ndarray]):
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
        return table(list(self), zip(*(each.tolist() for each in self.values()), strict=True))
