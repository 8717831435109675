"""What a row of results says of a run, and the sources that it depends on."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from inspect import getfile
from pathlib import Path

import sympy

from experiments.fabric import points
from experiments.fabric.figures import FIGURES
from experiments.fabric.points import Point
from experiments.fabric.smoke import smoke
from experiments.published import swiglu
from experiments.rows import ROOT, Row, digest
from experiments.work import Campaign
from sim_approx.simulator import Simulator
from step import Program, metrics
from step.language.symbols import replaced
from step.running.result import RunResult

COLUMNS = (
    *("point", "cycles", "off_chip_bytes", "on_chip_bytes", "flops", "units", "firings", "tokens", "cpu_seconds"),
    *("engine", "version", "sources", "fabric"),
)
ROOMS = (
    *(f"step/{room}" for room in ("language", "functions", "ops", "library", "lowering", "programs", "running")),
    *("step_models", "sim_approx"),
)
POINTS = {**FIGURES, "smoke": smoke}
MEASURED = ("off_chip_bytes", "on_chip_bytes", "flops")


def files_of_rooms() -> list[Path]:
    """All that lies in `ROOMS`."""
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*"))]


def sources(figure: str) -> str:
    """A digest of the files that decide the results of ``figure``."""
    paths = files_of_rooms()
    paths += sorted({Path(getfile(each)) for each in (points, swiglu, POINTS[figure])})
    return digest(path for path in paths if path.suffix in (".py", ".hpp", ".npz", ".npy", ".json"))


def measured(point: Point, made_of: str) -> Row:
    """The row of a point, ``made_of`` sources with this digest.

    Bytes and operations are those of the paper's equations, where their symbols are known.
    """
    start = time.process_time()
    program = point.make()
    simulator = Simulator(program.graph, program.inputs, program.fabric)
    result = simulator.run()
    row: dict[str, object] = {"point": point.name, "cycles": result.cycles}
    for name, expression in metrics(program).items().items():
        if name in MEASURED:
            row[name] = _known(expression, point)
    row |= {"units": len(simulator.netlist.units), **told_of(result, program, start, made_of)}
    return {name: str(row[name]) for name in COLUMNS}


def told_of(result: RunResult, program: Program, start: float, made_of: str) -> dict[str, object]:
    """What every row says of a run, which took the processor time since ``start``, and where it comes from."""
    return {
        "firings": sum(each.firings or 0 for each in result.operators.values()),
        "tokens": result.tokens,
        "cpu_seconds": round(time.process_time() - start, 2),
        "engine": result.engine,
        "version": version("step-fabric"),
        "sources": made_of,
        "fabric": json.dumps(program.fabric.to_json(), sort_keys=True),
    }


CAMPAIGN = Campaign("fabric", COLUMNS, POINTS, measured, sources)


def _known(expression: sympy.Expr, point: Point) -> int | str:
    """The value of a metric, or nothing where a symbol is not known."""
    found = replaced(expression, point.symbols)
    return int(found) if found.is_number else ""
