"""Builds a fabric with its bench into one executable, through the cache.

The bench are sources, sinks, memory and monitor in Verilog, made from the design. Its text is the same for the same
design, and holds nothing of the data: one build serves every run. Of a fabric behind masters each of these has
`verilog/sim_axi.sv` at its bus.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.building.compiling import (
    HELPERS,
    IN_LOOPS,
    NO_OPTIMIZATION,
    OPTIMIZATION,
    TOP,
    VERILOG,
    Common,
    Verilation,
    make_simulator,
)
from cosim.building.design import BenchDesign, Hierarchy, SharedBuses, load_design
from cosim.building.toolchain import HINTS, Toolchain, cocotb_libraries, find_toolchain, has_lz4
from hw.memory.port import MEMORY_RESET
from step.errors import BuildError, EnvironmentProblem
from step.host import library
from step.host.builds import cached, content_key
from step.host.progress import Progress, silent
from step.host.texts import filled

GROUPS = 8
"""Files of C++ for all small modules together: the compiler takes a third of a second to begin one of its own."""

HARDWARE = (*(VERILOG / f"{name}.sv" for name in ("sim_source", "sim_sink", "sim_memory", "sim_monitor")), *HELPERS)
"""The simulation hardware that the bench instantiates."""

BUSES = VERILOG / "sim_axi.sv"
"""What stands between masters and the memory."""

READ_PORT = {
    "request": "request__payload",
    "request_valid": "request__valid",
    "request_ready": "request__ready",
    "response": "response__payload",
    "response_valid": "response__valid",
}
WRITE_PORT = {"write": "payload", "write_valid": "valid", "write_ready": "ready", "written": "written"}
"""Ports of the memory, and those of the fabric behind the name of an operator."""

_READ_BUS = {"ar": ("addr", "len", "valid", "ready"), "r": ("data", "last", "valid", "ready")}
_WRITE_BUS = {"aw": _READ_BUS["ar"], "w": ("data", "strb", "last", "valid", "ready"), "b": ("valid", "ready")}


@dataclass(frozen=True)
class Build:
    """A simulator that is ready to run: ``top`` is its top module, ``seconds`` what the build took (0: cached)."""

    executable: Path
    top: str
    toolchain: Toolchain
    seconds: float


def build(
    origin: BenchDesign | Path | str | Mapping[str, Any],
    *,
    waves: str | None = None,
    edges: Sequence[str] = (),
    optimize: bool = True,
    progress: Progress = silent,
) -> Build:
    """Build the simulator of a design, or take it from the cache.

    ``waves`` is ``"vcd"`` or ``"fst"`` to be able to record waves. With ``edges`` there is no simulation hardware:
    these ports of the design, and ``clk`` and ``rst``, are the bench's. Without ``optimize``, and where the environment
    has ``STEP_OPTIMIZE=0``, the build is faster, and the run slower. ``progress`` is told what is being done.

    Raises `EnvironmentProblem` for a missing tool, and `BuildError` with the first errors of a failed build.
    """
    design = load_design(origin)
    toolchain = find_toolchain()
    if waves == "fst" and not has_lz4():
        raise EnvironmentProblem(f"lz4.h is missing: {HINTS['lz4']}")
    optimization = library.optimization(OPTIMIZATION, NO_OPTIMIZATION) if optimize else NO_OPTIMIZATION
    read = verilation(design, waves, edges)
    # Comments name lines of the user's program, which may move.
    texts = [re.sub(rb"\s*//[^\n]*", b"", path.read_bytes()) for path in read.given]
    written = repr(sorted(read.written.items()))
    key = content_key([toolchain.identity, repr((read.flags, IN_LOOPS)), optimization, written, *texts])
    name, seconds = f"simulator-{key}", 0.0

    def make(directory: Path) -> None:
        nonlocal seconds
        started = time.monotonic()
        make_simulator(read, Common(toolchain, optimization, waves, progress), directory, name)
        seconds = time.monotonic() - started

    entry = cached(name, make)
    return Build(entry / "simulator", read.top, toolchain, seconds)


def verilation(design: BenchDesign, waves: str | None, edges: Sequence[str] = ()) -> Verilation:
    """Files of ``design`` for Verilator; the parameters are those of `build`."""
    given = (*design.verilog, *design.cpp)
    missing = [path for path in given if not path.is_file()]
    if missing:
        raise BuildError(f"{missing[0]} does not exist, but the sidecar names it")
    hierarchy, top = Hierarchy(design), design.module if edges else TOP
    # Waves of separately compiled modules would show nothing but their ports.
    apart = hierarchy.worthwhile and not edges and waves is None
    written = {"control.vlt": hierarchy.control_file(apart, ("clk", "rst", *edges) if edges else ())}
    if not edges:
        written, given = written | {"bench.sv": bench_text(design)}, (*given, *hardware(design))
    return Verilation(top, apart, written, given, verilator_flags(top, waves, apart))


def verilator_flags(top: str, waves: str | None, hierarchical: bool) -> list[str]:
    """Verilator's command line but for the files; the C++ goes to ``objects``.

    Without -fno-dfg it would put signals of the parent in the place of public inputs too (`Hierarchy.control_file`).
    """
    libraries = cocotb_libraries()
    return [
        *("--cc", "--exe", "--vpi", "--prefix", "Vtop", "-Mdir", "objects", "--top-module", top),
        *("-Wno-fatal", "-Wno-lint", "-Wno-style", "--no-timing", "-fno-dfg"),
        *("--output-groups", str(GROUPS)),
        *(["--hierarchical"] if hierarchical else []),
        *({None: [], "vcd": ["--trace"], "fst": ["--trace-fst"]}[waves]),
        *("-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"),
    ]


def hardware(design: BenchDesign) -> tuple[Path, ...]:
    """All that the bench of ``design`` instantiates."""
    return HARDWARE if design.buses is None else (*HARDWARE, BUSES)


def bench_text(design: BenchDesign) -> str:
    """SystemVerilog of the module `TOP`: the fabric, with all that it needs to run by itself.

    Its ports are ``clk`` and ``reset`` in, ``ended`` out; all else goes through files (see the modules).
    """
    shared, beat = design.buses, design.memory["beat_bytes"]
    probes = {"enter leave token": design.channels, "activity fault": design.units, "pages": design.buffers}
    named = [([f"probe_{each}" for each in names.split()], those) for names, those in probes.items()]
    channels, units, buffers = (max(1, len(each)) for each in probes.values())
    reads, writes = (design.reads, design.writes) if shared is None else (shared.reads, shared.writes)
    sizes = [1] * len(reads) if shared else [port.size_beats for port in reversed(design.reads)]
    return filled(
        VERILOG / "bench.sv.in",
        **{"design": design, "buses": shared, "masters": [] if shared is None else [*_masters(shared)]},
        **{"beat": beat, "beats": max(1, design.memory["beats_total"]), "memory_reset": MEMORY_RESET},
        **{"reads": reads, "writes": writes, "memory_ports": {"read": READ_PORT, "write": WRITE_PORT}},
        **{"read_ports": max(1, len(reads)), "write_ports": max(1, len(writes))},
        **{"ports": len(design.reads) + len(design.writes), "sizes": [f"32'd{each}" for each in sizes or [0]]},
        **{"probes": named, "channels": channels, "units": units, "buffers": buffers},
    )


def _masters(shared: SharedBuses) -> Iterator[tuple[str, int, str, list[tuple[str, int]]]]:
    """By half of a master: what it does, its port of the memory, its bus, and the widths of the signals of that."""
    widths = {"addr": shared.address_bits, "len": 8, "data": 8 * shared.bytes, "strb": shared.bytes}
    for kind, channels, numbers in (("read", _READ_BUS, shared.reads), ("write", _WRITE_BUS, shared.writes)):
        signals = [(f"{channel}{part}", widths.get(part, 1)) for channel, parts in channels.items() for part in parts]
        for at, number in enumerate(numbers):
            yield kind, at, f"m_axi{number}", signals
