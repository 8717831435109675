"""A row of results for a run, and the sources that it depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import getfile

import sympy

from experiments import layers
from experiments.fabric import points, requests
from experiments.fabric.figures import FIGURES
from experiments.fabric.points import FabricPoint
from experiments.fabric.schedulers import schedulers
from experiments.fabric.smoke import smoke
from experiments.fabric.traces import other_traces
from experiments.published import swiglu
from experiments.rows import digest
from experiments.work import Experiment
from step import Program, Simulator, metrics
from step.errors import Defect
from step.language.symbols import evaluate, replaced
from step.programs.metrics import Metrics
from step.running.result import RunResult

COLUMNS = (
    *("point", "cycles", "off_chip_bytes", "moved_bytes", "on_chip_bytes", "flops", "units", "firings", "tokens"),
    *("cpu_seconds", "engine", "version", "sources", "fabric"),
)
"""Bytes and operations are symbolic; ``moved_bytes`` are those that the run moved off chip."""
POINTS = {**FIGURES, "schedulers": schedulers, "traces": other_traces, "smoke": smoke}


def digest_with(*files: str) -> str:
    """A digest of what decides results on the fabric: the fast model, parts of points, ``files`` of their own."""
    return digest("fabric", getfile(layers), getfile(points), getfile(requests), *files)


def sources(figure: str) -> str:
    """A digest of the files that decide the results of ``figure``."""
    return digest_with(getfile(swiglu), getfile(POINTS[figure]))


def measured(point: FabricPoint) -> dict[str, object]:
    """The row of a point.

    On-chip bytes and operations are there where their symbols are known; see `bytes_of` for those off chip.
    """
    program = point.make()
    simulator = Simulator(program)
    result = simulator.run().result
    found = metrics(program)
    return {
        "cycles": result.cycles,
        **bytes_of(point.name, found, point.symbols, result),
        "on_chip_bytes": _known(found.on_chip_bytes, point),
        "flops": _known(found.flops, point),
        "units": len(simulator.netlist.units),
        **told_of(result, program),
    }


def bytes_of(point: str, found: Metrics, symbols: Mapping[str, int], result: RunResult) -> dict[str, object]:
    """The off-chip bytes of the symbolic metric, and those that the run moved.

    Raises `Defect` where they differ, and `UnboundSymbol` where the point does not say what a symbol stands for.
    """
    symbolic, moved = int(evaluate(found.off_chip_bytes, symbols, found.graph)), result.off_chip_bytes
    if symbolic != moved:
        raise Defect(f"{point}: the run moved {moved:,} bytes off chip, but the symbolic metric says {symbolic:,}")
    return {"off_chip_bytes": symbolic, "moved_bytes": moved}


def told_of(result: RunResult, program: Program) -> dict[str, object]:
    """The columns of a run that every row has."""
    return {
        "firings": sum(each.firings or 0 for each in result.operators.values()),
        "tokens": result.tokens,
        "engine": result.engine,
        "fabric": json.dumps(program.fabric.to_json(), sort_keys=True),
    }


CAMPAIGN = Experiment("fabric", COLUMNS, POINTS, measured, sources)


def _known(expression: sympy.Expr, point: FabricPoint) -> int | str:
    """The value of a metric, or nothing where a symbol is not known."""
    found = replaced(expression, point.symbols)
    return int(found) if found.is_number else ""
