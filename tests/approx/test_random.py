"""The event engine against the clocked reference: every token of every channel, on random programs."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from clocked import Reference, clocked
from random_graphs import Program

from sim_approx.backend import simulate
from sim_approx.running.model_run import ModelRun
from step.errors import Deadlock, StreamFault
from step.lowering.netlist import lower
from step.running.result import Activity, Status

GRAPHS_PER_TEST = 25

LONGEST = 5000
"""Cycles that the reference can be asked for."""


def check(simulation: ModelRun, reference: Reference) -> None:
    """Both runs are the same."""
    assert simulation.ending.status.value == reference.status
    result = simulation.result()
    assert result.events is not None
    events = reference.events()
    for name, each in result.events.items():
        assert (each.cycles.tolist(), each.control.tolist(), each.leaves.tolist()) == events[name], name
    ours, theirs = simulation.fabric.machines, reference.fabric.machines
    assert sorted((ours.index(machine), found.fault) for machine, found in simulation.ending.faults) == sorted(
        (theirs.index(machine), fault) for machine, fault in reference.faults
    )
    units = {id(unit.machine): unit for unit in reference.units}
    for name, machine in reference.fabric.units.items():
        unit = units[id(machine)]
        if simulation.ending.status == Status.DEADLOCK:
            assert Activity(simulation.fabric.units[name].activity) == unit.activities[-1], name
        else:
            assert simulation.ending.activities[simulation.fabric.units[name]] == reference.counts(unit), name
    for each, channel in zip(simulation.fabric.channels, reference.fabric.channels, strict=True):
        assert simulation.ending.entered[each][1] == reference.peak(channel)
    shares, others = simulation.fabric.shares.by_filler, reference.fabric.shares.by_filler
    for name, share in shares.items():
        assert simulation.ending.entered[share.held][1] == reference.peak(others[name].held), name
    assert [each.granted for each in simulation.fabric.ports] == reference.beats
    expected = reference.stopped() if simulation.ending.status == Status.DEADLOCK else reference.cycles
    assert simulation.ending.cycles == expected


def compare(seed: int, steps: int) -> str:
    """Make a random program, run it on both, and return how it ended."""
    program = Program(Random(seed))
    try:
        program.build(steps)
    except (StreamFault, Deadlock):
        return "faulty"
    netlist = lower(program.graph, program.fabric)
    data = program.bound()
    simulation = simulate(netlist, data, events=True, timing_of=program.timing_of, max_cycles=LONGEST, engine="python")
    if simulation.ending.status == Status.RUNAWAY:
        return "long"
    reference = clocked(netlist, data, program.timing_of)
    check(simulation, reference)
    return reference.status


@pytest.mark.parametrize("block", [*range(4), *(pytest.param(each, marks=pytest.mark.slow) for each in range(4, 16))])
def test_random_programs(block: int) -> None:
    endings: Counter[str] = Counter()
    for seed in range(block * GRAPHS_PER_TEST, (block + 1) * GRAPHS_PER_TEST):
        endings[compare(seed, 3 + seed % 12)] += 1
    assert endings["finished"] > GRAPHS_PER_TEST // 3, endings


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_many_random_programs(block: int) -> None:
    for seed in range(10_000 + block * 100, 10_000 + (block + 1) * 100):
        compare(seed, 5 + seed % 16)
