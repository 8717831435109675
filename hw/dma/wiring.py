"""The DMA of all streams of a program, in the wrapper around its fabric."""

from __future__ import annotations

from hw.dma.sink import SinkDma
from hw.dma.source import SourceDma
from hw.links.layout import input_formats, output_formats
from hw.verilog.structure import MEMORY_RESET, Structure, port_widths
from step.lowering.board import BoardPlan, BoardStream
from step.lowering.dma import LIST, VALUES
from step.lowering.netlist import Netlist

FABRIC_RESET = "fabric_reset"
"""The wrapper's port that is up while the fabric is in reset, and with it all DMA."""


def add_streams(top: Structure, netlist: Netlist, board: BoardPlan) -> None:
    """Put DMA at the streams of ``top``: ``dma_STREAM_fault`` and, of sinks, ``dma_STREAM_done`` are what it says."""
    for stream in board.streams:
        _add_dma(top, netlist, stream, board.bus.ahead)


def _add_dma(top: Structure, netlist: Netlist, stream: BoardStream, ahead: int) -> None:
    node, name = netlist.units[stream.unit], stream.name
    (format,) = output_formats(node, netlist) if stream.is_source else input_formats(node, netlist)
    dma = SourceDma(stream.plan, format, ahead) if stream.is_source else SinkDma(stream.plan, format)
    wires: dict[str, str | int] = {"rst": FABRIC_RESET, MEMORY_RESET: "rst"}
    for port, width in port_widths(dma).items():
        end, _, rest = port.partition("__")
        part, _, kind = end.partition("_")
        if port == MEMORY_RESET:
            continue
        if part in (VALUES, LIST):
            starts = {"store": f"{name}_{part}", "limit": f"limit_{name}_{part}"}
            wire = starts.get(kind, f"{name}_{part}__{kind}") + port.removeprefix(end)
        else:
            wire = f"{name}_{rest}" if rest else f"dma_{name}_{port}"
        wires[port] = wire
        if kind == "limit":
            top.ports[wire] = "input", width
        else:
            top.ports.pop(wire, None)
    way = "reads" if stream.is_source else "writes"
    top.add(f"dma_{name}", dma, wires, f"{way} the stream {name}")
