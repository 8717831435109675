"""The back end ``ideal``: a cycle for each token of the longest stream."""

from __future__ import annotations

from step.programs.prepare import Prepared
from step.running.backend import Backend
from step.running.interpreter import interpret
from step.running.result import OperatorResult, RunResult, Status


def run(prepared: Prepared, *, max_cycles: int | None = None) -> RunResult:
    """Never longer than ``max_cycles``."""
    found = interpret(prepared.graph, prepared.data, record=True)
    cycles = max(len(tokens) for tokens in found.streams.values())
    cycles = cycles if max_cycles is None else min(cycles, max_cycles)
    units = {node.name: OperatorResult(cycles, 0, 0, 0) for node in prepared.graph}
    return RunResult("ideal", prepared.graph.name, Status.FINISHED, cycles, found.outputs, units, {}, 0.0)


IDEAL = Backend(run, timed=True, outputs=True)
