"""The end of a run that failed: its error, and the smallest channel depths that clear a deadlock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from sim_approx.running.model_run import ModelRun
from step.errors import Deadlock, SimulationError, StreamFault
from step.lowering.netlist import Netlist
from step.running.deadlock import Snapshot, full_channels, report
from step.running.result import RunResult, Status
from step.running.room import overflow

ENOUGH = 1 << 40
"""A depth that no run fills."""


def finished(run: ModelRun) -> RunResult:
    """The result of ``run``; raises its error."""
    result = run.result()
    if (error := _error(run, result)) is not None:
        raise_failure(error, run, result)
    return result


def attempted(run: ModelRun) -> RunResult:
    """The result of ``run``, whose ``status`` and ``error`` say so if it failed."""
    result = run.result()
    error = _error(run, result)
    return result if error is None else _failed(result, error)


def raise_failure(error: SimulationError, run: ModelRun, result: RunResult) -> NoReturn:
    """Raise the ``error`` of a ``run`` that has this ``result``."""
    if isinstance(error, Deadlock):
        snapshot = run.snapshot()
        error = Deadlock(report(run.netlist, snapshot, clearing_depths(run.netlist, snapshot, run.again)))
    error.result = _failed(result, error)
    raise error


def _error(run: ModelRun, result: RunResult) -> SimulationError | None:
    return run.error or overflow(run.netlist, result.traffic)


def _failed(result: RunResult, error: SimulationError) -> RunResult:
    """``result`` of a run that ``error`` ended."""
    status = Status.FAULT if isinstance(error, StreamFault) else result.status
    return replace(result, status=status, error=str(error))


def clearing_depths(
    netlist: Netlist, snapshot: Snapshot, rerun: Callable[[Mapping[str, int]], ModelRun]
) -> dict[str, int]:
    """Depths, by channel, with which ``netlist`` gets past its deadlock; empty if there are none.

    First every channel that is found full gets unlimited depth, until the run ends. Then one channel after the other,
    those on the cycle of waits last, gets its old depth back if the others are enough, and else the smallest
    depth with which the run still ends: none of the depths returned can be lowered alone.
    """
    asked = {each.name: each.depth for each in netlist.channels}
    depths: dict[str, int] = {}
    while True:
        full = [each.name for each in full_channels(netlist, snapshot) if each.name not in depths]
        if not full:
            return {}
        depths.update(dict.fromkeys(full, ENOUGH))
        free = rerun(depths)
        if free.ending.status != Status.DEADLOCK:
            break
        snapshot = free.snapshot()

    def ends(name: str, depth: int) -> bool:
        return rerun({**depths, name: depth}).ending.status != Status.DEADLOCK

    peaks = {each.name: channel.peak for each, channel in zip(netlist.channels, free.fabric.channels, strict=True)}
    for name in reversed(list(depths)):
        if ends(name, asked[name]):
            depths[name] = asked[name]
            continue
        too_small, enough = asked[name], max(peaks[name], asked[name] + 1)
        while not ends(name, enough):
            too_small, enough = enough, 2 * enough
        while enough - too_small > 1:
            middle = (too_small + enough) // 2
            if ends(name, middle):
                enough = middle
            else:
                too_small = middle
        depths[name] = enough
    return {name: depth for name, depth in depths.items() if depth != asked[name]}
