"""A point of a sweep is run, on the fast model."""

from __future__ import annotations

import time

import sympy

from step.errors import ProgramError, SimulationError, UnboundSymbol
from step.lowering.fabric import FabricConfig
from step.programs.metrics import metrics
from step.running.backend import backend
from step.running.result import Status
from step.sweeps.axis import Point
from step.sweeps.row import REFUSED, Row
from step.sweeps.subject import Made, Subject


def evaluate(subject: Subject, point: Point, max_cycles: int | None = None) -> Row:
    """What ``subject`` takes at ``point``.

    What program, fabric or data are not right for, and a run that fails, is a row too. Raises the other errors, which
    would be those of all points.
    """
    started = time.perf_counter()
    try:
        made, fabric = subject.at(point)
        measures, unknown = _measures(made, fabric)
        status, cycles, error = _run(made, fabric, max_cycles)
    except ProgramError as refusal:
        return Row(point, REFUSED, error=_line(refusal))
    seconds = round(time.perf_counter() - started, 6)
    return Row(point, status, cycles, **measures, seconds=seconds, error=error or unknown, program=made.digest)


def _run(made: Made, fabric: FabricConfig, max_cycles: int | None) -> tuple[str, int | None, str | None]:
    """How a run ends, its cycles if it finished, and what is wrong with it."""
    try:
        result = backend("approx")(made.program.graph, made.data, fabric, max_cycles=max_cycles)
    except SimulationError as error:
        if error.result is None:
            raise
        status = error.result.status
        return str(status), None, _line(error)
    return str(Status.FINISHED), result.cycles, None


def _measures(made: Made, fabric: FabricConfig) -> tuple[dict[str, int], str | None]:
    """The metrics that have a value, and why the others have none."""
    found = metrics(made.program, fabric).items()
    try:
        symbols = made.symbols if any(each.free_symbols for each in found.values()) else {}
    except (UnboundSymbol, SimulationError) as error:
        known = {name: int(each) for name, each in found.items() if not each.free_symbols}
        return known, _line(error)
    return {name: _number(each, symbols) for name, each in found.items()}, None


def _number(expression: sympy.Expr, symbols: dict[str, int]) -> int:
    return int(expression.subs({each: symbols[str(each)] for each in expression.free_symbols}))


def _line(error: Exception) -> str:
    """The first line of what an error says: rows are lines."""
    return str(error).partition("\n")[0]
