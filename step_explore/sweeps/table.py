"""Files of a sweep's rows: CSV, or Parquet. A file is written as a whole or not at all."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from step.errors import FormatError, InputError, needing
from step_explore.sweeps.axis import parse_value
from step_explore.sweeps.row import MEASURES, NUMBERS, STATUSES, TEXTS, Row

OTHERWISE = "choose another file, or delete it"

LONGEST = 1 << 30
"""Characters of a cell: hardware that was fitted has those of a file."""


def check_format(path: Path) -> None:
    """Raise `InputError` for what is neither CSV nor Parquet, `EnvironmentProblem` for Parquet without pyarrow."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"a sweep must go to a file that ends in .csv or .parquet, not '{path}'")
    if path.suffix == ".parquet":
        _pyarrow()


def encode(path: Path, names: Sequence[str], rows: Sequence[Row]) -> bytes:
    """The content of the file ``path`` with ``rows``, whose parameters are called ``names``."""
    encoding = _to_csv if path.suffix == ".csv" else _to_parquet
    return encoding((*names, *MEASURES), [row.plain() for row in rows])


def read(path: Path, names: Sequence[str]) -> list[Row]:
    """The rows in the file ``path``, none where there is no file.

    Raises `FormatError` for a file that is no table of a sweep, or one of other parameters.
    """
    if not path.exists():
        return []
    columns, table = (_from_csv if path.suffix == ".csv" else _from_parquet)(path)
    missing = [each for each in MEASURES if each not in columns]
    there = [each for each in columns if each not in MEASURES]
    if len(missing) == len(MEASURES) or len(set(columns)) < len(columns):
        raise FormatError(f"{path} is no table of a sweep: {OTHERWISE}")
    if missing:
        raise FormatError(
            f"{path} has rows of another version of this toolkit, without {', '.join(missing)}: {OTHERWISE}"
        )
    if sorted(there) != sorted(names):
        raise FormatError(
            f"{path} has a sweep over {', '.join(there)}, but this one is over {', '.join(names)}: {OTHERWISE}"
        )
    for at, each in enumerate(table, 1):
        _check_row(f"row {at} of {path}", each)
    return [Row({name: each[name] for name in names}, **{name: each[name] for name in MEASURES}) for each in table]


def _check_row(where: str, row: dict[str, Any]) -> None:
    """Raise `FormatError` for what no sweep writes, such as a line that was cut off."""
    for name, each in NUMBERS.items():
        value = row[name]
        if value is not None and not (isinstance(value, int if each.whole else float) and 0 <= value < math.inf):
            kind = "an integer" if each.whole else "a number"
            raise FormatError(f"{where}: {name} must be {kind} >= 0, not {value!r}")
    if row["status"] not in STATUSES:
        raise FormatError(f"{where}: status must be one of {', '.join(STATUSES)}, not {row['status']!r}")


def _to_csv(columns: Sequence[str], table: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in each.items()} for each in table)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _from_csv(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    try:
        csv.field_size_limit(LONGEST)
        with path.open(newline="", encoding="utf-8") as file:
            columns, *lines = [*csv.reader(file, strict=True)] or [[]]
            for at, line in enumerate(lines, 1):
                if len(line) != len(columns):
                    raise ValueError(f"row {at} has {len(line)} cells, and not {len(columns)}")
            return columns, [dict(zip(columns, map(_value, columns, line), strict=True)) for line in lines]
    except (OSError, ValueError, csv.Error) as error:
        raise FormatError(f"{path} is no table of a sweep: {error}") from None


def _value(name: str, text: str) -> Any:
    if name in TEXTS:
        return text or None
    if text == "":
        return None
    return float(text) if name in NUMBERS and not NUMBERS[name].whole else parse_value(text)


def _to_parquet(columns: Sequence[str], table: Sequence[dict[str, Any]]) -> bytes:
    pyarrow, parquet = _pyarrow()
    buffer = io.BytesIO()
    arrays = {name: pyarrow.array(_of_one_kind([each[name] for each in table])) for name in columns}
    parquet.write_table(pyarrow.table(arrays), buffer)
    return buffer.getvalue()


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Texts where there are values of several types: a column has one."""
    kinds = {type(each) for each in values if each is not None}
    return values if len(kinds) < 2 else [None if each is None else str(_cell(each)) for each in values]


def _from_parquet(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    pyarrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise FormatError(f"{path} is no table of a sweep: {str(error).splitlines()[0]}") from None
    rows = table.to_pylist()
    parameters = table.column_names[: -len(MEASURES)]
    for row in rows:  # of a column of several types
        row |= {name: parse_value(row[name]) for name in parameters if isinstance(row[name], str)}
    return table.column_names, rows


def _pyarrow() -> tuple[Any, Any]:
    with needing("Parquet", "sweeps"):
        import pyarrow
        from pyarrow import parquet
    return pyarrow, parquet
