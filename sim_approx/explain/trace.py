"""A run as a trace for Perfetto (https://ui.perfetto.dev) and chrome://tracing: JSON in the Trace Event Format.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: complete events (``X``) for what takes
time, counters (``C``), and metadata (``M``) for names. Times are in microseconds; a cycle is a nanosecond, as in waves.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim_approx.engine.record import NOBODY
from sim_approx.explain.causes import BANKS, Causes
from sim_approx.explain.explanation import Explanation
from sim_approx.explain.occupation import occupied
from step.errors import InputError, expect
from step.lowering.netlist import Netlist
from step.running.result import Activity, RunResult

PATH, MODEL, RTL, CHANNELS, RTL_CHANNELS, MEMORY = range(1, 7)
"""Processes, in the order in which they are shown."""

MEMORY_BINS = 1000
"""Intervals, at most, into which the cycles are divided for the beats of the memory."""


def window(cycles: int, first: int, last: int | None) -> range:
    """The cycles from ``first`` to ``last`` of a run of so many; raises `InputError` where there are none."""
    if last is not None and last < first:
        raise InputError(f"the first cycle, {first}, must not be behind the last one, {last}")
    expect(first < cycles, f"the run has {cycles} cycles, so there is no cycle {first}", InputError)
    return range(first, cycles if last is None else min(cycles, last + 1))


def trace(found: Explanation, shown: range, rtl: RunResult | None = None) -> str:
    """The critical path, the firings and waits of every operator, the tokens in every channel, and the beats of memory.

    ``rtl``: the same run in RTL, with its events, which is shown beside it.
    """
    events = [*_path(found, shown), *_operators(found, shown), *_memory(found, shown)]
    events += _channels(found.result, CHANNELS, "fast model: tokens in channels", shown)
    if rtl is not None:
        events += _passing(rtl, found.simulation.fabric.netlist, shown)
        events += _channels(rtl, RTL_CHANNELS, "RTL: tokens in channels", shown)
    about = {"program": found.program.name, "cycles": found.cycles, "window": [shown.start, shown.stop - 1]}
    return json.dumps({"displayTimeUnit": "ns", "otherData": about, "traceEvents": events}, separators=(",", ":"))


def _path(found: Explanation, shown: range) -> Iterator[dict[str, Any]]:
    yield _named("process_name", PATH, 0, "critical path")
    yield _named("thread_name", PATH, 1, "critical path")
    for step in found.path.steps:
        yield from _slice(PATH, 1, f"{step.cause.what}: {step.cause.why}", step.since, step.until, shown)


def _operators(found: Explanation, shown: range) -> Iterator[dict[str, Any]]:
    """A track per operator: its firings, for as long as they occupy it, and its waits, with whom they were for."""
    fabric, causes = found.simulation.fabric, Causes(found.simulation.fabric)
    tracks = {machine.order: number for number, machine in enumerate(fabric.units.values(), 1)}
    yield _named("process_name", MODEL, 0, "fast model: operators")
    for name, machine in fabric.units.items():
        yield _named("thread_name", MODEL, tracks[machine.order], name)
    events, waits = found.record.events, found.record.waits
    until = events["cycle"] + occupied(fabric, found.record)
    inside = (events["cycle"] < shown.stop) & (until > shown.start) & np.isin(events["machine"], list(tracks))
    fires = events["machine"][inside], events["cycle"][inside], until[inside]
    for machine, since, to in zip(*map(np.ndarray.tolist, fires), strict=True):
        yield from _slice(MODEL, tracks[machine], "fires", since, to, shown)
    for since, to, machine, channel, activity in waits.tolist():
        if machine not in tracks:
            continue
        starved = activity == Activity.STARVED
        other = BANKS if channel == NOBODY else causes.awaited(channel, full=not starved)[1]
        what = f"starved on {other}" if starved else f"blocked by {other}"
        yield from _slice(MODEL, tracks[machine], what, since, to, shown)


def _memory(found: Explanation, shown: range) -> Iterator[dict[str, Any]]:
    """Beats a cycle of all memory channels, on average over intervals of the cycles that are shown."""
    memory, events = found.simulation.fabric.memory, found.record.events
    cycles = events["cycle"][events["machine"] >= memory.order] if memory else ()
    if not len(cycles):
        return
    length = -(-(shown.stop - shown.start) // MEMORY_BINS)
    edges = np.arange(shown.start, shown.stop + length, length)
    counted, _ = np.histogram(cycles, edges)
    yield _named("process_name", MEMORY, 0, "fast model: off-chip memory")
    for begin, count in zip(edges.tolist(), counted.tolist(), strict=False):
        yield _counter(MEMORY, "beats a cycle", begin, count / length)
    yield _counter(MEMORY, "beats a cycle", shown.stop, 0)


def _channels(result: RunResult, process: int, title: str, shown: range) -> Iterator[dict[str, Any]]:
    """A counter per channel: how many tokens are in it."""
    assert result.events is not None
    yield _named("process_name", process, 0, title)
    for name, each in result.events.items():
        times, levels = each.levels()
        before, behind = int(np.searchsorted(times, shown.start, side="right")), np.searchsorted(times, shown.stop)
        yield _counter(process, name, shown.start, int(levels[before - 1]))
        for cycle, level in zip(times[before:behind].tolist(), levels[before:behind].tolist(), strict=True):
            yield _counter(process, name, cycle, level)


def _passing(result: RunResult, netlist: Netlist, shown: range) -> Iterator[dict[str, Any]]:
    """A track per operator: the cycles in which tokens left its inputs or entered its outputs, which is what is seen of
    an RTL unit."""
    assert result.events is not None
    yield _named("process_name", RTL, 0, "RTL: operators")
    for track, node in enumerate(netlist.units, 1):
        yield _named("thread_name", RTL, track, node.name)
        passing = defaultdict[int, list[str]](list)
        for each in netlist.inputs(node):
            for cycle in result.events[each.name].leaves.tolist():
                passing[cycle].append(f"takes {each.name}")
        for behind in netlist.outputs(node):
            if behind is not None:
                for cycle in result.events[behind.name].cycles.tolist():
                    passing[cycle].append(f"puts {behind.name}")
        for cycle in sorted(passing):
            yield from _slice(RTL, track, ", ".join(passing[cycle]), cycle, cycle + 1, shown)


def _slice(process: int, track: int, name: str, since: int, until: int, shown: range) -> Iterator[dict[str, Any]]:
    since, until = max(since, shown.start), min(until, shown.stop)
    if since < until:
        times = {"ts": since / 1000, "dur": (until - since) / 1000}
        yield {"ph": "X", "name": name, "pid": process, "tid": track, **times}


def _counter(process: int, name: str, cycle: int, value: float) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": process, "tid": 0, "ts": cycle / 1000, "args": {"value": value}}


def _named(what: str, process: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": {"name": name}}
