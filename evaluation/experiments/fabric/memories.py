"""Fig. 8 on DRAM, and what of its cycles is which part of that: single effects switched off, one after the other.

The published HDL has Ramulator 2 behind it: 512 bytes a request, each one of `HBM2_2Gb` at `HBM2_2Gbps`. All of its
streams begin at address 0, and all requests are on the first of eight channels, which so stands for all of them
in step (step-artifact-eval, commit c730e14: bluespec/ramulator2/hbm.yaml, src/Parameters.bsv, src/FileReader.bsv).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from inspect import getfile
from pathlib import Path
from statistics import fmean

from experiments.fabric import validation
from experiments.fabric.points import FabricPoint
from experiments.fabric.record import digest_with
from experiments.fabric.tables import grid
from experiments.fabric.validation import DEPTH, MATCHED, ON_DRAM, WIDTH
from experiments.published import swiglu
from experiments.published.show.results import FigureRows
from experiments.published.show.validation import errors as validation_errors
from experiments.published.show.validation import hdl, hdl_megabytes
from experiments.said import said
from experiments.work import Experiment
from step import MemoryConfig, Simulator
from step.lowering.dram import preset

COLUMNS = ("point", "cycles", "moved_bytes", "cpu_seconds", "version", "sources")

PART, OWN = "hbm2_2gb", "hbm2"
"""The memory of the published HDL, and the preset with the times of a vendor."""
NEVER = 1 << 30
EFFECTS: dict[str, dict[str, int]] = {
    "no refresh": {"trefi": NEVER},
    "rows without end": {"row_bytes": NEVER},
    "neither": {"trefi": NEVER, "row_bytes": NEVER},
    "all column commands a burst apart": {"tccd_l": 2},
    "no time between reads and writes": {"turnaround": 1, "twtr_s": 1, "twtr_l": 1},
    "a queue of twice the beats": {"queue": 64},
    "a queue of half the beats": {"queue": 16},
    "granted in turn": {"out_of_turn": 1},
}
"""What is other in a DRAM, by what it shows."""
NARROW = 64
"""Bytes of a beat that is a burst."""


def _changed(memory: MemoryConfig, **others: int) -> MemoryConfig:
    assert memory.dram is not None
    return replace(memory, dram=replace(memory.dram, **others))


def memories() -> dict[str, MemoryConfig]:
    """All that points are run on, by what the tables call them."""
    narrow = f"{NARROW}-byte beats"
    part = ON_DRAM.memory
    own = replace(part, dram=preset(OWN).dram)
    found = {f"ideal, {narrow}": replace(MATCHED.memory, beat_bytes=NARROW, channels=2 * MATCHED.memory.channels)}
    for name, memory in ((PART, part), (OWN, own), (f"{OWN}, {narrow}", replace(own, beat_bytes=NARROW))):
        changed = {f"{name}, {what}": _changed(memory, **others) for what, others in EFFECTS.items()}
        found |= {name: memory} | {what: each for what, each in changed.items() if each != memory}
    return found


def points() -> Iterator[FabricPoint]:
    """All tile sizes on each memory."""
    for name, memory in memories().items():
        made = partial(validation.program, fabric=replace(MATCHED, memory=memory))
        for point in validation.validation(made):
            yield replace(point, name=_name(name, point.name))


def _name(memory: str, tile: str) -> str:
    return f"{memory}: {tile}"


def measured(point: FabricPoint) -> dict[str, object]:
    """The row of a point."""
    program = point.make()
    result = Simulator(program).run().result
    return {"cycles": result.cycles, "moved_bytes": result.off_chip_bytes}


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest_with(getfile(swiglu), getfile(validation), __file__)


CAMPAIGN = Experiment("memories", COLUMNS, {"8": points}, measured, sources)


@dataclass(frozen=True)
class Errors:
    """Errors of the cycles on one memory against those of HDL, by tile size."""

    of: dict[str, float]

    @property
    def mean(self) -> float:
        """Whatever their signs."""
        return fmean(map(abs, self.of.values()))

    @property
    def most(self) -> str:
        """The point with most cycles over those of HDL."""
        return max(self.of, key=lambda point: self.of[point])

    @property
    def slower(self) -> int:
        """Points with more cycles than HDL."""
        return sum(each > 0 for each in self.of.values())


def errors(results: Path, memory: str = PART) -> Errors:
    """On a memory of `memories`; raises `Missing`."""
    found = FigureRows(results, "memories")
    return Errors({point: found.number("8", _name(memory, point)) / cycles - 1 for point, cycles in hdl().items()})


def table(results: Path) -> str:
    """A line per memory; raises `Missing`."""
    shown = ("16x16", "16x256", "64x16", "64x64")
    lines, ideal = [], validation_errors(FigureRows(results, "fabric"))
    for name in memories():
        found = errors(results, name)
        loss = fmean((1 + each) / (1 + ideal[point]) - 1 for point, each in found.of.items())
        cells = [f"{loss:+.1%}", f"{found.mean:.1%}", f"{found.of[found.most]:+.1%} ({found.most})"]
        lines.append([name, *cells, *(f"{found.of[point]:+.1%}" for point in shown)])
    return grid(["memory", "cycles over ideal", "mean error", "most", *shown], lines)


def finding(results: Path) -> str:
    """The distance of our cycles from those of HDL on its memory."""
    found, own = errors(results), errors(results, OWN)
    return said(
        f"That is on a memory without rows, banks and refresh, while HDL has DRAM. On its part (`{PART}`) ours are "
        f"{found.mean:.1%} off in the mean, {found.of[found.most]:+.1%} at most ({found.most}), and {found.slower} of "
        f"{len(found.of)} points take more cycles than HDL; with a vendor's times (`{OWN}`) it is {own.mean:.1%} and "
        f"{own.of[own.most]:+.1%}.",
        found.mean < own.mean,
    )


REQUEST, WINDOW, PIECE, SCALAR = 512, 64, 16, 4
"""Of the published HDL: bytes of a request, requests that may be due, extent of a piece, bytes of a scalar."""


def differences(results: Path) -> str:
    """The parameters of HDL beside ours; raises `Missing`."""
    ours, dram, theirs = MATCHED.memory, ON_DRAM.memory, preset(PART)
    assert dram.dram is not None
    point = "64x64"
    moved = FigureRows(results, "memories").number("8", _name(PART, point), "moved_bytes") / 1e6
    refresh = 1 - dram.dram.trfc / dram.dram.trefi
    peak = theirs.channels * dram.dram.burst_bytes // dram.dram.burst
    ideal = f"{ours.channels} channels of {ours.beat_bytes} bytes in {ours.interval} cycles"
    lanes = MATCHED.matmul_lanes
    lines = [
        ["bytes of a scalar", f"{SCALAR}", f"{SCALAR // 2}"],
        [f"off-chip MB at {point}", f"{hdl_megabytes()[point]:.2f}", f"{moved:.2f}"],
        ["bytes a cycle of all memory", f"{peak}", f"{ours.bandwidth:.0f}"],
        [
            "memory",
            f"`HBM2_2Gb` of `Ramulator 2`: {refresh:.1%} beside refresh",
            f"ideal: {ideal}; DRAM: {dram.channels} channels of `{PART}`",
        ],
        [
            "a request",
            f"{REQUEST} bytes, on a channel that stands for all in step; {WINDOW} may be due",
            f"a beat of {dram.beat_bytes} bytes of each port and cycle; {dram.dram.queue} may be due in a channel",
        ],
        [
            "rows in memory",
            "all tensors begin at one address, so streams share rows",
            "each load has its region, so streams meet in banks with other rows",
        ],
        ["cycles beside the memory", "a FIFO or two", f"{ours.latency} (ideal), {dram.latency} (DRAM)"],
        ["multiplications a cycle of a unit", f"{PIECE**3:,}: a whole piece", f"{lanes:,}"],
        ["pieces of weights", f"{PIECE} x {PIECE}", f"{DEPTH} x {WIDTH}"],
        ["an addition", "in a function of C, at once", "one cycle (`stages=1`)"],
        ["lanes in RTL", "functions of C", 'C++ (`arithmetic="model"`)'],
    ]
    return grid(["", "published HDL", "here"], lines)
