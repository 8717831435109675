"""Tables of cases: a row for each."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest


def cases(*rows: Any, **options: Any) -> Callable[[Any], Any]:
    """The test runs once for every row; its first parameters are the columns. A row of one column is the value."""
    row = getattr(rows[0], "values", rows[0])
    width = len(row) if isinstance(row, tuple) else 1

    def table(test: Any) -> Any:
        columns = [name for name in signature(test).parameters if name != "self"][:width]
        return pytest.mark.parametrize(",".join(columns), rows, **options)(test)

    return table
