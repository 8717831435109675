"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_approx.build import TimingOf
from sim_approx.calibration.file import Calibration
from sim_approx.calibration.lookup import calibrated
from sim_approx.depths import depths_that_clear
from sim_approx.engines import EngineName
from sim_approx.simulation import Simulation, Values, simulate
from step.errors import Deadlock, FabricError, Runaway, SimulationError
from step.language.graph import Graph
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.inputs import BoundInputs, bind_inputs
from step.running.deadlock import report
from step.running.result import RunResult, Status
from step.running.stream_fault import first_fault


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
    calibration: Path | str | None = None,
    engine: EngineName | None = None,
) -> RunResult:
    """Run ``program`` on ``inputs`` (see `step.programs.inputs.bind_inputs`) and return times and counts.

    ``values``: ``"all"`` computes every value, so that there are outputs; ``"control"`` only those that decide what
    some unit does. ``events`` keeps the cycle and control of every token. ``depths`` replaces the depth of channels, by
    their name in the netlist. ``timing_of`` replaces the formulas for how long functions take, and so does the file
    ``calibration`` that ``step calibrate`` wrote.

    ``engine``: ``"compiled"`` or ``"python"``. Without one the compiled engine runs, and the Python engine where it can
    not be made, which the result says with the reason.

    Raises `FormatError` for what is no calibration, and `FabricError` for one that lacks what the program needs;
    `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist;
    `EnvironmentProblem` where the compiled engine was asked for and can not be made.
    """
    netlist = _netlist(program, fabric, depths or {})
    check_outputs(netlist.graph)
    bound = bind_inputs(netlist.graph, inputs)
    if calibration is not None:
        measured = calibrated(Calibration.load(Path(calibration)), netlist, bound)
        netlist, timing_of = measured.netlist, measured.timing_of
    simulation = simulate(
        netlist, bound, values=values, events=events, max_cycles=max_cycles, timing_of=timing_of, engine=engine
    )
    error = _error(netlist, bound, simulation, max_cycles, timing_of)
    if error is None:
        return simulation.result()
    error.result = simulation.result(error)
    raise error


def _error(
    netlist: Netlist, data: BoundInputs, simulation: Simulation, max_cycles: int | None, timing_of: TimingOf | None
) -> SimulationError | None:
    """What is wrong with a run, or None."""
    status = simulation.ending.status
    if fault := first_fault(netlist.graph, simulation.faults(), simulation.promises.broken):
        return fault
    if status == Status.DEADLOCK:
        snapshot = simulation.snapshot()
        engine = simulation.chosen.name
        depths = depths_that_clear(netlist, data, snapshot, max_cycles=max_cycles, timing_of=timing_of, engine=engine)
        return Deadlock(report(netlist, snapshot, depths))
    if status == Status.RUNAWAY:
        return Runaway(f"the run did not end within {max_cycles} cycles; raise max_cycles if that is too few")
    return simulation.promises.disagreement()


def _netlist(program: Graph | Netlist, fabric: FabricConfig | None, depths: Mapping[str, int]) -> Netlist:
    if isinstance(program, Netlist):
        if fabric is not None and fabric != program.fabric:
            raise FabricError("the netlist was made for another fabric; lower the graph again")
        return program.with_depths(depths)
    return lower(program, fabric or FabricConfig()).with_depths(depths)
