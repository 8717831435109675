"""The files between a run and the simulation hardware: tokens and memory of a program in, what was recorded out.

The formats are told at the head of each module in ``verilog/``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cosim.building.design import BenchDesign, StreamPort
from hw.links.layout import output_formats
from hw.links.packing import pack_tiles, pack_transfers
from step.errors import FabricError, InputError
from step.language.tiling import accessed
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs

STATUS = {1: "finished", 2: "stalled", 3: "runaway", 4: "fault"}

MOST_BYTES = (1 << 31) - 1
"""Of the memory in ``sim_memory.sv``, which counts them with an ``int``."""

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


def write_inputs(
    design: BenchDesign, directory: Path, sources: Mapping[str, Sequence[int]], memory: bytes = b""
) -> None:
    """Write what a run reads: transfers of each source, the memory from beat 0 on (the rest is zero), its parameters.

    Raises `InputError` for sources that the fabric does not have or that are missing, transfers that are too wide, and
    too large a memory.
    """
    names = {port.name for port in design.sources}
    for name in sources:
        if name not in names:
            raise InputError(f"the fabric has no source {name!r}; it has {', '.join(sorted(names)) or 'none'}")
    for port in design.sources:
        if port.name not in sources:
            raise InputError(f"source {port.name!r} has no tokens")
        (directory / f"source.{port.name}").write_bytes(_stream_bytes(port, sources[port.name]))
    if design.has_memory:
        beats, beat = max(1, design.memory["beats_total"]), design.memory["beat_bytes"]
        if len(memory) > beats * beat:
            raise InputError(f"the memory has {beats * beat} bytes, but {len(memory)} were given")
        contents = np.frombuffer(memory.ljust(beats * beat, b"\0"), np.uint8).reshape(beats, beat)
        (directory / "memory").write_bytes(contents[:, ::-1].tobytes())
        timing = design.memory_config.timing()
        (directory / "memory.timing").write_text("".join(f"{name} {value}\n" for name, value in timing.items()))


def _stream_bytes(port: StreamPort, transfers: Sequence[int]) -> bytes:
    width = -(-port.bits // 8)
    for transfer in transfers:
        if transfer < 0 or transfer >> port.bits:
            raise InputError(f"source {port.name!r} takes transfers of {port.bits} bits, not {transfer:#x}")
    return b"".join(transfer.to_bytes(width, "big") for transfer in transfers)


def source_transfers(netlist: Netlist, data: BoundInputs) -> dict[str, list[int]]:
    """The transfers of every source."""
    return {
        node.name: [
            transfer
            for token in data.streams[node.name]
            for transfer in pack_transfers(token, node.output_types[0].element, *output_formats(node, netlist))
        ]
        for node in netlist.units
        if node.operator.given() is not None
    }


def check_memory(netlist: Netlist) -> None:
    """Raise `FabricError` for more off-chip memory than the bench holds, or than addresses of its buses reach."""
    memory = netlist.fabric.memory
    size, bus = memory_map(netlist).beats * memory.beat_bytes, memory.bus
    what = f"program {netlist.graph.name!r} takes {size:,} bytes of off-chip memory"
    if size > MOST_BYTES:
        raise FabricError(
            f"{what}, more than the {MOST_BYTES:,} that a simulation of the RTL holds; take smaller tensors, or the "
            "fast model"
        )
    if bus is not None and size > 1 << bus.address_bits:
        raise FabricError(
            f"{what} in a simulation of the RTL, more than bus.address_bits = {bus.address_bits} reach; give more"
        )


def memory_image(netlist: Netlist, data: BoundInputs) -> bytes:
    """Off-chip memory before a run: the declared tensors in their regions; raises what `check_memory` raises."""
    check_memory(netlist)
    layout = memory_map(netlist)
    beat = netlist.fabric.memory.beat_bytes
    image = bytearray(layout.beats * beat)
    for node in netlist.units:
        access = accessed(node)
        if access is not None and access.tensor is not None:
            start = (layout.loads.get(node.name) or layout.stores[node.name]).base * beat
            packed = pack_tiles(data.tiles(access.tensor, access.tile.shape), access.tile, beat)
            image[start : start + len(packed)] = packed
    return bytes(image)


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
