"""Memory behind the AXI4 masters of a bench."""

from __future__ import annotations

from pathlib import Path

from hw.verilog.structure import Structure
from step.host.texts import filled

_HERE = Path(__file__).parent / "verilog"
AXI_MEMORY = _HERE / "step_axi_memory.sv"

_ADDRESSES = ("araddr", "arlen", "arsize", "arvalid", "awaddr", "awsize", "awvalid", "wdata", "wstrb", "wlast")
_TO_MEMORY = (*_ADDRESSES, "wvalid", "rready", "bready")
_FROM_MEMORY = ("arready", "rdata", "rresp", "rlast", "rvalid", "awready", "wready", "bresp", "bvalid")
_CONSTANT = {"rid": "1'b0", "bid": "1'b0"}


def axi_memory(top: Structure, words: int, base: int) -> tuple[str, dict[str, str]]:
    """The text of a memory of ``words`` transfers from the byte address ``base`` on, and what ``m_axi`` ports get.

    Its clock and reset are ``bus_clk`` and ``bus_rst`` where buses have a clock of their own.
    """
    signals, wires, connections = (*_TO_MEMORY, *_FROM_MEMORY), dict[str, int](), dict[str, str]()
    for name, (way, width) in top.ports.items():
        if name.startswith("m_axi"):
            number, _, signal = name.removeprefix("m_axi").partition("_")
            if signal in signals:
                wires[f"{signal}{number}"], connections[name] = width, f"{signal}{number}"
            else:
                connections[name] = _CONSTANT[signal] if way == "input" else ""
    sizes = {"masters": sum(each.startswith("araddr") for each in wires), "words": words, "base": base}
    widths = {"data": wires["rdata0"], "address": wires["araddr0"]}
    clock, reset = ("bus_clk", "bus_rst") if len(top.clocks) > 1 else ("clk", "rst")
    missing = {"arlen": 8 - wires["arlen0"]}  # AXI3
    given = {"wires": wires, "signals": signals, "missing": missing, "clock": clock, "reset": reset}
    return filled(_HERE / "axi_memory.sv.in", **given, **sizes, **widths), connections
