"""The rows of a result file: a point each, with all that it was made of."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from experiments.published.points import Point
from sim_published.backend import run
from step.errors import InputError
from step.host.files import write_atomically

ROOT = Path(__file__).parents[2]
SHOWING = ("__main__.py", "claims.py", "page.py", "plots.py")
"""Files that show results, and decide none."""

COLUMNS = (
    *("point", "cycles", "published_cycles", "off_chip_bytes", "published_off_chip_bytes", "on_chip_bytes"),
    *("published_on_chip_bytes", "elements", "seconds", "version", "sources", "profile"),
)


def sources() -> str:
    """A digest of the files that decide the results; those that only show them do not."""
    digest = hashlib.sha256()
    for folder in ("sim_published", "experiments/published"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".cpp") and path.name not in SHOWING:
                digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def measured(point: Point, digest: str) -> dict[str, object]:
    """The row of a point."""
    graph, inputs = point.make()
    result = run(graph, inputs, profile=point.profile)
    row: dict[str, object] = {"point": point.name, "cycles": result.cycles, "published_cycles": point.cycles}
    if point.count is not None:
        silent = {name.partition(".")[0] for name, each in result.channels.items() if each.tokens <= 1}
        row["off_chip_bytes"], row["on_chip_bytes"] = point.count(graph, silent)
    if point.bytes is not None:
        row["published_off_chip_bytes"], row["published_on_chip_bytes"] = point.bytes
    profile = json.dumps(asdict(point.profile), sort_keys=True)
    return row | {
        "elements": result.tokens,
        "seconds": round(result.wall_seconds, 2),
        "version": version("step-fabric"),
        "sources": digest,
        "profile": profile,
    }


def read(path: Path, digest: str) -> list[dict[str, object]]:
    """The rows that there are; raises `InputError` for those of other sources."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows: list[dict[str, object]] = list(csv.DictReader(file))
    if any(row.get("sources") != digest for row in rows):
        raise InputError(f"{path} has results of other sources; remove it, or give another --results")
    return rows


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """All rows, as a whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())
