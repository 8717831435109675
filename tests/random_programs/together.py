"""Many random programs side by side in RTL, in one build of the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scenarios
from far import far
from farm import farm
from scenarios import Inputs, Scenario

from random_programs import build
from random_programs.check import Disagreement, again, check_meaning
from sim_approx import backend as approx
from step import Program, Simulator
from step.errors import StepError
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.running.result import RunResult, Status
from step_check.fuzz.check import Disagreement as OfBackEnds
from step_check.fuzz.check import check_rtl as check_exact
from step_check.fuzz.program import LARGEST_BUFFER, for_graph, with_rows
from step_check.fuzz.steps.dynamic_rows import MOST_ROWS

FABRIC = replace(
    scenarios.FABRIC,
    scratchpad_bytes=scenarios.FABRIC.page_bytes * scenarios.FABRIC.scratchpad_ports * LARGEST_BUFFER * 2,
)
"""With on-chip memory for the buffers of programs that know nothing of each other."""


@dataclass(frozen=True)
class Together:
    """Programs that were compared by their seeds, those left out, and the run in RTL."""

    seeds: tuple[int, ...]
    deadlocks: tuple[int, ...]
    result: RunResult


def inputs_of(seed: int, graph: Graph) -> Inputs:
    """Put the program of ``seed`` into ``graph``."""
    return build(seed, graph).inputs


def deadlocks(seed: int, fabric: FabricConfig) -> bool:
    """Whether the program's channels have too little space; the fast model knows."""
    graph = Graph("random")
    program = Program(graph, inputs_of(seed, graph))
    program.fabric = for_graph(with_rows(fabric, graph, MOST_ROWS), graph)
    return Simulator(program).attempt().result.status == Status.DEADLOCK


def check_rtl(seeds: Iterable[int], fabric: FabricConfig = FABRIC, hops: int | None = None) -> Together:
    """RTL against both engines (every token in the same cycle) and oracle (outputs), for programs that do not deadlock;
    with random ``hops`` of this seed.

    Raises `Disagreement` with the seeds, or that of the program whose tokens differ between the engines.
    """
    left_out = [seed for seed in seeds if deadlocks(seed, fabric)]
    kept = [seed for seed in seeds if seed not in left_out]
    program = farm("random", [Scenario(f"seed{seed}", "random", partial(inputs_of, seed)) for seed in kept])
    program.fabric = with_rows(fabric, program.graph, MOST_ROWS)
    program = program if hops is None else far(program, hops)
    try:
        exact = check_meaning(program, check_exact(program))
    except (StepError, OfBackEnds, Disagreement) as error:
        raise Disagreement(f"seeds {kept}: {error}") from error
    model = approx.run(program.graph, program.inputs, program.fabric, events=True, engine="python")
    for name, events in (exact.events or {}).items():
        other = (model.events or {})[name]
        if not all(map(np.array_equal, vars(events).values(), vars(other).values())):
            where = f"tokens of {name} at {events.cycles} in RTL, at {other.cycles} in the Python engine"
            raise Disagreement(f"{where}; {again(kept[int(name[1 : name.index('_')])])}")
    return Together(tuple(kept), tuple(left_out), exact)
