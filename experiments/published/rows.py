"""The rows of a result file: a point each, with all that it was made of."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from experiments.published.point import Point
from sim_published.backend import run
from sim_published.metrics import LOADED, equation_bytes, moved_bytes, off_chip_bytes, on_chip_bytes
from step.errors import Defect, FormatError, InputError
from step.host.files import write_atomically

Row = dict[str, str]

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
SHOWING = ("__main__.py", "claims.py", "page.py", "plots.py", "tables.py", "work.py")
"""Files that show results, and decide none."""

COLUMNS = (
    *("point", "cycles", "published_cycles", "off_chip_bytes", "published_off_chip_bytes", "on_chip_bytes"),
    *("published_on_chip_bytes", "all_on_chip_bytes", "used_on_chip_bytes", "equation_on_chip_bytes", "elements"),
    *("cpu_seconds", "version", "sources", "profile"),
)
"""On-chip bytes are those of the published figures; of all operators; of those that got an element; and of these by
the equations of the paper."""


def sources() -> str:
    """A digest of the files that decide the results; those that only show them do not."""
    digest = hashlib.sha256()
    for folder in ("sim_published", "experiments/published"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".cpp") and path.name not in SHOWING:
                digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def file_of(results: Path, figure: str) -> Path:
    """Where the rows of a figure are kept."""
    return results / f"published_{'fig' if figure.isdigit() else ''}{figure}.csv"


def measured(point: Point, digest: str) -> Row:
    """The row of a point; raises `Defect` where a run moved other bytes than the symbolic metrics say."""
    started = time.process_time()
    graph, inputs = point.make()
    result = run(graph, inputs, profile=point.profile)
    silent = {name.partition(".")[0] for name, each in result.channels.items() if each.tokens <= 1}
    loaded, values = point.profile.scalar_bytes or LOADED, point.symbols
    off_chip, moved = off_chip_bytes(graph, values, loaded), moved_bytes(graph, result, loaded)
    if off_chip != moved:
        raise Defect(f"{point.name}: the run moved {moved:,} bytes off chip, but the metrics say {off_chip:,}")
    row: dict[str, object] = {
        "point": point.name,
        "cycles": result.cycles,
        "published_cycles": point.cycles,
        "off_chip_bytes": off_chip,
        "on_chip_bytes": on_chip_bytes(graph, values, silent if point.skips else ()),
        "all_on_chip_bytes": on_chip_bytes(graph, values),
        "used_on_chip_bytes": on_chip_bytes(graph, values, silent),
        "equation_on_chip_bytes": equation_bytes(graph, values, silent),
        "elements": result.tokens,
        "version": version("step-fabric"),
        "sources": digest,
        "profile": json.dumps(asdict(point.profile), sort_keys=True),
    }
    if point.bytes is not None:
        row["published_off_chip_bytes"], row["published_on_chip_bytes"] = point.bytes
    row["cpu_seconds"] = round(time.process_time() - started, 2)
    return {name: "" if row.get(name) is None else str(row[name]) for name in COLUMNS}


def read(path: Path) -> list[Row]:
    """The rows that there are; raises `FormatError` for a file of something else."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise FormatError(f"{path} is no file of results of this version; remove it, or give another --results")
        return list(reader)


def resumed(path: Path, digest: str) -> list[Row]:
    """The rows to go on from; raises `InputError` for those of other sources."""
    rows = read(path)
    if any(row["sources"] != digest for row in rows):
        raise InputError(f"{path} has results of other sources; remove it, or give another --results")
    return rows


def write(path: Path, rows: Iterable[Row]) -> None:
    """All rows, as a whole or not at all; raises `InputError` where they can not be written."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    try:
        write_atomically(path, text.getvalue().encode())
    except OSError as error:
        raise InputError(f"{path} can not be written: {error.strerror}") from None
