"""Repetitions that are counted leave what repetitions leave that are gone through."""

from __future__ import annotations

from random import Random

import pytest
from random_graphs import Program
from same import words

from benchmarks import approx_speed
from sim_approx.simulation import Simulation, simulate
from step.errors import Deadlock, StreamFault
from step.language.graph import Graph
from step.lowering.netlist import Netlist, lower
from step.programs.inputs import BoundInputs

LONGER = 60


def left(run: Simulation) -> list[object]:
    """All that is left of a run."""
    ending, fabric = run.ending, run.fabric
    return [
        (ending.status, ending.cycles),
        [(ending.activities[each], ending.firings[each], each.activity, words(each)) for each in fabric.machines],
        [ending.entered[each] for each in fabric.all_channels],
        [(each.taken, each.peak, [str(token) for token in each.tokens]) for each in fabric.all_channels],
        fabric.arrivals,
        {name: str(each) for name, each in run.faults().items()},
    ]


def equal(netlist: Netlist, data: BoundInputs, **options: object) -> None:
    runs = [simulate(netlist, data, engine="compiled", jump=jump, **options) for jump in (True, False)]  # type: ignore[arg-type]
    for ours, theirs in zip(*map(left, runs), strict=True):
        assert ours == theirs


@pytest.mark.parametrize("build", [approx_speed.chain, approx_speed.compute, approx_speed.experts, approx_speed.memory])
def test_regular_programs(build) -> None:  # type: ignore[no-untyped-def]
    graph = Graph("regular")
    build(graph)
    netlist = lower(graph, approx_speed.FABRIC)
    data = approx_speed.bound(netlist, 3000)
    for limit in (None, 1999, 2500, 7001):
        equal(netlist, data, timing_of=approx_speed.timing_of, max_cycles=limit)


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int) -> None:
    """Their streams are repeated, as they are short."""
    for seed in range(70_000 + block * 25, 70_025 + block * 25):
        program = Program(Random(seed))
        try:
            (Program.contend if seed % 3 == 0 else Program.build)(program, 3 + seed % 10)
        except (StreamFault, Deadlock):
            continue
        data = program.bound()
        streams = {name: [*list(tokens)[:-1] * LONGER, tokens[-1]] for name, tokens in data.streams.items()}
        netlist = lower(program.graph, program.fabric)
        longer = BoundInputs(data.tensors, streams)
        for limit in (40_000, Random(seed).randint(500, 5000)):
            equal(netlist, longer, timing_of=program.timing_of, max_cycles=limit)
