"""The critical path: from the end of a run back to its start, along what every event had to wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sim_approx.explain.causes import Cause, Causes
from sim_approx.explain.edges import Edge, Edges, Kind, Paces
from sim_approx.explain.record import NOBODY, Record
from sim_approx.placing.build import Fabric


@dataclass(frozen=True)
class Step:
    """The cycles from ``since`` to before ``until`` went to ``cause``."""

    cause: Cause
    since: int
    until: int

    @property
    def cycles(self) -> int:
        return self.until - self.since


@dataclass(frozen=True)
class Path:
    """The critical path of a run: ``steps`` from cycle 0 to its end, each of which begins where the one before ends."""

    steps: list[Step]

    def shares(self) -> dict[Cause, int]:
        """Cycles by cause, most first; they add up to the cycles of the run."""
        counted: Counter[Cause] = Counter()
        for step in self.steps:
            counted[step.cause] += step.cycles
        return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))


def critical_path(fabric: Fabric, record: Record, cycles: int) -> Path:
    """The critical path of a run of ``fabric`` that ended after ``cycles``.

    Where several edges say the cycle of an event, the path goes on along the first one (`Edges.of`), so first of all
    along the machine's own firings.
    """
    paces, causes = Paces.of(fabric), Causes(fabric)
    steps: list[Step] = []
    until = cycles

    def step(cause: Cause, length: int) -> None:
        nonlocal until
        if length:
            steps.append(Step(cause, until - length, until))
            until -= length

    bindings = binding_edges(record, paces)
    number = _last(fabric, record, cycles)
    if number != NOBODY:
        event = record.events[number]
        if event.port != NOBODY:
            step(causes.latency(event.machine), cycles - event.cycle)
        else:
            step(causes.works(event.machine), 1)
    while number != NOBODY:
        edge, late = bindings[number]
        machine = record.events[number].machine
        step(causes.of(Kind.CROWDED, machine), late)
        if edge is None:
            break
        if edge.kind == Kind.ARRIVAL:
            origin = record.events[edge.origin]
            seen = 1 + paces.lags[edge.number]
            step(causes.transit(edge.number), seen)
            step(causes.latency(origin.machine), edge.cycles - seen)
        else:
            step(causes.of(edge.kind, edge.number), edge.cycles)
        number = edge.origin
    steps.reverse()
    return Path(steps)


def binding_edges(record: Record, paces: Paces) -> list[tuple[Edge | None, int]]:
    """By event, the edge that says its cycle, and by how many cycles it was later than that."""
    edges, events = Edges(record, paces, paces.memory_latency), record.events
    found: list[tuple[Edge | None, int]] = []
    for number, event in enumerate(events):
        best, cycle = None, 0
        for edge in edges.of(number):
            says = events[edge.origin].cycle + edge.cycles
            if best is None or says > cycle:
                best, cycle = edge, says
        found.append((best, event.cycle - cycle))
    return found


def _last(fabric: Fabric, record: Record, cycles: int) -> int:
    """The event with which the run ended: a last firing, or a beat that was written."""
    return next(_ends(fabric, record, cycles), NOBODY)


def _ends(fabric: Fabric, record: Record, cycles: int) -> Iterator[int]:
    for number in reversed(range(len(record.events))):
        event = record.events[number]
        if event.port != NOBODY:
            assert fabric.memory is not None
            ends = fabric.memory.ports[event.port].writes and event.cycle + event.latency == cycles - 1
        else:
            ends = event.ends and fabric.machines[event.machine].ends_run and event.cycle == cycles - 1
        if ends:
            yield number
