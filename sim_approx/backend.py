"""The fast back end: the same cycle for every token as the RTL, without building it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim_approx.placing.build import TimingOf
from sim_approx.running.model import Model
from sim_approx.running.model_run import EngineName, Values
from step.host.progress import Progress, silent
from step.language.graph import Graph
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.programs.prepare import Prepared, prepare
from step.running.backend import Backend, checked_options
from step.running.interpreter import OnToken
from step.running.result import RunResult


def run(
    program: Prepared | Netlist | Graph,
    inputs: Mapping[str, Any] | BoundInputs | None = None,
    fabric: FabricConfig | None = None,
    *,
    values: Values = "control",
    events: bool = False,
    max_cycles: int | None = None,
    depths: Mapping[str, int] | None = None,
    timing_of: TimingOf | None = None,
    engine: EngineName | None = None,
    jump: bool = True,
    progress: Progress = silent,
    on_token: OnToken | None = None,
) -> RunResult:
    """Run ``program`` on ``inputs`` (see `step.programs.data.inputs.bind_inputs`) and return times and counts.

    ``values``: ``"all"`` computes every value, so that there are outputs; ``"control"`` only those that decide what
    some unit does. ``events`` keeps the cycle and control of every token. ``depths`` replaces the depth of channels, by
    their name in the netlist. ``timing_of`` replaces the plans of functions.

    ``engine``: ``"compiled"`` or ``"python"``. Without one the compiled engine runs, and the Python engine where it can
    not be made, which the result says with the reason. Where a phase of the run repeats itself, the compiled engine
    counts the repetitions, and does not go through them: the result is the same without ``jump``, and later there.
    ``progress`` is told cycle and speed of long runs, ``on_token`` of every token that leaves through a sink, at most
    some 0.1 s after it did; it needs all values.

    Raises `StreamFault`, `Deadlock` and `Runaway` (more than ``max_cycles`` cycles), each with the result up to there
    as its ``result``; `FabricError` for what the fabric can not do, and for depths of channels that do not exist;
    `EnvironmentProblem` where the compiled engine was asked for and can not be made.
    """
    model = model_of(
        prepare(program, inputs, fabric),
        values=values,
        timing_of=timing_of,
        engine=engine,
        jump=jump,
    )
    ended = model.run(depths=depths, events=events, max_cycles=max_cycles, progress=progress, on_token=on_token)
    return ended.finished()


APPROX = Backend(run, timed=True)


def model_of(
    prepared: Prepared,
    *,
    values: Values = "control",
    timing_of: TimingOf | None = None,
    engine: EngineName | None = None,
    jump: bool = True,
    symbols: bool = False,
) -> Model:
    """The model of what is ``prepared``; see `run` for the options and errors, and `step.Simulator` for ``symbols``."""
    checked_options({"values": values, "engine": engine})
    check_outputs(prepared.graph)
    return Model(
        prepared.netlist, prepared.data, values=values, timing_of=timing_of, engine=engine, symbols=symbols, jump=jump
    )
