"""Random hops on the channels of a program."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from step.lowering.netlist import Netlist, lower
from step.programs.program import Program

MOST = 20


def random_hops(netlist: Netlist, seed: int) -> dict[str, int]:
    """0 to `MOST` hops of each channel, by name."""
    random = Random(seed)
    most = random.choice([1, 3, MOST])
    return {each.name: random.randint(0, most) for each in netlist.channels}


def hopped(netlist: Netlist, seed: int) -> Netlist:
    """``netlist`` with `random_hops`."""
    hops = random_hops(netlist, seed)
    return replace(netlist, channels=tuple(replace(each, hops=hops[each.name]) for each in netlist.channels))


def far(program: Program, seed: int) -> Program:
    """``program`` on a fabric with `random_hops`."""
    hops = random_hops(lower(program.graph, program.fabric), seed)
    return replace(program, fabric=replace(program.fabric, hops=hops))
