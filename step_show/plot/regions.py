"""The work of the lanes of every region over the time of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from step.errors import InputError
from step.host.figures import axes_for, in_counts
from step.lowering.feasible import lanes_of, with_lanes
from step.programs.prepare import prepare
from step.running.backend import Run
from step_show.plot.parts import part_of
from step_show.plot.recorded import profile_of

FEW = 0.01
"""Regions with less than this part of the lanes that the largest one has are one row."""

OTHERS = "others"

MOST_NAMES = 24
"""Rows that have names each; of more, every second, fourth, ... has."""


def utilization(run: Run, *, intervals: int = 200, ax: Any = None) -> Any:
    """The part of time in which the lanes of every region were busy, over the cycles of ``run``, as a map.

    A region is a part of the program whose operators have its name and number in front of theirs: ``expert3``,
    ``region0``. What is in none is a row of its own; what has few lanes is in the last row.
    Operators count by their lanes, and those without lanes do not.
    Averages over ``intervals`` of equal length. Returns the axes, ``ax`` or new ones.

    Raises `InputError` where no operator has lanes, and for a run without time or of other depths than its program's.

    >>> step.plot.utilization(step.run(program, "approx")).get_xlabel()
    'cycle'
    """
    netlist = prepare(run.program).netlist
    regions: dict[str, list[tuple[str, int]]] = {}
    for node in with_lanes(netlist):
        regions.setdefault(part_of(node.name) or node.name, []).append((node.name, lanes_of(node, netlist)))
    regions = _with_others(regions)
    if not regions:
        raise InputError(f"no operator of {run.program.name} has lanes, so there is nothing that could be utilized")
    found = profile_of(run, intervals)
    rows = [
        sum(lanes * found.busy(name) for name, lanes in operators) / sum(lanes for _, lanes in operators)
        for operators in regions.values()
    ]
    axes = axes_for(ax, (7, min(7.5, 1.8 + 0.13 * len(rows))))
    picture = axes.pcolormesh(
        found.edges, np.arange(len(rows) + 1) - 0.5, 100 * np.array(rows), cmap="cividis", vmin=0, vmax=100
    )
    axes.figure.colorbar(picture, ax=axes, label="busy lanes [% of time]", pad=0.02)
    every = 1
    while len(rows) > every * MOST_NAMES:
        every *= 2
    axes.set_yticks(range(0, len(rows), every), list(regions)[::every])
    axes.invert_yaxis()
    axes.set(title=run.program.name, xlabel="cycle", xlim=(0, found.cycles))
    in_counts(axes.xaxis)
    return axes


def _with_others(regions: dict[str, list[tuple[str, int]]]) -> dict[str, list[tuple[str, int]]]:
    """``regions`` with the operators, and lanes, of all that have few of these in the last one."""
    lanes = {name: sum(each for _, each in operators) for name, operators in regions.items()}
    few = [name for name, each in lanes.items() if each < FEW * max(lanes.values())]
    large = {name: operators for name, operators in regions.items() if name not in few}
    return large if not few else {**large, OTHERS: [each for name in few for each in regions[name]]}
