"""The DMA of all streams of a program, in the wrapper around its fabric."""

from __future__ import annotations

import re

from hw.dma.sink import SinkDma
from hw.dma.source import SourceDma
from hw.dma.status import StreamStatus
from hw.links.layout import input_formats, output_formats
from hw.memory.port import MEMORY_RESET
from hw.verilog.structure import Instance, Structure, port_widths
from step.lowering.board import Board, BoardStream
from step.lowering.netlist import Netlist

FABRIC_RESET = "fabric_reset"
"""The wrapper's port that is up while the fabric is in reset, and with it all DMA."""

_PORT = re.compile(r"(values|list)_(request|response|store|limit)(\w*)")


def add_streams(top: Structure, netlist: Netlist, board: Board) -> None:
    """Put DMA at the streams of ``top``, in which the fabric is an instance, and all that is said of runs behind it."""
    for stream in board.streams:
        _add_dma(top, netlist, stream, board.bus.ahead)
    units, sinks = tuple(each.unit for each in board.streams), [each for each in board.streams if not each.is_source]
    status = StreamStatus(units, len(sinks), len(netlist.units))
    connections: dict[str, str | int] = {
        f"fault{at}": f"dma_{each.name}_fault" for at, each in enumerate(board.streams)
    }
    connections |= {f"done{at}": f"dma_{each.name}_done" for at, each in enumerate(sinks)}
    connections |= {"rst": FABRIC_RESET, "finished": "streams_finished", "fabric_done": "fabric_done"}
    top.wires["streams_finished"] = 1
    (fabric,) = (each for each in top.instances if each.name == "fabric")
    for name in ("fault", "fault_unit"):
        top.wires[f"fabric_{name}"] = top.ports[name][1]
        fabric.connections[name] = f"fabric_{name}"
        connections |= {name: name, f"fabric_{name}": f"fabric_{name}"}
    top.instances.append(Instance("streams", status, connections, "what is said of a run, with its streams"))


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
