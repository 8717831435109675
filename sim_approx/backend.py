"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim_approx.build import TimingOf
from sim_approx.depths import depths_that_clear
from sim_approx.simulation import Values, simulate
from step.errors import Deadlock, FabricError, Runaway, SimulationError
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.inputs import BoundInputs, bind_inputs
from step.running.deadlock import report
from step.running.result import RunResult, Status


def run(
    program: Graph | Netlist,
    inputs: Mapping[str, Any] | BoundInputs,
    fabric: FabricConfig | None = None,
    *,
    values: Values = "control",
    events: bool = False,
    max_cycles: int | None = None,
    depths: Mapping[str, int] | None = None,
    timing_of: TimingOf | None = None,
) -> RunResult:
    """Run ``program`` on ``inputs`` (see `step.programs.inputs.bind_inputs`) and return times and counts.

    ``values``: ``"all"`` computes every value, so that there are outputs; ``"control"`` only those that decide what
    some unit does. ``events`` keeps the cycle and control of every token. ``depths`` replaces the depth of channels, by
    their name in the netlist. ``timing_of`` replaces the formulas for how long functions take.

    Raises `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist.
    """
    netlist = _netlist(program, fabric, depths or {})
    bound = bind_inputs(netlist.graph, inputs)
    simulation = simulate(netlist, bound, values=values, events=events, max_cycles=max_cycles, timing_of=timing_of)
    status = simulation.ending.status
    if status == Status.FINISHED:
        return simulation.result(None)
    if status == Status.DEADLOCK:
        snapshot = simulation.snapshot()
        depths = depths_that_clear(netlist, bound, snapshot, max_cycles=max_cycles, timing_of=timing_of)
        error: SimulationError = Deadlock(report(netlist, snapshot, depths))
    elif status == Status.RUNAWAY:
        error = Runaway(f"the run did not end within {max_cycles} cycles; raise max_cycles if that is too few")
    else:
        error = simulation.fault()
    error.result = simulation.result(str(error))
    raise error


def _netlist(program: Graph | Netlist, fabric: FabricConfig | None, depths: Mapping[str, int]) -> Netlist:
    if isinstance(program, Netlist):
        if fabric is not None and fabric != program.fabric:
            raise FabricError("the netlist was made for another fabric; lower the graph again")
        return program.with_depths(depths)
    return lower(program, fabric or FabricConfig()).with_depths(depths)
