"""Memory behind the AXI4 masters of a bench."""

from __future__ import annotations

from itertools import count, takewhile
from pathlib import Path

from hw.verilog.structure import Structure, separated

AXI_MEMORY = Path(__file__).parent / "verilog" / "step_axi_memory.sv"

_ADDRESSES = ("araddr", "arlen", "arsize", "arvalid", "awaddr", "awsize", "awvalid", "wdata", "wstrb", "wlast")
_TO_MEMORY = (*_ADDRESSES, "wvalid", "rready", "bready")
_FROM_MEMORY = ("arready", "rdata", "rresp", "rlast", "rvalid", "awready", "wready", "bresp", "bvalid")
_CONSTANT = {"rid": "1'b0", "bid": "1'b0"}


def axi_memory(top: Structure, words: int, base: int) -> tuple[list[str], dict[str, str]]:
    """The lines of a memory of ``words`` transfers from the byte address ``base`` on, and what ``m_axi`` ports get."""
    masters = len(list(takewhile(lambda number: f"m_axi{number}_araddr" in top.ports, count())))
    data, address = top.ports["m_axi0_rdata"][1], top.ports["m_axi0_araddr"][1]
    lines, connections = list[str](), dict[str, str]()
    for name, (way, width) in top.ports.items():
        if name.startswith("m_axi"):
            number, _, signal = name.removeprefix("m_axi").partition("_")
            if signal in _TO_MEMORY + _FROM_MEMORY:
                lines.append(f"  wire [{width - 1}:0] {signal}{number};")
                connections[name] = f"{signal}{number}"
            else:
                connections[name] = _CONSTANT[signal] if way == "input" else ""
    lines += ["", "  step_axi_memory #("]
    lines.append(f"    .MASTERS({masters}), .BYTES({data // 8}), .ADDRESS_BITS({address}),")
    lines += [f"    .BASE(64'h{base:x}), .WORDS({words})", "  ) memory (", "    .clk(clk), .rst(rst),"]
    nets = {each: [f"{each}{number}" for number in reversed(range(masters))] for each in (*_TO_MEMORY, *_FROM_MEMORY)}
    lines += separated(f"    .{signal}({{{', '.join(those)}}})" for signal, those in nets.items())
    return [*lines, "  );", ""], connections
