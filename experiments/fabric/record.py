"""Rows of results: how they are measured, and the files they are kept in."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from importlib.metadata import version
from pathlib import Path

from experiments.fabric.points import Point
from sim_approx.simulator import Simulator
from step import metrics
from step.errors import InputError
from step.host.files import write_atomically

Row = dict[str, str]

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
COLUMNS = (
    *("point", "cycles", "off_chip_bytes", "on_chip_bytes", "units", "firings", "tokens", "prepare_seconds"),
    *("run_seconds", "engine", "version", "sources", "fabric"),
)
SOURCES = ("step", "step_models", "sim_approx")


def sources() -> str:
    """A digest of the files that decide the results."""
    digest = hashlib.sha256()
    paths = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*"))]
    for path in (*paths, Path(__file__).with_name("points.py")):
        if path.suffix in (".py", ".hpp", ".npz", ".npy", ".json"):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def measured(point: Point, digest: str) -> Row:
    """The row of a point. Bytes are those of the paper's equations, where their symbols are known."""
    start = time.process_time()
    program = point.make()
    simulator = Simulator(program.graph, program.inputs, program.fabric)
    ready = time.process_time()
    result = simulator.run()
    end = time.process_time()
    row: dict[str, object] = {"point": point.name, "cycles": result.cycles}
    if point.symbols is not None:
        bound = metrics(program).bind(point.symbols)
        row |= {"off_chip_bytes": bound.off_chip_bytes, "on_chip_bytes": bound.on_chip_bytes}
    row |= {
        "units": len(simulator.netlist.units),
        "firings": sum(each.firings or 0 for each in result.operators.values()),
        "tokens": result.tokens,
        "prepare_seconds": round(ready - start, 2),
        "run_seconds": round(end - ready, 2),
        "engine": result.engine,
        "version": version("step-fabric"),
        "sources": digest,
        "fabric": json.dumps(program.fabric.to_json(), sort_keys=True),
    }
    return {name: str(row.get(name, "")) for name in COLUMNS}


def read(path: Path) -> list[Row]:
    """The rows that there are."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def resumed(path: Path, digest: str) -> list[Row]:
    """The rows to go on from; raises `InputError` for those of other sources."""
    rows = read(path)
    if any(row.get("sources") != digest for row in rows):
        raise InputError(f"{path} has results of other sources; remove it, or give another --results")
    return rows


def write(path: Path, rows: list[Row]) -> None:
    """All rows, as a whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.getvalue().encode())
