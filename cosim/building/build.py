"""Builds a fabric with its bench into one executable, through the cache.

The bench are sources, sinks, memory and monitor in Verilog, made from the design. Its text is the same for the same
design, and holds nothing of the data: one build serves every run. Of a fabric behind masters each of these has
`verilog/sim_axi.sv` at its bus.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
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
from cosim.building.design import BenchDesign, Hierarchy, SharedBuses, StreamPort, load_design
from cosim.building.toolchain import HINTS, Toolchain, cocotb_libraries, find_toolchain, has_lz4
from hw.memory.port import MEMORY_RESET
from hw.verilog.structure import separated
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

Connections = list[tuple[str, str]]
"""Ports of the fabric, and what they get."""


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
    shared = design.buses is not None
    power, body = "power_on" if shared else "rst", list[str]()
    connections = [("clk", "clk"), ("rst", power)]
    for port in (*design.sources, *design.sinks):
        body += _stream(port, "sim_source" if port in design.sources else "sim_sink")
        connections += [(name, name) for name in (*port.parts, f"{port.port}_tvalid", f"{port.port}_tready")]
    if design.buses is not None:
        lines, more = _buses(design, design.buses)
        body += [_memory(design, len(design.buses.reads), len(design.buses.writes)), *lines]
    elif design.has_memory:
        more = _memory_connections(design)
        body.append(_memory(design, len(design.reads), len(design.writes)))
    else:
        more = []
        body += ["    wire waiting = 1'b0, reading = 1'b0, writing = 1'b0;", ""]
    probes = {"enter leave token": design.channels, "activity fault": design.units, "pages": design.buffers}
    connections += [*more, ("probe_finished", "probe_finished")]
    connections += [(f"probe_{each}",) * 2 for names, those in probes.items() if those for each in names.split()]
    unused = [", ".join(f"probe_{each} = '0" for each in names.split()) for names, those in probes.items() if not those]
    channels, units, buffers = (max(1, len(each)) for each in probes.values())
    bits = {"enter": channels, "token": 10 * channels, "activity": 2 * units, "fault": 4 * units, "page": 16 * buffers}
    return filled(
        VERILOG / "bench.sv.in",
        module=design.module,
        power=power,
        resets=["    wire rst;  // that of the fabric, which its masters give"] if shared else [],
        ports=body,
        **{f"last_{each}": width - 1 for each, width in bits.items()},
        unused=[f"    assign {each};" for each in unused],
        channels=channels,
        units=units,
        buffers=buffers,
        settling=design.settling_cycles,
        finished=f"probe_finished && !writing{' && !probe_writing' if shared else ''}",
        connections=separated(f"        .{port}({signal})" for port, signal in connections),
    )


def _stream(port: StreamPort, module: str) -> list[str]:
    """A source or a sink, as the ``module`` of its kind."""
    stem, takes = port.port, module == "sim_sink"
    return [
        *([f"    wire [{port.data_bits - 1}:0] {stem}_tdata;"] if port.data_bits else []),
        f"    wire [{port.user_bits - 1}:0] {stem}_tuser;",
        f"    wire {stem}_tlast, {stem}_tvalid, {stem}_tready;",
        f'    {module} #(.NAME("{port.name}"), .BITS({port.bits})) {stem}__{module.removeprefix("sim_")} (',
        f"        .clk, .rst, .transfer({{{', '.join(port.parts)}}}), .valid({stem}_tvalid), "
        f".ready({stem}_tready){',' * takes}",
        *(["        .running"] if takes else []),
        "    );",
        "",
    ]


def _memory(design: BenchDesign, read_ports: int, write_ports: int) -> str:
    """The memory; behind masters each request is for one beat."""
    bits = 8 * design.memory["beat_bytes"]
    sizes = [port.size_beats for port in reversed(design.reads)] if design.buses is None else [1] * read_ports
    unused = [] if read_ports else ["    assign request[0] = '0, request_valid[0] = 1'b0;"]
    unused += [] if write_ports else ["    assign write[0] = '0, write_valid[0] = 1'b0;"]
    return filled(
        VERILOG / "memory.sv.in",
        reset=MEMORY_RESET,
        reads=max(1, read_ports),
        writes=max(1, write_ports),
        read_ports=read_ports,
        write_ports=write_ports,
        last=bits - 1,
        last_written=bits + 31,
        unused=unused,
        bytes=design.memory["beat_bytes"],
        beats=max(1, design.memory["beats_total"]),
        sizes=", ".join(f"32'd{each}" for each in sizes) or "32'd0",
    )


def _memory_connections(design: BenchDesign) -> Connections:
    connections = [(MEMORY_RESET, MEMORY_RESET)]
    for ports, members in ((design.reads, READ_PORT), (design.writes, WRITE_PORT)):
        for number, port in enumerate(ports):
            connections += [
                (f"{port.port}__{member}", f"{net}[{number}]")
                for net, member in members.items()
                if net != "written" or port.acknowledged
            ]
    return connections


def _buses(design: BenchDesign, shared: SharedBuses) -> tuple[list[str], Connections]:
    """The lines of the buses, and the connections of the fabric with them."""
    parameters = f".BYTES({design.memory['beat_bytes']}), .BUS({shared.bytes}), .ADDRESS({shared.address_bits})"
    widths = {"addr": shared.address_bits, "len": 8, "data": 8 * shared.bytes, "strb": shared.bytes}
    lines, connections = list[str](), [("soft_reset", "1'b0"), ("fabric_reset", "rst")]
    for kind, channels, ports, constant, numbers in (
        ("read", _READ_BUS, READ_PORT, ("rid", "rresp"), shared.reads),
        ("write", _WRITE_BUS, WRITE_PORT, ("bid", "bresp"), shared.writes),
    ):
        names = [(f"{channel}{part}", widths.get(part, 1)) for channel, parts in channels.items() for part in parts]
        for at, number in enumerate(numbers):
            bus = f"m_axi{number}_"
            wired = [f".{name}({bus}{name})" for name, _ in names] + [f".{each}({each}[{at}])" for each in ports]
            lines += [f"    wire [{width - 1}:0] {bus}{name};" for name, width in names]
            lines += [f"    sim_axi_{kind} #({parameters}) {kind}{number} (.clk, .rst,"]
            lines += [f"        {', '.join(wired)}", "    );"]
            connections += [(f"{bus}{name}", f"{bus}{name}") for name, _ in names]
            connections += [(f"{bus}{name}", "'0") for name in constant]  # one ID, and no errors
    count = len(design.reads) + len(design.writes)
    lines += [
        f"    wire [{count - 1}:0] probe_taken;",
        f"    wire [{max(1, len(shared.writes)) - 1}:0] probe_masters;",
        "    wire probe_writing = |probe_masters;",
        f"    sim_taken #(.PORTS({count})) taken (.clk, .rst, .running, .taken(probe_taken));",
        "",
    ]
    connections += [("probe_taken", "probe_taken"), ("probe_writing", "probe_masters")]
    connections += [(f"base_{name}", f"{shared.address_bits}'d{base}") for name, base in shared.images.items()]
    return lines, connections
