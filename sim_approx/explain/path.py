"""The critical path: from the end of a run back to its start, along what every event had to wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_approx.engine.record import NOBODY, Reason, RunRecord
from sim_approx.explain.causes import Cause, Causes
from sim_approx.explain.occupation import by_number
from sim_approx.placing.site import PlacedFabric
from step.firing.machine import ENDS

TRANSIT, LATENCY, DISTANCE = range(len(Reason), len(Reason) + 3)
"""Parts of an arrival; a slot that was freed has a distance too."""
NUMBERS = 1 << 32


class PathStep(NamedTuple):
    """The cycles from ``since`` to before ``until`` went to ``cause``."""

    cause: Cause
    since: int
    until: int


@dataclass(frozen=True)
class Path:
    """The critical path of a run: steps from cycle 0 to its end, each of which begins where the one before ends.

    ``which`` has the place of the cause of each step among the ``causes``, ``until`` the cycle before which it ends.
    """

    causes: list[Cause]
    which: np.ndarray
    until: np.ndarray

    @property
    def since(self) -> np.ndarray:
        """By step, its first cycle."""
        return np.concatenate(([0], self.until[:-1]))

    @property
    def steps(self) -> Iterator[PathStep]:
        causes = (self.causes[which] for which in self.which.tolist())
        return map(PathStep, causes, self.since.tolist(), self.until.tolist())

    def shares(self) -> dict[Cause, int]:
        """Cycles by cause, most first; they add up to the cycles of the run."""
        counted = np.bincount(self.which, self.until - self.since, len(self.causes)).astype(int).tolist()
        found = zip(self.causes, counted, strict=True)
        return dict(sorted(found, key=lambda each: (-each[1], each[0])))


def critical_path(fabric: PlacedFabric, record: RunRecord, cycles: int) -> Path:
    """The critical path of a run of ``fabric`` that ended after ``cycles``."""
    events, memory = record.events, len(fabric.machines) - bool(fabric.memory)
    chain = _chain(fabric, record, cycles)
    if not len(chain):
        return Path([], np.zeros(0, np.int64), np.zeros(0, np.int64))
    on = events[chain]
    machines = np.minimum(on["machine"].astype(np.int64), memory)  # all ports are the memory
    origins = np.append(on["cycle"][1:], on["cycle"][-1] - on["late"][-1])
    total = on["cycle"] - on["late"] - origins
    arrives = on["kind"] == Reason.ARRIVAL
    lags = np.array([each.lag - each.hops for each in fabric.all_channels] or [0])
    hops = np.array([each.hops for each in fabric.all_channels] or [0])
    passes = arrives | (on["kind"] == Reason.FULL)
    numbers = np.where(passes, on["number"], 0).astype(np.int64)
    if fabric.memory:  # a beat has its address there; what arrived is what its port asks for
        places = {id(channel): place for place, channel in enumerate(fabric.all_channels)}
        asked = np.array([places[id(port.asks)] for port in fabric.memory.ports], np.int64)
        beats = on["machine"] >= memory
        numbers[beats] = asked[on["machine"][beats] - memory]
    transit = np.where(arrives, np.minimum(total, 1 + lags[numbers]), 0)
    distance = np.where(passes, np.minimum(total - transit, hops[numbers]), 0)
    # Behind each other: what no event tells, what a token was on its way for, and the rest.
    lengths = np.stack([on["late"], transit, distance, total - transit - distance], axis=1).ravel()
    from_machine = np.append(machines[1:], machines[-1])
    rest = np.where(arrives, LATENCY, on["kind"].astype(np.int64)) * NUMBERS
    rest += np.where(on["kind"] == Reason.FULL, numbers, from_machine)
    parts = [Reason.CROWDED * NUMBERS + machines, TRANSIT * NUMBERS + numbers, DISTANCE * NUMBERS + numbers, rest]
    codes = np.stack(parts, axis=1).ravel()
    end = cycles - int(on["cycle"][0])
    beat = fabric.memory is not None and int(machines[0]) == memory
    lengths = np.append(end, lengths)
    codes = np.append((LATENCY if beat else Reason.AFTER) * NUMBERS + int(machines[0]), codes)
    taken = lengths > 0
    found, which = np.unique(codes[taken][::-1], return_inverse=True)
    causes = Causes(fabric)
    names: dict[Cause, int] = {}
    where = [names.setdefault(_cause(causes, *divmod(code, NUMBERS)), len(names)) for code in found.tolist()]
    return Path(list(names), np.array(where)[which], np.cumsum(lengths[taken][::-1]))


def _cause(causes: Causes, kind: int, number: int) -> Cause:
    if kind in (TRANSIT, DISTANCE):
        return causes.transit(number) if kind == TRANSIT else causes.distance(number)
    return causes.latency(number) if kind == LATENCY else causes.of(Reason(kind), number)


def _chain(fabric: PlacedFabric, record: RunRecord, cycles: int) -> np.ndarray:
    """The events of the path, the last one first."""
    origin, found, number = record.events["origin"], list[int](), _last(fabric, record, cycles)
    while number != NOBODY:
        found.append(number)
        number = origin.item(number)
    return np.array(found, np.int64)


def _last(fabric: PlacedFabric, record: RunRecord, cycles: int) -> int:
    """The event with which the run ended: a last firing, or a beat that was written."""
    # A beat that is there in the last cycle was granted as long before as one takes at most.
    longest = int(record.events["size"].max(initial=0))
    begin = int(np.searchsorted(record.events["cycle"], cycles - 1 - longest))
    events = record.events[begin:]
    ends = by_number(fabric, lambda each: each.ends_run, lambda _: False) > 0
    writes = by_number(fabric, lambda _: False, lambda port: port.writes) > 0
    machine = events["machine"]
    last = (events["outcome"] == ENDS) & ends[machine] & (events["cycle"] == cycles - 1)
    last |= writes[machine] & (events["cycle"] + events["size"] == cycles - 1)
    masters = by_number(fabric, lambda each: each not in fabric.owners, lambda _: False) > 0
    last |= masters[machine] & (events["cycle"] == cycles - 1)  # a master tells of what was written
    found = np.flatnonzero(last)
    return NOBODY if not len(found) else begin + int(found[np.lexsort((machine[found], -events["cycle"][found]))[0]])
