"""Result files: a row per point, with a digest of the sources it was made of."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from step.errors import InputError
from step.host.files import write_atomically

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments" / "results"

Row = dict[str, str]


def digest(paths: Iterable[Path]) -> str:
    """Of files of the project, their names and what is in them."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def read(path: Path) -> list[Row]:
    """The rows that there are."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def resumed(path: Path, sources: str, *, anew: bool = False) -> list[Row]:
    """The rows to go on from. Those of other ``sources`` are left out with ``anew``, else they are an `InputError`."""
    rows = read(path)
    if all(row.get("sources") == sources for row in rows):
        return rows
    if anew:
        return []
    raise InputError(f"{path} has results of other sources; remove it, give another --results, or run it --anew")


def write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """All rows, as a whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.getvalue().encode())
