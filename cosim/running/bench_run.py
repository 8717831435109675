"""Runs a fabric's bench in a process of its own, with tokens and memory of a program in files that it reads."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cocotb_tools.config import pygpi_entry_point

from cosim.building.build import Build, build
from cosim.building.design import BenchDesign, StreamPort, load_design
from cosim.building.toolchain import Toolchain
from cosim.running.run_files import RawRun, look_at_sinks, read_run
from hw.links.layout import output_formats
from hw.links.packing import pack_tiles, pack_transfers
from step.errors import FabricError, InputError, SimulationError, expect
from step.host.files import FULL, check_writable, full_disk, has_room
from step.host.paths import named_file
from step.host.process import how_ended, run_logged
from step.host.progress import Progress, silent
from step.language.tiling import accessed
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs

NO_LIMIT = 1 << 36

MOST_BYTES = (1 << 31) - 1
"""Of the memory in ``sim_memory.sv``, which counts them with an ``int``."""


def simulate(
    origin: BenchDesign | Path | str | Mapping[str, Any],
    *,
    sources: Mapping[str, Sequence[int]] | None = None,
    memory: bytes = b"",
    max_cycles: int = NO_LIMIT,
    watchdog: int | None = None,
    log: bool = True,
    waves: Path | None = None,
    optimize: bool = True,
    progress: Progress = silent,
    leaving: Callable[[str, list[int]], None] | None = None,
) -> RawRun:
    """Build (through the cache) and run a design.

    ``sources`` are the transfers of each source, ``memory`` the contents from beat 0 on (the rest is zero). It goes
    on until nothing moved for ``watchdog`` cycles (the design's ``settling_cycles``), and ``max_cycles`` at most.
    ``waves`` is a path ending in ``.vcd`` or ``.fst``. ``progress`` is told the steps of a build, and the cycle now and
    then, ``leaving`` the name of a sink and the transfers of each token that leaves there.

    Raises `InputError` for data that does not fit the ports, `BuildError`, `EnvironmentProblem`, and
    `SimulationError` where the simulator breaks; a stalled, runaway or faulty run is a result.
    """
    design, kind = load_design(origin), wave_kind(waves)
    with run_directory() as directory:
        write_inputs(design, directory, sources or {}, memory)
        built = build(design, waves=kind, optimize=optimize, progress=progress)
        arguments = [f"+max_cycles={max_cycles}", *(["+log"] if log else []), *(["+prompt"] if leaving else [])]
        if watchdog is not None:
            arguments.append(f"+watchdog={watchdog}")
        if waves is not None:
            waves.unlink(missing_ok=True)
            arguments += ["--trace", "--trace-file", str(waves.absolute())]
        look = look_at_sinks(design, directory, leaving) if leaving else lambda: None

        def poll() -> None:
            with contextlib.suppress(OSError, ValueError):
                progress(f"simulating: cycle {int((directory / 'progress').read_text()):,}")
            look()

        with whole_or_gone(waves):
            run_simulator(built, "cosim.running.bench", directory, arguments, poll)
            if waves is not None and (not waves.is_file() or waves.stat().st_size == 0):
                raise SimulationError(f"the simulator wrote no waves to {waves}")
        look()
        return read_run(design, directory, built.seconds)


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """A directory for the files of one run, gone afterwards.

    Raises `EnvironmentProblem` where its disk is full at the end: the simulation hardware does not notice, and what it
    wrote may be a part of what it had to write.
    """
    directory = Path(tempfile.mkdtemp(prefix="step-run-"))
    full = full_disk(directory, "set TMPDIR to another place")
    try:
        yield directory
        if not has_room(directory):
            raise full
    except OSError as error:
        raise (full if error.errno in FULL else error) from None
    except SimulationError as error:
        raise (error if has_room(directory) else full) from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def whole_or_gone(waves: Path | None) -> Iterator[None]:
    """Leaves no part of ``waves`` behind a run that breaks off; `EnvironmentProblem` where their disk is full."""
    try:
        yield
    except BaseException as error:
        if waves is not None:
            full = isinstance(error, SimulationError) and not has_room(waves.absolute().parent)
            waves.unlink(missing_ok=True)
            if full:
                raise full_disk(waves, "let it be written to another place") from None
        raise


def run_simulator(
    built: Build, module: str, directory: Path, arguments: Sequence[str], poll: Callable[[], None] | None = None
) -> None:
    """Run the cocotb tests of ``module`` in the simulator; `SimulationError` with the end of its log if it breaks.

    ``poll`` is called now and then.
    """
    environment = simulator_environment(built, module, directory)
    log, command = directory / "simulator.log", [str(built.executable), f"+directory={directory}", *arguments]
    status = run_logged(command, log, directory=directory, environment=environment, poll=poll)
    if status != 0 or not (directory / "bench.json").is_file():
        raise broken_off(status, log)


def broken_off(status: int, log: Path) -> SimulationError:
    """The error of a simulator that ended with this ``status``, with the end of its ``log``."""
    lines = [f"  {line}" for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return SimulationError("\n".join([f"the simulator broke off ({how_ended(status)}):", *lines[-8:]]))


def simulator_environment(built: Build, module: str, directory: Path) -> dict[str, str]:
    """The environment of a simulator that runs in ``directory``."""
    here = {"COCOTB_RESULTS_FILE": str(directory / "results.xml"), "STEP_RUN_DIRECTORY": str(directory)}
    return {**built.toolchain.environment, **cocotb_environment(built.toolchain, built.top, module), **here}


def cocotb_environment(toolchain: Toolchain, top: str, module: str) -> dict[str, str]:
    """The variables by which the simulator finds Python, cocotb, and the tests of ``module``."""
    package_root = str(Path(__file__).parents[2])
    return {
        "COCOTB_TOPLEVEL": top,
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_TEST_MODULES": module,
        "COCOTB_LOG_LEVEL": "WARNING",
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_REWRITE_ASSERTION_FILES": "",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([package_root, *(path for path in sys.path if path)]),
        "GPI_USERS": f"{toolchain.libpython};{pygpi_entry_point()}",
    }


def wave_kind(waves: Path | None) -> str | None:
    """``"vcd"`` or ``"fst"``; raises `InputError` where ``waves`` can not be written, or end in something else."""
    if waves is None:
        return None
    kind = named_file(waves, "waves", ".vcd", ".fst").suffix.removeprefix(".")
    expect(waves.absolute().parent.is_dir(), f"waves can not go to {waves}: {waves.parent} is no directory", InputError)
    try:
        check_writable(waves)
    except OSError as error:
        raise InputError(f"waves can not go to {waves}: {error.strerror}") from None
    return kind


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
        expect(port.name in sources, f"source {port.name!r} has no tokens", InputError)
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
