"""Cycles for which every firing of a record occupies its machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.memory.channels import BeatPort
from sim_approx.placing.site import PlacedFabric
from step.firing.machine import COMPUTES, Machine


def by_number(fabric: PlacedFabric, of: Callable[[Machine], int], of_port: Callable[[BeatPort], int]) -> np.ndarray:
    """Counts ``of`` machines, and of the ports of the memory, by the numbers that events have."""
    machines = (each for each in fabric.machines if each is not fabric.memory)
    return np.array([*map(of, machines), *map(of_port, fabric.memory.ports if fabric.memory else ())], np.int64)


def occupied(fabric: PlacedFabric, record: RunRecord) -> np.ndarray:
    """By event, cycles: the initiation interval if it passed a value, else 1; those of beats are 1."""
    events = record.events
    intervals = by_number(fabric, lambda machine: machine.interval, lambda _: 1)
    found = np.where(events["outcome"] == COMPUTES, intervals[events["machine"]], 1)
    for machine in fabric.machines:
        if machine.sizes is not None:
            at = np.flatnonzero((events["machine"] == machine.order) & (events["outcome"] == COMPUTES))
            rows, which = np.unique(events["size"][at], return_inverse=True)
            # A machine that puts no tile keeps the pace that it began with.
            paces = [machine.interval if each < 0 else machine.sizes(each).interval for each in rows.tolist()]
            found[at] = np.array(paces, np.int64)[which]
    return found
