"""The DMA of all streams of a program, in the wrapper around its fabric."""

from __future__ import annotations

import re

from hw.dma.sink import SinkDma
from hw.dma.source import SourceDma
from hw.links.layout import input_formats, output_formats
from hw.memory.port import MEMORY_RESET
from hw.verilog.structure import Instance, Structure, port_widths
from step.lowering.board import BoardPlan, BoardStream
from step.lowering.netlist import Netlist

FABRIC_RESET = "fabric_reset"
"""The wrapper's port that is up while the fabric is in reset, and with it all DMA."""

_PORT = re.compile(r"(values|list)_(request|response|store|limit)(\w*)")


def add_streams(top: Structure, netlist: Netlist, board: BoardPlan) -> None:
    """Put DMA at the streams of ``top``: ``dma_STREAM_fault`` and, of sinks, ``dma_STREAM_done`` are what it says."""
    for stream in board.streams:
        _add_dma(top, netlist, stream, board.bus.ahead)


def _add_dma(top: Structure, netlist: Netlist, stream: BoardStream, ahead: int) -> None:
    node, name = netlist.units[stream.unit], stream.name
    (format,) = output_formats(node, netlist) if stream.is_source else input_formats(node, netlist)
    dma = SourceDma(stream.plan, format, ahead) if stream.is_source else SinkDma(stream.plan, format)
    connections: dict[str, str | int] = {"rst": FABRIC_RESET}
    for flat, width in port_widths(dma).items():
        if match := _PORT.fullmatch(flat):
            part, kind, rest = f"{name}_{match[1]}", match[2], match[3]
            connections[flat] = {"store": f"{part}{rest}", "limit": f"limit_{part}"}.get(kind, f"{part}__{kind}{rest}")
            if kind == "limit":
                top.ports[f"limit_{part}"] = "input", width
                continue
        elif flat == MEMORY_RESET:
            connections[flat] = "rst"
            continue
        else:
            connections[flat] = f"{name}_{flat.partition('__')[2]}" if "__" in flat else f"dma_{name}_{flat}"
        top.wires[str(connections[flat])] = width
        top.ports.pop(str(connections[flat]), None)
    way = "reads" if stream.is_source else "writes"
    top.instances.append(Instance(f"dma_{name}", dma, connections, f"{way} the stream {name}"))
