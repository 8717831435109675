"""What a row of results says of a run, and the sources that it depends on."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib.metadata import version
from inspect import getfile

import sympy

from experiments.fabric import points
from experiments.fabric.figures import FIGURES
from experiments.fabric.points import Point
from experiments.fabric.smoke import smoke
from experiments.fabric.traces import other_traces
from experiments.published import swiglu
from experiments.rows import Row, digest
from experiments.work import Campaign
from sim_approx.backend import Simulator
from step import Program, metrics
from step.errors import Defect
from step.language.symbols import evaluate, replaced
from step.programs.metrics import Metrics
from step.running.result import RunResult

COLUMNS = (
    *("point", "cycles", "off_chip_bytes", "moved_bytes", "on_chip_bytes", "flops", "units", "firings", "tokens"),
    *("cpu_seconds", "engine", "version", "sources", "fabric"),
)
"""Bytes and operations are symbolic; ``moved_bytes`` are those that the run moved off chip."""
POINTS = {**FIGURES, "traces": other_traces, "smoke": smoke}


def digest_with(*files: str) -> str:
    """Of all that decides results on the fabric: the fast model, what points are made of, ``files`` of their own."""
    return digest("fabric", getfile(points), *files)


def sources(figure: str) -> str:
    """A digest of the files that decide the results of ``figure``."""
    return digest_with(getfile(swiglu), getfile(POINTS[figure]))


def measured(point: Point, made_of: str) -> Row:
    """The row of a point, ``made_of`` sources with this digest.

    On-chip bytes and operations are there where their symbols are known; see `bytes_of` for those off chip.
    """
    start = time.process_time()
    program = point.make()
    simulator = Simulator(program.graph, program.inputs, program.fabric)
    result = simulator.run()
    found = metrics(program)
    row: dict[str, object] = {
        "point": point.name,
        "cycles": result.cycles,
        **bytes_of(point.name, found, point.symbols, result),
        "on_chip_bytes": _known(found.on_chip_bytes, point),
        "flops": _known(found.flops, point),
        "units": len(simulator.netlist.units),
        **told_of(result, program, start, made_of),
    }
    return {name: str(row[name]) for name in COLUMNS}


def bytes_of(point: str, found: Metrics, symbols: Mapping[str, int], result: RunResult) -> dict[str, object]:
    """The off-chip bytes of the symbolic metric, and those that the run moved.

    Raises `Defect` where they differ, and `UnboundSymbol` where the point does not say what a symbol stands for.
    """
    symbolic, moved = int(evaluate(found.off_chip_bytes, symbols, found.graph)), result.off_chip_bytes
    if symbolic != moved:
        raise Defect(f"{point}: the run moved {moved:,} bytes off chip, but the symbolic metric says {symbolic:,}")
    return {"off_chip_bytes": symbolic, "moved_bytes": moved}


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
