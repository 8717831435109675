"""Activities of every operator, and the way of the critical path, in equal bands of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.explain.explanation import Explanation
from sim_approx.explain.occupation import by_number, occupied
from sim_approx.placing.site import PlacedFabric
from step.running.result import Activity

BANDS = 160


@dataclass(frozen=True)
class Timeline:
    """Bands of ``width`` cycles, the last of which may be longer than the run.

    ``spent`` has the cycles by operator, activity and band, the operators in the order of the fabric; ``path`` by band
    the place, among the causes of the critical path, of the one that most of it went to; ``beats`` by band those that
    the memory granted.
    """

    width: int
    operators: list[str]
    spent: np.ndarray
    path: np.ndarray
    beats: np.ndarray


def timeline(found: Explanation, most: int = BANDS) -> Timeline:
    """The run of ``found`` in at most so many bands."""
    fabric, events, cycles = found.simulation.fabric, found.record.events, found.cycles
    width = max(1, -(-cycles // most))
    spent = activities(fabric, found.record, cycles, width)
    count = spent.shape[-1]
    steps = found.path.which, found.path.since, found.path.until
    path = banded(*steps, width, (max(1, len(found.path.causes)), count)).argmax(axis=0)
    first_port = fabric.memory.order if fabric.memory else len(fabric.machines)
    beats = np.bincount(events["cycle"][events["machine"] >= first_port] // width, minlength=count)
    return Timeline(width, list(fabric.units), spent.transpose(1, 0, 2), path, beats)


def activities(fabric: PlacedFabric, record: RunRecord, cycles: int, width: int) -> np.ndarray:
    """Cycles by activity, operator and band of ``width`` cycles, in a run of so many ``cycles``."""
    count = -(-cycles // width)
    places = {machine: row for row, machine in enumerate(fabric.units.values())}
    rows = by_number(fabric, lambda machine: places.get(machine, -1), lambda _: -1)
    events, waits = record.events, record.waits
    row = rows[events["machine"]]
    fires = row >= 0
    begin = events["cycle"][fires]
    until = np.minimum(begin + occupied(fabric, record)[fires], cycles)
    spent = np.zeros((len(Activity), len(fabric.units), count))
    spent[Activity.BUSY] = banded(row[fires], begin, until, width, (len(fabric.units), count))
    for activity in (Activity.STARVED, Activity.BLOCKED):
        of = waits[(waits["activity"] == activity) & (rows[waits["machine"]] >= 0)]
        where = rows[of["machine"]], of["since"], of["end"]
        spent[activity] = banded(*where, width, (len(fabric.units), count))
    lengths = np.minimum(width, cycles - width * np.arange(count))
    spent[Activity.FINISHED] = np.maximum(lengths - spent.sum(axis=0), 0)
    return spent


def banded(rows: np.ndarray, since: np.ndarray, until: np.ndarray, width: int, shape: tuple[int, int]) -> np.ndarray:
    """Cycles from ``since`` to before ``until`` of each of ``rows``, by row and band: an array of ``shape``."""
    begun = since // width
    counts = np.maximum(until - 1, since) // width - begun + 1
    which = np.repeat(np.arange(len(rows)), counts)  # each once for every band that it is in
    bands = begun[which] + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    cycles = np.minimum(until[which], (bands + 1) * width) - np.maximum(since[which], bands * width)
    return np.bincount(rows[which] * shape[1] + bands, cycles, shape[0] * shape[1]).reshape(shape)
