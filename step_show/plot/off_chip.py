"""Off-chip bandwidth over the time of a run."""

from __future__ import annotations

from typing import Any

from step.host.figures import BLACK, BLUE, ORANGE, axes_for, in_counts
from step.running.backend import Run
from step_show.plot.recorded import profile_of


def bandwidth(run: Run, *, intervals: int = 200, ax: Any = None) -> Any:
    """Bytes a cycle that off-chip memory moved, read and written, over the cycles of ``run``; and the most that it can.

    Averages over ``intervals`` of equal length. Beats count in full, as they occupy the bus. Returns the axes, ``ax``
    or new ones. Raises `InputError` for a run without time, or of other depths or another memory than its program's.

    >>> step.plot.bandwidth(step.run(program, "approx")).get_ylabel()
    'off-chip bandwidth [B/cycle]'
    """
    found, memory = profile_of(run, intervals), run.program.fabric.memory
    axes = axes_for(ax)
    rates = found.beats * memory.beat_bytes / found.lengths
    axes.stairs(rates[0], found.edges, fill=True, color=BLUE, label="read")
    axes.stairs(rates.sum(axis=0), found.edges, baseline=rates[0], fill=True, color=ORANGE, label="written")
    average = float(found.beats.sum()) * memory.beat_bytes / max(found.cycles, 1)
    axes.axhline(average, color=BLACK, linestyle=":", label=f"average: {average:.3g}")
    axes.axhline(memory.bandwidth, color=BLACK, linestyle="--", label=f"most: {memory.bandwidth:.4g}")
    axes.set(title=run.program.name, xlabel="cycle", ylabel="off-chip bandwidth [B/cycle]")
    axes.set(xlim=(0, found.cycles), ylim=(0, memory.bandwidth * 1.08))
    in_counts(axes.xaxis)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, frameon=False)
    return axes
