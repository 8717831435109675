"""Operations a cycle against operations a byte: operators and the whole of a run under the roofs of the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from step.errors import InputError
from step.host.figures import BLACK, COLOURS, axes_for
from step.running.backend import Run
from step.running.work import OperatorWork, work_of
from step_show.plot.parts import grouped

MARKERS = "osv^<>"
"""Of the operators that do the most; those of all others are dots."""

GREY = "#888888"

EXECUTED, USEFUL = "program, by off-chip bytes", "the same without rows of padding"


def roofline(run: Run, *, ax: Any = None) -> Any:
    """The place of ``run`` under the roofs of its fabric, whole and by operators (Williams et al., 2009).

    The whole program has its operations per off-chip byte, an operator those per byte that it takes and sends on its
    links; operators that differ in numbers of their names are one point, with the sums of all. The dash above a point
    is what its lanes could do. Where tiles are padded, a black star is the program without operations on padding. The
    roofs are the off-chip bandwidth and all lanes.

    Returns the axes, ``ax`` or new ones. Raises `InputError` for a run without time and for a program without
    operations, and what `step.bind` raises.

    >>> step.plot.roofline(step.run(program, "approx")).get_ylabel()
    'performance [FLOP/cycle]'
    """
    works, cycles, memory = work_of(run.program), run.cycles, run.program.fabric.memory
    if not works or not cycles:
        raise InputError(f"the operators of {run.program.name} do no operations, so there is no roof to show")
    points = _points(works)
    whole = _sum(works.values())
    moved = sum(each.beats for each in run.result.traffic.values()) * memory.beat_bytes
    counts = {USEFUL: whole.useful} if 0 < whole.useful < whole.flops else {}
    counts[EXECUTED] = whole.flops
    program = {label: (count / moved, count / cycles) for label, count in counts.items()} if moved else {}
    axes = axes_for(ax, (8.5, 4.5))
    for number, (names, work) in enumerate(points.items()):
        style = {"marker": MARKERS[number], "color": COLOURS[number]} if number < len(MARKERS) else {"color": GREY}
        label = names if number <= len(MARKERS) else None
        if number == len(MARKERS) < len(points) - 1:
            label = f"{len(points) - number} others"
        x, y, most = work.intensity, work.flops / cycles, work.a_cycle
        axes.scatter(x, y, s=36, zorder=3, label=label, **style)
        axes.vlines(x, y, most, color=style["color"], linewidth=0.7, alpha=0.6)
        axes.scatter(x, most, marker="_", s=160, color=style["color"], zorder=3)
    for label, place in program.items():
        colour = BLACK if label == USEFUL else "white"
        axes.scatter(*place, marker="*", s=190, color=colour, edgecolor=BLACK, zorder=4, label=label)
    rates = [*(each.flops / cycles for each in points.values()), *(y for _, y in program.values())]
    intensities = [whole.a_cycle / memory.bandwidth, *(x for x, _ in program.values())]
    intensities += [each.intensity for each in points.values()]
    across = np.geomspace(min(intensities) / 4, max(intensities) * 4, 500)
    roof = f"roof: {memory.bandwidth:,.4g} B/cycle off chip,\n{whole.a_cycle:,} FLOP/cycle of all lanes"
    axes.plot(across, np.minimum(whole.a_cycle, across * memory.bandwidth), color=BLACK, label=roof)
    axes.set(xscale="log", yscale="log", xlim=(across[0], across[-1]), ylim=(min(rates) / 4, whole.a_cycle * 4))
    axes.set(title=run.program.name, xlabel="arithmetic intensity [FLOP/B]", ylabel="performance [FLOP/cycle]")
    axes.grid(which="major", color="#dddddd", linewidth=0.5)
    legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8)
    legend.set_title("operators, by bytes on their links;\ndashes: all of their lanes", {"size": 8})
    return axes


def _points(works: Mapping[str, OperatorWork]) -> dict[str, OperatorWork]:
    """The operators in groups, those that do the most first; the names of groups in one place are one text."""
    groups = {name: _sum([works[each] for each in names]) for name, names in grouped(works).items()}
    places: dict[OperatorWork, list[str]] = {}
    for name in sorted(groups, key=lambda each: -groups[each].flops):
        places.setdefault(groups[name], []).append(name)
    return {",\n".join(names): work for work, names in places.items()}


def _sum(works: Iterable[OperatorWork]) -> OperatorWork:
    every = list(works)
    return OperatorWork(
        *(sum(getattr(each, name) for each in every) for name in ("flops", "a_cycle", "link_bytes", "useful"))
    )
