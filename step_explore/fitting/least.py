"""The area that a program takes at least, whatever hardware a fit chooses for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from step.lowering.netlist import lower
from step.programs.program import Program
from step_explore.areas import area_of
from step_explore.fifos.shrink import LEAST
from step_explore.fitting.space import MEMORIES, Knob, Option, Space


def least_sites(program: Program, firings: Mapping[str, int], cycles: float = math.inf) -> float:
    """LUT sites of which none of the choices has less that takes at most so many ``cycles``.

    Of every unit, which fires so often, the smallest option whose firings fit into these, each by itself; channels of
    the least depth, and block RAM wherever it may be.
    """
    fabric = program.fabric
    words = min(fabric.block_ram_words, *MEMORIES)
    deep = lower(program.graph, replace(fabric, block_ram_words=words))
    netlist = deep.with_depths({each.name: LEAST for each in deep.channels if each.depth > LEAST})
    space = Space.of(netlist)
    rest = area_of(netlist) - space.parts(space.asked)
    return rest.lut_sites + sum(_smallest(unit, firings, cycles) for unit in space.units)


def _smallest(unit: Knob, firings: Mapping[str, int], cycles: float) -> float:
    fast = [each for each in unit.options if _busy(unit, each, firings) <= cycles]
    return min(each.area.lut_sites for each in fast or unit.options[-1:])


def _busy(unit: Knob, option: Option, firings: Mapping[str, int]) -> int:
    """Cycles from the first firing to the last one."""
    pairs = zip(unit.nodes, option.intervals, strict=True)
    return max((firings.get(name, 0) - 1) * interval for name, interval in pairs)
