"""Tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """An HTML table; numbers have thousands separators and stand on the right, other cells are shown as text."""
    title = f"<caption><b>{html.escape(caption)}</b></caption>" if caption else ""
    head = "".join(f"<th>{html.escape(each)}</th>" for each in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value:,}</td>'
    return f'<td style="text-align:left">{html.escape(str(value))}</td>'
