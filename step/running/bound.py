"""Bound of a run."""

from __future__ import annotations

from step.lowering.off_chip import MemoryConfig
from step.running.result import RunResult
from step.running.waiting import OFF_CHIP


def bound_by(result: RunResult, memory: MemoryConfig) -> str | None:
    """Busiest part of a run, off-chip memory or an operator, and its part of the cycles: ``gate 93%``.

    None for a run that took no cycle. A small part says that neither is the limit, but the way through the program.
    """
    if not result.cycles:
        return None
    moved = sum(each.beats for each in result.traffic.values()) * memory.beat_bytes
    shares = {OFF_CHIP: moved / memory.bandwidth / result.cycles}
    shares |= {name: each.busy / result.cycles for name, each in result.operators.items()}
    name = max(shares, key=shares.__getitem__)
    return f"{name} {shares[name]:.0%}"
