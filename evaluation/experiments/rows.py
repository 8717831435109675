"""Result files: a row per point, with a digest of the sources it was made of.

Many rows are of one fabric or profile: these are kept once, in `SETTINGS` beside the files, by their digests.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import sim_published
from experiments.sources import source_digest
from step.errors import FormatError, InputError
from step.host.files import write_atomically

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results"

SETTINGS = "settings.json"
SETTING = ("fabric", "profile")
"""Columns that have, as JSON, what a run was made with."""

Row = dict[str, str]


PUBLISHED = Path(sim_published.__file__).parent
"""Files of the published timing."""


def digest(result: str, *files: Path | str) -> str:
    """The first digits of the digest of what ``result``, one of `experiments.sources.MADE_OF`, is made of, and of
    ``files`` and folders of its own."""
    return source_digest(result, *files)[:16]


def read(path: Path, columns: Sequence[str] | None = None) -> list[Row]:
    """The rows that there are; raises `FormatError` for a file of something else than these ``columns``."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if columns is not None and reader.fieldnames != list(columns):
            raise FormatError(f"{path} is no file of results of this version; remove it, or give another --results")
        rows, settings = list(reader), _settings(path)
    for row in rows:
        for column in SETTING:
            if row.get(column) and row[column] not in settings:
                raise FormatError(f"{path} has the {column} {row[column]}, which {path.with_name(SETTINGS)} has not")
            if column in row:
                row[column] = settings.get(row[column], "")
    return rows


def _settings(path: Path) -> dict[str, str]:
    """Settings of the results in the folder of ``path``, as JSON by their digests."""
    file = path.with_name(SETTINGS)
    found = json.loads(file.read_text()) if file.exists() else {}
    return {name: json.dumps(setting, sort_keys=True) for name, setting in found.items()}


def resumed(path: Path, columns: Sequence[str], sources: str, *, anew: bool = False) -> list[Row]:
    """The rows to go on from. What is of other ``sources`` is left out with ``anew``, else it is an `InputError`."""
    try:
        rows = read(path, columns)
        if all(row["sources"] == sources for row in rows):
            return rows
    except FormatError:
        if not anew:
            raise
    if anew:
        return []
    raise InputError(f"{path} has results of other sources; remove it, give another --results, or run it --anew")


def write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """All rows, as a whole or not at all; raises `InputError` where they can not be written."""
    text, settings = io.StringIO(), _settings(path)
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        names = {}
        for column in SETTING:
            if row.get(column):
                names[column] = hashlib.sha256(row[column].encode()).hexdigest()[:8]
                settings[names[column]] = row[column]
        writer.writerow(row | names)
    lines = (f'"{name}": {settings[name]}' for name in sorted(settings))
    try:
        if settings != _settings(path):
            write_atomically(path.with_name(SETTINGS), "{{\n{}\n}}\n".format(",\n".join(lines)).encode())
        write_atomically(path, text.getvalue().encode())
    except OSError as error:
        raise InputError(f"{path} can not be written: {error.strerror}") from None


def moved_as_said(rows: Sequence[Row]) -> str:
    """In how many of the ``rows`` the run moved as many bytes off chip as the symbolic metric says."""
    return f"{sum(row['moved_bytes'] == row['off_chip_bytes'] for row in rows):,} of {len(rows):,}"
