"""Runs a fabric with Python at every clock edge: slow, but with idle cycles, backpressure and stream rules.

For tests of single units and small fabrics without memory ports; long runs go through `cosim.running.bench_run`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cosim.building.build import build
from cosim.building.design import BenchDesign, load_design
from cosim.running.bench_run import run_directory, run_simulator
from step.errors import InputError


@dataclass(frozen=True)
class Pattern:
    """When a port is willing: in runs of ``busy`` and ``idle`` cycles, each of random length up to these.

    ``busy`` 0 is always willing. ``patient``: a sink that becomes ready only after it has seen valid.
    """

    busy: int = 0
    idle: int = 0
    patient: bool = False


PATTERNS = {
    "none": Pattern(),
    "random": Pattern(busy=2, idle=2),
    "bursty": Pattern(busy=12, idle=20),
    "slow": Pattern(busy=1, idle=6),
    "patient": Pattern(patient=True),
}
"""Patterns by name, to cross tests with."""


@dataclass(frozen=True)
class EdgeRun:
    """What the ports did: ``status`` is ``finished``, ``stalled``, ``runaway`` or ``fault``.

    ``sinks``: transfers taken. ``sink_cycles`` and ``source_cycles``: the cycle of each transfer. ``violations``: what
    broke a stream rule, as text. ``fault``: (unit, code) or None.
    """

    status: str
    cycles: int
    sinks: dict[str, list[int]]
    sink_cycles: dict[str, list[int]]
    source_cycles: dict[str, list[int]]
    violations: list[str]
    fault: tuple[int, int] | None


def drive_edges(
    origin: BenchDesign | Path | str | Mapping[str, Any],
    *,
    sources: Mapping[str, Sequence[int]] | None = None,
    idle: str | Pattern = "none",
    backpressure: str | Pattern = "none",
    seed: int = 0,
    max_cycles: int = 100_000,
    watchdog: int = 1_000,
) -> EdgeRun:
    """Drive every source and sink of a fabric from Python.

    ``idle`` says when sources make offers, ``backpressure`` when sinks take them, both names of `PATTERNS` or
    patterns of their own. The run ends when every sink has taken Done, or when nothing moved for ``watchdog`` cycles.

    Raises `InputError` for a fabric with memory ports and for sources that it does not have.
    """
    design = origin if isinstance(origin, BenchDesign) else load_design(origin)
    sources = sources or {}
    if design.reads or design.writes:
        raise InputError("drive_edges serves no memory ports; use simulate for this fabric")
    if {port.name for port in design.sources} != set(sources):
        names = ", ".join(port.name for port in design.sources) or "none"
        raise InputError(f"tokens must be given for the sources of the fabric ({names}), not for {sorted(sources)}")
    built = build(design, edges=_ports(design), optimize=False)  # most of the time passes in Python
    with run_directory() as directory:
        plan = {
            "sources": {port.port: [hex(token) for token in sources[port.name]] for port in design.sources},
            "sinks": [port.port for port in design.sinks],
            "widths": {port.port: port.widths for port in (*design.sources, *design.sinks)},
            "faults": bool(design.units),
            "idle": asdict(_pattern(idle)),
            "backpressure": asdict(_pattern(backpressure)),
            "seed": seed,
            "max_cycles": max_cycles,
            "watchdog": watchdog,
        }
        (directory / "plan.json").write_text(json.dumps(plan))
        run_simulator(built, "edge_bench", directory, [])
        result = json.loads((directory / "bench.json").read_text())
    sinks = {port.name: result["sinks"][port.port] for port in design.sinks}
    return EdgeRun(
        status=result["status"],
        cycles=result["cycles"],
        sinks={name: [int(token, 16) for _, token in taken] for name, taken in sinks.items()},
        sink_cycles={name: [cycle for cycle, _ in taken] for name, taken in sinks.items()},
        source_cycles={port.name: result["sources"][port.port] for port in design.sources},
        violations=result["violations"],
        fault=tuple(result["fault"]) if result["fault"] else None,
    )


def _pattern(pattern: str | Pattern) -> Pattern:
    if isinstance(pattern, Pattern):
        return pattern
    if pattern not in PATTERNS:
        raise InputError(f"a pattern must be one of {', '.join(PATTERNS)}, not {pattern!r}")
    return PATTERNS[pattern]


def _ports(design: BenchDesign) -> list[str]:
    """What the bench drives and reads."""
    streams = (*design.sources, *design.sinks)
    ports = [name for port in streams for name in (*port.parts, f"{port.port}_tvalid", f"{port.port}_tready")]
    return [*ports, *(["probe_fault"] if design.units else [])]
