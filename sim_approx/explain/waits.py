"""On whom every operator starved, and by whom it was blocked."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sim_approx.explain.causes import BANKS, Causes
from sim_approx.explain.record import Record, Wait
from sim_approx.placing.build import Fabric
from step.firing.machine import Machine
from step.running.result import Activity


@dataclass(frozen=True)
class Account:
    """What became of the cycles of an operator: with ``finished`` they add up to those of the run.

    ``starved`` has the cycles by whose tokens were missing, ``blocked`` those by who had to make space, most first.
    """

    busy: int
    finished: int
    starved: Counter[str] = field(default_factory=Counter)
    blocked: Counter[str] = field(default_factory=Counter)


def accounts(fabric: Fabric, record: Record, activities: dict[Machine, list[int]]) -> dict[str, Account]:
    """By operator, what became of its cycles, of which ``activities`` are the sums."""
    waits: list[list[Wait]] = [[] for _ in fabric.machines]
    for wait in record.waits:
        waits[wait.machine].append(wait)
    whom = _Whom(fabric, waits)
    found = {}
    for name, machine in fabric.units.items():
        counted = activities[machine]
        account = found[name] = Account(counted[Activity.BUSY], counted[Activity.FINISHED])
        for wait in waits[machine.order]:
            side = account.starved if wait.activity == Activity.STARVED else account.blocked
            for other, cycles in whom.awaited(wait, wait.since, wait.until):
                if cycles:
                    side[other] += cycles
    return found


class _Whom:
    """Who is waited for: the one at the other end of the channel or, where that is a machine of the same operator,
    the one that this machine waits for meanwhile."""

    def __init__(self, fabric: Fabric, waits: list[list[Wait]]) -> None:
        self._waits, self._causes = waits, Causes(fabric)
        self._since = [[wait.since for wait in each] for each in waits]

    def awaited(self, wait: Wait, since: int, until: int) -> Iterator[tuple[str, int]]:
        """Names, with the cycles from ``since`` to before ``until`` for which ``wait`` was for them."""
        if wait.channel is None:
            yield BANKS, until - since
            return
        other, name = self._causes.awaited(wait.channel, full=wait.activity == Activity.BLOCKED)
        if other is None or other == wait.machine or name != self._causes.operator(wait.machine):
            yield name, until - since
            return
        first = max(bisect_right(self._since[other], since) - 1, 0)
        for each in self._waits[other][first:]:
            if each.since >= until:
                break
            begin, end = max(each.since, since), min(each.until, until)
            if begin < end:
                yield name, begin - since
                yield from self.awaited(each, begin, end)
                since = end
        yield name, until - since
