"""Random rules: their hardware does what the Python engine does, or there is none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fabric_bench import packed, simulate
from filing import machine
from random_rules import rule
from ruled import KINDS, Kind
from test_further_rules import ONE, THREE, program

from hw.rules.words import HardwareError
from sim_approx import backend as model
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs

CYCLES = 150


def outcome(path: Path, seed: int) -> str:
    """What became of the rule; raises where RTL and Python engine differ."""
    element = (ONE, THREE)[seed % 2]
    filler = np.full(element.shape, 7, element.dtype.numpy)
    KINDS["random"] = Kind(machine(path, rule(seed)), lambda types: {"filler": filler})
    graph, inputs = program("random", [element], 1, seed)
    fabric = FabricConfig(link_bytes=4, links={"odd": 8} if seed % 3 else {}, channel_depth=2 + seed % 2)
    netlist = lower(graph, fabric)
    data = bind_inputs(netlist.graph, inputs)
    try:
        run = simulate(graph, inputs, fabric, most=CYCLES)
    except HardwareError as error:
        return str(error).partition("made of ")[2]
    timed = model.simulate(netlist, data, values="all", events=True, max_cycles=CYCLES, engine="python")
    events = timed.events()
    assert events is not None
    end = min(CYCLES, timed.ending.cycles) - 1
    for channel in run.fabric.channels:
        name = channel.edge.name
        mine = [(cycle, header) for cycle, header, _ in run.entered[name] if cycle < end]
        cycles = events[name].cycles.tolist()
        assert [cycle for cycle in cycles if cycle < end] == [cycle for cycle, _ in mine], name
    (channel,) = (each for each in run.fabric.channels if each.edge.consumer[0] == "odd_y0")
    sent = [(header, words) for _, header, words in run.entered[channel.edge.name]]
    wanted = [packed(token, channel) for token in timed.fabric.outputs["odd_y0"]]
    complete = min(len(wanted), len(sent) - 1 if len(sent) > 1 and not run.finished else len(sent))
    assert wanted[:complete] == sent[:complete]
    return "right" if complete > 1 else "silent"


@pytest.mark.parametrize("seeds", [range(16), pytest.param(range(16, 300), marks=pytest.mark.slow)])
def test_hardware_of_random_rules_is_right_or_refused(seeds: range, tmp_path: Path) -> None:
    found = Counter(outcome(tmp_path / f"odd{seed}.py", seed) for seed in seeds)
    assert found["right"] > len(seeds) // 6, found
