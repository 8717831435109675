"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_approx.build import TimingOf
from sim_approx.engines import EngineName
from sim_approx.simulation import Values
from sim_approx.simulator import Simulator
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.programs.inputs import BoundInputs
from step.running.result import RunResult


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
    jump: bool = True,
    progress: Progress = silent,
) -> RunResult:
    """Run ``program`` on ``inputs`` (see `step.programs.inputs.bind_inputs`) and return times and counts.

    ``values``: ``"all"`` computes every value, so that there are outputs; ``"control"`` only those that decide what
    some unit does. ``events`` keeps the cycle and control of every token. ``depths`` replaces the depth of channels, by
    their name in the netlist. ``timing_of`` replaces the plans of functions, and so does the file
    ``calibration`` that ``step calibrate`` wrote.

    ``engine``: ``"compiled"`` or ``"python"``. Without one the compiled engine runs, and the Python engine where it can
    not be made, which the result says with the reason. Where a phase of the run repeats itself, the compiled engine
    counts the repetitions, and does not go through them: the result is the same without ``jump``, and later there.
    ``progress`` is told cycle and speed of long runs.

    Raises `FormatError` for what is no calibration, and `FabricError` for one that lacks what the program needs;
    `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist;
    `EnvironmentProblem` where the compiled engine was asked for and can not be made.
    """
    simulator = Simulator(
        program, inputs, fabric, values=values, timing_of=timing_of, calibration=calibration, engine=engine, jump=jump
    )
    return simulator.run(depths=depths, events=events, max_cycles=max_cycles, progress=progress)
