"""The record of a run: what the simulation hardware wrote.

The formats are told at the head of each module in ``verilog/``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cosim.building.design import BenchDesign

STATUS = {1: "finished", 2: "stalled", 3: "runaway", 4: "fault"}

ENTER = np.dtype([("cycle", np.int64), ("channel", np.int32), ("control", np.uint16)])
"""A token that enters a channel; ``control``: bit 0 done, bit 1 value, bits 5:2 stop, bits 9:6 rank."""

LEAVE = np.dtype([("cycle", np.int64), ("channel", np.int32)])
"""A token that leaves a channel."""


@dataclass(frozen=True)
class RawRun:
    """The record of one run, by the numbers of channels and units in the sidecar.

    ``status``: ``finished``, ``stalled`` (nothing moved for ``watchdog`` cycles), ``runaway`` (``max_cycles`` passed)
    or ``fault``. ``cycles`` is the length of the run: up to the last Done and the last visible write; of a stalled run
    up to the last movement; of a faulty one up to the first fault; else all. These cycles went into ``activity``
    [units, 4] (starved, busy, blocked, finished), ``last_activity`` [units] is that of the cycle after them, and into
    what is counted of channels: ``tokens`` that entered, ``peak`` and final ``level`` of occupancy. ``pages`` [fillers
    of buffers, 2] are the most pages that they had and those at the end; ``all_pages``: the most of all together.

    ``simulated`` cycles there are in all. All of them are in ``sinks``, ``memory``, the ``beats`` that passed at each
    port of it (reads first), the events (``enters`` and ``leaves``; empty without a log), and ``faults``: unit and code
    of each. ``seconds`` is the time of the simulation alone.
    """

    status: str
    cycles: int
    simulated: int
    sinks: dict[str, list[int]]
    memory: bytes
    beats: list[int]
    enters: np.ndarray
    leaves: np.ndarray
    activity: np.ndarray
    last_activity: np.ndarray
    tokens: np.ndarray
    peak: np.ndarray
    level: np.ndarray
    faults: list[tuple[int, int]]
    pages: np.ndarray
    all_pages: int
    seconds: float
    build_seconds: float

    @property
    def cycles_per_second(self) -> float:
        """Speed of the simulation."""
        return self.simulated / self.seconds if self.seconds else 0.0

    def entered(self, channel: int) -> np.ndarray:
        """``control`` of each token that entered a channel."""
        return self.enters["control"][self.enters["channel"] == channel]


def read_run(design: BenchDesign, directory: Path, build_seconds: float = 0.0) -> RawRun:
    """The record of the run in ``directory``."""
    lines = [line.split() for line in (directory / "monitor").read_text().splitlines()]
    (status, cycles), *_ = _table(lines, "run", 1, 2).tolist()
    (simulated,), *_ = _table(lines, "simulated", 1, 1).tolist()
    units = _table(lines, "unit", len(design.units), 5)
    channels = _table(lines, "channel", len(design.channels), 3)
    enters, leaves = _events(directory / "events")
    return RawRun(
        status=STATUS[status],
        cycles=cycles,
        simulated=simulated,
        sinks={port.name: _transfers(directory / f"sink.{port.name}", port.bits) for port in design.sinks},
        memory=_memory_after(design, directory),
        beats=_beats(design, directory),
        enters=enters,
        leaves=leaves,
        activity=units[:, :4],
        last_activity=units[:, 4],
        tokens=channels[:, 0],
        peak=channels[:, 1],
        level=channels[:, 2],
        pages=_table(lines, "buffer", len(design.buffers), 2),
        all_pages=int(_table(lines, "pages", 1, 1)[0, 0]),
        faults=[(int(unit), int(code)) for word, unit, code in (line for line in lines if line[0] == "fault")],
        seconds=json.loads((directory / "bench.json").read_text())["seconds"],
        build_seconds=build_seconds,
    )


def _memory_after(design: BenchDesign, directory: Path) -> bytes:
    """The memory at the end of a run; only write ports can have changed it."""
    beat = design.memory["beat_bytes"]
    if design.writes:
        after = np.fromfile(directory / "memory.after", np.uint8)
        return after.reshape(-1, 4 * -(-beat // 4))[:, :beat].tobytes()  # a beat in whole words
    if not design.reads:
        return b""
    before = np.fromfile(directory / "memory", np.uint8)
    return before.reshape(-1, beat)[:, ::-1].tobytes()


def _beats(design: BenchDesign, directory: Path) -> list[int]:
    """Beats that passed at each port of the memory, if there is one."""
    if not design.has_memory:
        return []
    if design.buses is None:
        return [int(line) for line in (directory / "memory.beats").read_text().splitlines()]
    taken = [int(line) for line in (directory / "ports.taken").read_text().splitlines()]
    sizes = [*(each.size_beats for each in design.reads), *(1 for _ in design.writes)]
    return [count * size for count, size in zip(taken, sizes, strict=True)]


def _table(lines: Sequence[Sequence[str]], kind: str, rows: int, columns: int) -> np.ndarray:
    """The numbers of the first ``rows`` lines of a kind (the monitor has one row even where there is nothing)."""
    numbers = [[int(word) for word in line[1:]] for line in lines if line[0] == kind]
    return np.array(numbers[:rows], np.int64).reshape(rows, columns)


def _events(path: Path) -> tuple[np.ndarray, np.ndarray]:
    words = np.fromfile(path, "<u8") if path.is_file() else np.zeros(0, np.uint64)
    is_leave = (words >> 10) & 1 != 0
    enters, leaves = np.zeros(int((~is_leave).sum()), ENTER), np.zeros(int(is_leave.sum()), LEAVE)
    for events, chosen in ((enters, words[~is_leave]), (leaves, words[is_leave])):
        events["cycle"] = chosen >> 27
        events["channel"] = (chosen >> 11) & 0xFFFF
    enters["control"] = words[~is_leave] & 0x3FF
    return enters, leaves


def look_at_sinks(design: BenchDesign, directory: Path, tell: Callable[[str, list[int]], None]) -> Callable[[], None]:
    """A look at the sinks of a run that goes on in ``directory``.

    ``tell(name, transfers)`` gets the transfers of each token that is whole by then, and was not told before.
    """
    seen, begun = Counter[str](), defaultdict[str, list[int]](list)

    def look() -> None:
        for port in design.sinks:
            path = directory / f"sink.{port.name}"
            for transfer in _transfers(path, port.bits, seen[port.name]) if path.is_file() else ():
                seen[port.name] += 1
                begun[port.name].append(transfer)
                if transfer >> port.user_bits & 1:
                    tell(port.name, begun.pop(port.name))

    return look


def _transfers(path: Path, bits: int, first: int = 0) -> list[int]:
    """Transfers that are whole, from number ``first`` on."""
    width = 4 * -(-bits // 32)
    with path.open("rb") as file:
        file.seek(first * width)
        data = file.read()
    data = data[: len(data) // width * width]
    return [int.from_bytes(data[start : start + width], "little") for start in range(0, len(data), width)]
