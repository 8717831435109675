"""What every operator did, and where the critical path went, in equal intervals of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from sim_approx.explain.causes import Cause
from sim_approx.explain.explanation import Explanation
from sim_approx.explain.record import NOBODY
from step.running.result import Activity


@dataclass(frozen=True)
class Timeline:
    """Intervals of ``width`` cycles, the last of which may be longer than the run.

    By operator, the number of the activity that it spent most of every interval in; and for each interval the cause
    that most of the critical path went to.
    """

    width: int
    operators: dict[str, list[int]]
    path: list[Cause]


def timeline(found: Explanation, most: int = 400) -> Timeline:
    """The run of ``found`` in at most so many intervals."""
    fabric, cycles = found.simulation.fabric, found.cycles
    width = max(1, -(-cycles // most))
    count = -(-cycles // width)
    spent = {machine.order: np.zeros((len(Activity), count), np.int64) for machine in fabric.units.values()}

    def spend(machine: int, activity: int, since: int, until: int) -> None:
        until = min(until, cycles)
        first, last = since // width, (until - 1) // width
        row = spent[machine][activity]
        row[first : last + 1] += width
        row[first] -= since - first * width
        row[last] -= (last + 1) * width - until

    ended = dict.fromkeys(spent, cycles)
    for event in found.record.events:
        if event.port == NOBODY and event.machine in spent and event.cycle < cycles:
            spend(event.machine, Activity.BUSY, event.cycle, event.cycle + event.interval)
            if event.ends:
                ended[event.machine] = event.cycle + 1
    for wait in found.record.waits:
        if wait.machine in spent:
            spend(wait.machine, wait.activity, wait.since, wait.until)
    for machine, since in ended.items():
        if since < cycles:
            spend(machine, Activity.FINISHED, since, cycles)
    operators = {name: spent[machine.order].argmax(axis=0).tolist() for name, machine in fabric.units.items()}
    return Timeline(width, operators, _path(found, width, count))


def _path(found: Explanation, width: int, count: int) -> list[Cause]:
    counted: list[Counter[Cause]] = [Counter() for _ in range(count)]
    for step in found.path.steps:
        for interval in range(step.since // width, (step.until - 1) // width + 1):
            begin, end = interval * width, (interval + 1) * width
            counted[interval][step.cause] += min(step.until, end) - max(step.since, begin)
    return [each.most_common(1)[0][0] for each in counted]
