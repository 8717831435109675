"""Runs a fabric's bench in a process of its own, and reads back what the simulation hardware recorded."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cosim.build import Build, build
from cosim.design import Design, StreamPort, load_design
from cosim.process import run_logged
from cosim.toolchain import cocotb_libraries
from step.errors import InputError, SimulationError

STATUS = {1: "finished", 2: "stalled", 3: "runaway", 4: "fault"}

ENTER = np.dtype([("cycle", np.int64), ("channel", np.int32), ("control", np.uint8)])
"""A token that enters a channel; ``control``: bit 0 done, bit 1 value, bits 5:2 stop."""

LEAVE = np.dtype([("cycle", np.int64), ("channel", np.int32)])
"""A token that leaves a channel."""

NO_LIMIT = 1 << 39


@dataclass(frozen=True)
class RawRun:
    """What one run did, by the numbers of channels and units in the sidecar.

    ``status``: ``finished``, ``stalled`` (nothing moved for ``watchdog`` cycles), ``runaway`` (``max_cycles`` passed)
    or ``fault``. ``cycles`` is the length of the run: up to the last Done and the last visible write; of a stalled run
    up to the last movement; else up to the end of the simulation. ``simulated`` cycles went into ``activity`` [units, 4]
    (starved, busy, blocked, finished), ``last_activity`` [units] is that of the cycle after them. Channels: ``tokens``
    that entered, ``peak`` and final ``level`` of occupancy. ``enters`` and ``leaves`` are empty without a log.
    ``fault`` is (unit, code). ``seconds`` is the time of the simulation alone.
    """

    status: str
    cycles: int
    simulated: int
    sinks: dict[str, list[int]]
    memory: bytes
    enters: np.ndarray
    leaves: np.ndarray
    activity: np.ndarray
    last_activity: np.ndarray
    tokens: np.ndarray
    peak: np.ndarray
    level: np.ndarray
    fault: tuple[int, int] | None
    seconds: float
    build_seconds: float

    @property
    def cycles_per_second(self) -> float:
        """Speed of the simulation."""
        return self.simulated / self.seconds if self.seconds else 0.0


def simulate(
    origin: Design | Path | str | Mapping[str, Any],
    *,
    sources: Mapping[str, Sequence[int]] | None = None,
    memory: bytes = b"",
    max_cycles: int = NO_LIMIT,
    watchdog: int = 10_000,
    log: bool = True,
    waves: Path | None = None,
    progress: Callable[[int], None] | None = None,
    building: Callable[[str], None] | None = None,
) -> RawRun:
    """Build (through the cache) and run a design.

    ``sources`` are token payloads for each source, ``memory`` the contents from beat 0 on (the rest is zero).
    ``waves`` is a path ending in ``.vcd`` or ``.fst``. ``progress`` is told the cycle now and then, ``building`` the
    steps of a build.

    Raises `InputError` for data that does not fit the ports, `BuildError`, `EnvironmentProblem`, and
    `SimulationError` where the simulator breaks; a stalled, runaway or faulty run is a result.
    """
    design = origin if isinstance(origin, Design) else load_design(origin)
    kind = _wave_kind(waves)
    sources = sources or {}
    _check_sources(design.sources, sources)
    contents = _memory_contents(design, memory)
    built = build(design, waves=kind, progress=building)
    with run_directory() as directory:
        for port in design.sources:
            (directory / f"source.{port.name}").write_bytes(_stream_bytes(port, sources[port.name]))
        if contents is not None:
            (directory / "memory").write_bytes(contents[:, ::-1].tobytes())
        arguments = [f"+max_cycles={max_cycles}", f"+watchdog={watchdog}", *(["+log"] if log else [])]
        if waves is not None:
            waves.unlink(missing_ok=True)
            arguments += ["--trace", "--trace-file", str(waves.absolute())]
        run_simulator(built, "cosim.bench", directory, arguments, {}, progress)
        run = _read_run(design, directory, contents, built.seconds)
    if waves is not None and (not waves.is_file() or waves.stat().st_size == 0):
        raise SimulationError(f"the simulator wrote no waves to {waves}")
    return run


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """A directory for the files of one run, gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="step-run-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run_simulator(
    built: Build,
    module: str,
    directory: Path,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run the cocotb tests of ``module`` in the simulator; `SimulationError` with the end of its log if it breaks."""
    package_root = str(Path(__file__).parents[1])
    environment = {
        **built.toolchain.environment,
        "COCOTB_TOPLEVEL": built.top,
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_TEST_MODULES": module,
        "COCOTB_RESULTS_FILE": str(directory / "results.xml"),
        "COCOTB_LOG_LEVEL": "WARNING",
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_REWRITE_ASSERTION_FILES": "",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([package_root, *(path for path in sys.path if path)]),
        "GPI_USERS": f"{built.toolchain.libpython};{_entry_point()}",
        "STEP_RUN_DIRECTORY": str(directory),
        **variables,
    }
    log = directory / "simulator.log"
    poll = None if progress is None else lambda: _report(directory, progress)
    command = [str(built.executable), f"+directory={directory}", *arguments]
    status = run_logged(command, log, directory=directory, environment=environment, poll=poll)
    if status != 0 or not (directory / "bench.json").is_file():
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        raise SimulationError("\n".join([f"the simulator broke off ({how}):", *(f"  {line}" for line in lines[-8:])]))


def _entry_point() -> str:
    import cocotb_tools.config

    return str(cocotb_tools.config.pygpi_entry_point())


def _report(directory: Path, progress: Callable[[int], None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        progress(int((directory / "progress").read_text()))


def _wave_kind(waves: Path | None) -> str | None:
    if waves is None:
        return None
    kind = waves.suffix.removeprefix(".")
    if kind not in ("vcd", "fst"):
        raise InputError(f"waves must go to a file that ends in .vcd or .fst, not {str(waves)!r}")
    if not waves.absolute().parent.is_dir():
        raise SimulationError(f"waves can not go to {waves}: {waves.parent} is no directory")
    return kind


def _check_sources(ports: Sequence[StreamPort], sources: Mapping[str, Sequence[int]]) -> None:
    names = {port.name for port in ports}
    for name in sources:
        if name not in names:
            raise InputError(f"the fabric has no source {name!r}; it has {', '.join(sorted(names)) or 'none'}")
    for port in ports:
        if port.name not in sources:
            raise InputError(f"source {port.name!r} has no tokens")


def _memory_contents(design: Design, memory: bytes) -> np.ndarray | None:
    """The whole memory as bytes [beats, bytes of a beat], None for a fabric without ports."""
    if not design.reads and not design.writes:
        return None
    beats, beat = max(1, design.memory["beats_total"]), design.memory["beat_bytes"]
    if len(memory) > beats * beat:
        raise InputError(f"the memory has {beats * beat} bytes, but {len(memory)} were given")
    contents = np.zeros(beats * beat, np.uint8)
    contents[: len(memory)] = np.frombuffer(memory, np.uint8)
    return contents.reshape(beats, beat)


def _stream_bytes(port: StreamPort, payloads: Sequence[int]) -> bytes:
    width = -(-port.bits // 8)
    for payload in payloads:
        if payload < 0 or payload >> port.bits:
            raise InputError(f"source {port.name!r} takes payloads of {port.bits} bits, not {payload:#x}")
    return b"".join(payload.to_bytes(width, "big") for payload in payloads)


def _read_run(design: Design, directory: Path, contents: np.ndarray | None, build_seconds: float) -> RawRun:
    lines = [line.split() for line in (directory / "monitor").read_text().splitlines()]
    status, cycle, moved, unit, code = (int(word) for word in lines[0][1:])
    units = _table(lines, "unit", len(design.units), 5)
    channels = _table(lines, "channel", len(design.channels), 3)
    enters, leaves = _events(directory / "events")
    after = contents.tobytes() if contents is not None else b""
    if design.writes:
        after = (directory / "memory.after").read_bytes()
    return RawRun(
        status=STATUS[status],
        cycles=moved if STATUS[status] == "stalled" else cycle,
        simulated=cycle,
        sinks={port.name: _payloads(directory / f"sink.{port.name}", port.bits) for port in design.sinks},
        memory=after,
        enters=enters,
        leaves=leaves,
        activity=units[:, :4],
        last_activity=units[:, 4],
        tokens=channels[:, 0],
        peak=channels[:, 1],
        level=channels[:, 2],
        fault=(unit, code) if STATUS[status] == "fault" else None,
        seconds=json.loads((directory / "bench.json").read_text())["seconds"],
        build_seconds=build_seconds,
    )


def _table(lines: Sequence[Sequence[str]], kind: str, rows: int, columns: int) -> np.ndarray:
    """The numbers of the first ``rows`` lines of a kind (the monitor has one row even where there is nothing)."""
    numbers = [[int(word) for word in line[1:]] for line in lines if line[0] == kind]
    return np.array(numbers[:rows], np.int64).reshape(rows, columns)


def _events(path: Path) -> tuple[np.ndarray, np.ndarray]:
    words = np.fromfile(path, "<u8") if path.is_file() else np.zeros(0, np.uint64)
    is_leave = (words >> 6) & 1 != 0
    enters, leaves = np.zeros(int((~is_leave).sum()), ENTER), np.zeros(int(is_leave.sum()), LEAVE)
    for events, chosen in ((enters, words[~is_leave]), (leaves, words[is_leave])):
        events["cycle"] = chosen >> 24
        events["channel"] = (chosen >> 8) & 0xFFFF
    enters["control"] = words[~is_leave] & 0x3F
    return enters, leaves


def _payloads(path: Path, bits: int) -> list[int]:
    width = 4 * -(-bits // 32)
    data = path.read_bytes()
    return [int.from_bytes(data[start : start + width], "little") for start in range(0, len(data), width)]
