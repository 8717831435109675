"""Many random programs side by side in RTL, in one build of the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scenarios
from farm import farm
from scenarios import Inputs, Scenario

from cosim import backend as rtl
from random_programs import build
from random_programs.check import Disagreement, again, check_interpreter, check_outputs
from sim_approx import backend as approx
from sim_approx.running.simulation import EngineName, simulate
from step.errors import StepError
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.running.result import RunResult, Status
from step_check.fuzz.program import LARGEST_BUFFER, for_graph, with_rows
from step_check.fuzz.steps.dynamic_rows import MOST_ROWS

FABRIC = replace(
    scenarios.FABRIC,
    scratchpad_bytes=scenarios.FABRIC.page_bytes * scenarios.FABRIC.scratchpad_ports * LARGEST_BUFFER * 2,
)
"""With on-chip memory for the buffers of programs that know nothing of each other."""


ENGINES: tuple[EngineName, ...] = ("compiled", "python")


@dataclass(frozen=True)
class Together:
    """What was compared: the programs by their seeds, those left out, operators and tokens, and the cycles."""

    seeds: tuple[int, ...]
    deadlocks: tuple[int, ...]
    operators: int
    tokens: int
    cycles: int
    seconds: float


def inputs_of(seed: int, graph: Graph) -> Inputs:
    """Put the program of ``seed`` into ``graph``."""
    return build(seed, graph).inputs


def deadlocks(seed: int, fabric: FabricConfig) -> bool:
    """Whether the program's channels have too little space; the fast model knows."""
    graph = Graph("random")
    inputs = bind_inputs(graph, inputs_of(seed, graph))
    fabric = for_graph(with_rows(fabric, graph, MOST_ROWS), graph)
    return simulate(lower(graph, fabric), inputs).ending.status == Status.DEADLOCK


def check_rtl(seeds: Iterable[int], fabric: FabricConfig = FABRIC) -> Together:
    """RTL against both engines (every token in the same cycle) and oracle (outputs), for programs that do not deadlock.

    Raises `Disagreement` with the seed of the first program that differs.
    """
    left_out = [seed for seed in seeds if deadlocks(seed, fabric)]
    kept = [seed for seed in seeds if seed not in left_out]
    program = farm("random", [Scenario(f"seed{seed}", "random", partial(inputs_of, seed)) for seed in kept])
    program.fabric = with_rows(fabric, program.graph, MOST_ROWS)
    try:
        exact = rtl.run(program.graph, program.inputs, program.fabric, events=True, optimize=False)
        for engine in ENGINES:
            _check_engine(
                exact, approx.run(program.graph, program.inputs, program.fabric, events=True, engine=engine), kept
            )
        inputs = bind_inputs(program.graph, program.inputs)
        meant = check_interpreter(program.graph, inputs, exact.arrivals)
        check_outputs("RTL", program.graph, exact.outputs or {}, meant)
    except (StepError, Disagreement) as error:
        raise Disagreement(f"seeds {kept}: {error}") from error
    return Together(
        seeds=tuple(kept),
        deadlocks=tuple(left_out),
        operators=len(exact.operators),
        tokens=exact.tokens,
        cycles=exact.cycles,
        seconds=exact.wall_seconds,
    )


def _check_engine(exact: RunResult, model: RunResult, kept: list[int]) -> None:
    """A run in RTL and one of an engine, of the programs ``kept``, are the same."""
    assert exact.events is not None and model.events is not None
    for name, events in exact.events.items():
        other = model.events[name]
        if not all(map(np.array_equal, vars(events).values(), vars(other).values())):
            where = f"tokens of {name} at {events.cycles} in RTL, at {other.cycles} in the {model.engine} engine"
            raise Disagreement(f"{where}; {again(kept[int(name[1 : name.index('_')])])}")
    for what in ("cycles", "arrivals", "buffers", "traffic"):
        ours, theirs = getattr(exact, what), getattr(model, what)
        if what == "arrivals":
            theirs = {name: theirs[name] for name in ours}
        if ours != theirs:
            raise Disagreement(f"{what} are {ours} in RTL, {theirs} in the {model.engine} engine")
