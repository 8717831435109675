"""On whom every operator starved, and by whom it was blocked."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from sim_approx.engine.record import NOBODY, RunRecord
from sim_approx.explain.causes import BANKS, Causes
from sim_approx.placing.site import PlacedFabric
from step.running.result import Activity, RunResult


@dataclass(frozen=True)
class Account:
    """Cycles of an operator by what became of them: with ``finished`` they add up to those of the run.

    ``starved`` has the cycles by whose tokens were missing, ``blocked`` those by who had to make space, most first.
    """

    busy: int
    finished: int
    starved: Counter[str] = field(default_factory=Counter)
    blocked: Counter[str] = field(default_factory=Counter)


def accounts(fabric: PlacedFabric, record: RunRecord, result: RunResult) -> dict[str, Account]:
    """By operator, what became of its cycles, of which the ``result`` has the sums."""
    found, whom = {}, _Whom(fabric, record)
    for name, machine in fabric.units.items():
        account = found[name] = Account(result.operators[name].busy, result.operators[name].finished)
        for activity, other, cycles in whom.awaited_by(machine.order):
            (account.starved if activity == Activity.STARVED else account.blocked)[other] += cycles
    return found


class _WaitRow(NamedTuple):
    """A row of `sim_approx.engine.record.WAIT`."""

    since: int
    until: int
    machine: int
    channel: int
    activity: int


class _Whom:
    """The one that is waited for: at the other end of the channel or, where that is a machine of the same operator,
    the one that this machine waits for meanwhile."""

    def __init__(self, fabric: PlacedFabric, record: RunRecord) -> None:
        self._causes = Causes(fabric)
        waits = record.waits[np.argsort(record.waits["machine"], kind="stable")]
        self._waits = np.split(waits, np.searchsorted(waits["machine"], np.arange(1, len(fabric.machines))))
        self._rows = cache(lambda machine: [*map(_WaitRow._make, self._waits[machine].tolist())])

    def awaited_by(self, machine: int) -> Iterator[tuple[int, str, int]]:
        """The activity, who is waited for, and the cycles, of all waits of ``machine``."""
        waits = self._waits[machine]
        kinds, which = np.unique(np.stack([waits["channel"], waits["activity"]]), axis=1, return_inverse=True)
        sums = np.bincount(which.ravel(), waits["end"] - waits["since"], kinds.shape[1]).astype(int).tolist()
        for number, (channel, activity) in enumerate(kinds.T.tolist()):
            inside, name = self._other(machine, channel, activity)
            if inside is None:
                yield activity, name, sums[number]
                continue
            for wait in map(_WaitRow._make, waits[which.ravel() == number].tolist()):
                for whom, cycles in self._awaited(wait, wait.since, wait.until):
                    if cycles:
                        yield activity, whom, cycles

    def _other(self, machine: int, channel: int, activity: int) -> tuple[int | None, str]:
        """The one that ``machine`` waits for: its number if it is another one of the operator, and its name."""
        if channel == NOBODY:
            return None, BANKS
        other, name = self._causes.awaited(channel, full=activity == Activity.BLOCKED)
        return None if other == machine or name != self._causes.operator(machine) else other, name

    def _awaited(self, wait: _WaitRow, since: int, until: int) -> Iterator[tuple[str, int]]:
        """Names, with the cycles from ``since`` to before ``until`` for which ``wait`` was for them."""
        other, name = self._other(wait.machine, wait.channel, wait.activity)
        if other is None:
            yield name, until - since
            return
        rows = self._rows(other)
        first = max(bisect_right(rows, since, key=lambda each: each.since) - 1, 0)
        for each in rows[first:]:
            if each.since >= until:
                break
            begin, end = max(each.since, since), min(each.until, until)
            if begin < end:
                yield name, begin - since
                yield from self._awaited(each, begin, end)
                since = end
        yield name, until - since
