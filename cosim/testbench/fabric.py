"""The bench of a fabric with probes: SystemVerilog that plays its data, and compares what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cosim.building.build import READ_PORT, WRITE_PORT
from cosim.building.design import BenchDesign
from cosim.testbench.axi import AXI_MEMORY, axi_memory
from hw.verilog.structure import MEMORY_RESET, Structure
from step.host.texts import filled

_HERE = Path(__file__).parent / "verilog"
STREAMS = _HERE / "step_stream_source.sv", _HERE / "step_stream_sink.sv"
PORT_MEMORY = _HERE / "step_port_memory.sv"

STILL = 1 << 14
"""Cycles without movement, after which the bench gives up."""


def bench_parts(design: BenchDesign) -> tuple[Path, ...]:
    """Modules that the bench of ``design`` instantiates."""
    memory = AXI_MEMORY if design.buses is not None else PORT_MEMORY
    return (*STREAMS, memory) if design.has_memory else STREAMS


def word_bytes(design: BenchDesign) -> int:
    """Bytes of a word of the bench's memory."""
    return int(design.memory["beat_bytes"]) if design.buses is None else design.buses.bytes


def bench_text(design: BenchDesign, top: Structure, lines: Mapping[str, int], hint: str | None) -> str:
    """The module ``MODULE_bench`` around ``top``, the module of ``design``; it ends with PASSED or FAILED.

    ``lines``: of each file of data. ``hint`` is told where data differs.
    """
    shared, beat, memory = design.buses, 8 * design.memory["beat_bytes"], ""
    probes = {name: width for name, (_, width) in top.ports.items() if name.startswith("probe_")}
    nets = {"clk": "clk", "rst": "rst", "soft_reset": "1'b0", "fabric_reset": "reset"} | {each: each for each in probes}
    for stream in (*design.sources, *design.sinks):
        parts = (f"{stream.port}_{each}" for each in (*dict(stream.widths), "tvalid", "tready"))
        nets |= {each: each for each in parts}
    words = -(-max(1, design.memory["beats_total"]) * design.memory["beat_bytes"] // word_bytes(design))
    widths = {"request": 32, "response": beat, "write": beat + 32}
    port_nets = [
        ({net: widths.get(net, 1) for net in members}, ports)
        for members, ports in ((READ_PORT, design.reads), (WRITE_PORT, design.writes))
    ]
    if shared is not None:
        memory, more = axi_memory(top, words, 0)
        nets |= more | {f"base_{name}": f"{shared.address_bits}'d{base}" for name, base in shared.images.items()}
    elif design.has_memory:
        nets[MEMORY_RESET] = "rst"
        for each, ports in port_nets:
            for at, port in enumerate(ports):
                for net, width in each.items():
                    nets[f"{port.port}__{(READ_PORT | WRITE_PORT)[net]}"] = f"{net}[{at * width} +: {width}]"
    return filled(
        _HERE / "bench.sv.in",
        **{"design": design, "buses": shared, "axi_memory": memory, "lines": lines, "probes": probes.items()},
        **{"words": words, "bits": 8 * word_bytes(design), "still": STILL, "hint": hint_line(hint)},
        connections={each: nets.get(each, "") for each in ("clk", "rst", *top.ports)},
        port_nets=port_nets,
        sizes=[f"32'd{port.size_beats}" for port in reversed(design.reads)] or ["32'd1"],
    )


def hint_line(hint: str | None) -> str:
    """A line that tells the ``hint`` where data differs, if there is one."""
    if hint is None:
        return ""
    quoted = hint.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'\n        $display("{quoted}: in another order, other data is right, too");'
