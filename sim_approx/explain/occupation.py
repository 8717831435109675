"""Cycles for which every firing of a record occupies its machine."""

from __future__ import annotations

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.placing.site import PlacedFabric
from step.firing.machine import COMPUTES


def occupied(fabric: PlacedFabric, record: RunRecord) -> np.ndarray:
    """By event, cycles: the initiation interval if it passed a value, else 1; those of beats are 1."""
    events, ports = record.events, len(fabric.memory.ports) if fabric.memory else 0
    order = len(fabric.machines) - bool(ports)
    intervals = np.array([each.interval for each in fabric.machines[:order]] + [1] * ports, np.int64)
    found = np.where(events["outcome"] == COMPUTES, intervals[events["machine"]], 1)
    for machine in fabric.machines[:order]:
        if machine.sizes is not None:
            at = np.flatnonzero((events["machine"] == machine.order) & (events["outcome"] == COMPUTES))
            rows, which = np.unique(events["size"][at], return_inverse=True)
            # A machine that puts no tile keeps the pace that it began with.
            paces = [machine.interval if each < 0 else machine.sizes(each).interval for each in rows.tolist()]
            found[at] = np.array(paces, np.int64)[which]
    return found
