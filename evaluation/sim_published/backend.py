"""The back end ``published``: cycles as the published simulator gives them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sim_published.build import ContextGraph, build
from sim_published.engine import Context
from sim_published.profile import PublishedProfile
from step.errors import Deadlock, InputError, StreamFault
from step.language.faults import Violation
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.programs.data.inputs import BoundInputs
from step.programs.prepare import Prepared, prepare
from step.running.backend import Backend
from step.running.result import ChannelResult, OperatorResult, RunResult, Status


def run(
    program: Prepared | Graph,
    inputs: Mapping[str, Any] | BoundInputs | None = None,
    fabric: FabricConfig | None = None,
    *,
    profile: PublishedProfile | None = None,
) -> RunResult:
    """Run ``program`` with the timing of ``profile``; the ``fabric`` has no say in it.

    Sources need their inputs, tensors do not: only values that decide are known. The result has the cycles that each
    operator was busy, starved and blocked in its local time, the elements that each channel took, and, as firings, the
    tiles that went between an operator and off-chip memory.

    Raises `FabricError` for what the published simulator does not have, `StreamFault`, and `Deadlock`.
    """
    if profile is not None and not isinstance(profile, PublishedProfile):
        raise InputError(f"profile must be a PublishedProfile, not {profile!r}")
    prepared = prepare(program, inputs, fabric)
    _ = prepared.doubts  # who has not asked for them gets errors here
    started = time.perf_counter()
    machine = build(prepared.graph, prepared.given, profile or PublishedProfile())
    try:
        cycles = machine.engine.run()
    except Violation as violation:
        name = machine.engine.running.name
        node = next(each for each in machine.graph if each.name == name)
        raise StreamFault(f"{node.describe()}: {node.operator.fault_text(violation.fault)}") from None
    seconds = time.perf_counter() - started
    result = _result(machine, cycles, seconds)
    stuck = [each.name for each in machine.engine.contexts if each not in machine.engine.finished]
    if stuck:
        error = Deadlock(f"nothing moves any more; these wait: {', '.join(stuck)}")
        error.result = result
        raise error
    return result


PUBLISHED = Backend(run)


def _result(machine: ContextGraph, cycles: int, seconds: float) -> RunResult:
    finished = {each.name for each in machine.engine.finished}
    return RunResult(
        backend="published",
        program=machine.graph.name,
        status=Status.FINISHED if len(finished) == len(machine.engine.contexts) else Status.DEADLOCK,
        cycles=cycles,
        outputs=None,
        operators={each.name: _activity(each, cycles) for each in machine.engine.contexts},
        channels={name: ChannelResult(each.count, 0, 0) for name, each in machine.channels.items()},
        wall_seconds=seconds,
    )


def _activity(context: Context, cycles: int) -> OperatorResult:
    """The cycles of an operator by what it did."""
    busy = context.time - context.starved - context.blocked
    return OperatorResult(busy, context.starved, context.blocked, cycles - context.time, context.tiles)
