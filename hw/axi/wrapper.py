"""The fabric of a program behind AXI4 masters: what a board instantiates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import In

from hw.axi.control import MasterControl
from hw.axi.crossing import Crossing
from hw.axi.ports import Lanes, Port, ports_of
from hw.axi.read_master import ReadMaster
from hw.axi.status import RunStatus
from hw.axi.store_limit import StoreLimit
from hw.axi.write_master import WriteMaster
from hw.design.emit import top_text
from hw.dma.wiring import FABRIC_RESET, add_streams
from hw.memory.port import MEMORY_RESET
from hw.verilog.convert import ModuleLibrary
from hw.verilog.structure import Instance, Structure, Written, flat_ports, port_widths
from step.lowering.board import BoardPlan, BoardPort, board_of
from step.lowering.bus import BusConfig
from step.lowering.netlist import Netlist

_PORT = re.compile(r"(request|response|store|written|base)(\d+)(\w*)")
_WRITES = "write"
_OWN = re.compile("idle|fault|fault_port|fault_address")


def wrapped(
    fabric: Structure,
    netlist: Netlist,
    bus: BusConfig,
    *,
    own_clock: bool = False,
    streams: bool = False,
    limits: bool = True,
) -> Structure:
    """``fabric``, the top module of ``netlist``, with the masters of ``bus``, as the module ``fabric_NAME_axi``.

    It has the ports of the fabric but for those of memory, with ``rst`` that of the bus as well; those of
    `MasterControl`; ``base_IMAGE``, the byte address of each image of the plan; and ``m_axi0_araddr`` and so on. With
    ``own_clock`` these are in the clock ``bus_clk``, with the reset ``bus_rst`` (`Crossing`). With ``streams`` DMA has
    the streams, with ``limit_IMAGE`` of what sinks write (`hw.dma.wiring`); with ``limits`` stores of any number of
    tiles have them, too (`StoreLimit`). Where the fabric tells who waits for whom (`hw.firing.waits`),
    ``wait_transfers`` has a bit for each transfer of data. Where it has probes, there are ``probe_taken``, a bit for
    each port that a master serves in this cycle, and ``probe_writing``, whether any master has something to write, or
    to tell of it.

    Raises `FabricError` as `board_of` does.
    """
    board = board_of(netlist, bus, streams=streams)
    top = Structure(f"{fabric.name}_axi")
    for name, (way, width) in fabric.ports.items():
        if name.partition("__")[0] in {each.name for each in board.ports} and "__" in name:
            top.wires[name] = width
        elif name not in (MEMORY_RESET, "done"):
            top.ports[name] = way, width
    top.wires["fabric_done"] = 1
    top.ports[FABRIC_RESET] = "output", 1
    connections: dict[str, str | int] = {name: name for name in fabric.ports}
    connections |= {"clk": "clk", "rst": FABRIC_RESET, "done": "fabric_done", MEMORY_RESET: "rst"}
    top.instances.append(Instance("fabric", Written(fabric), connections, "the fabric"))
    top.ports |= {f"base_{image.name}": ("input", bus.address_bits) for image in board.images}
    if streams:
        add_streams(top, netlist, board)
    limited = [each for each in board.ports if limits and _is_limited(board, each)]
    for each in limited:
        _add_limit(top, board, each)
    _add_status(top, netlist, board, limited)
    inner = "inner" if own_clock else "m_axi"
    masters = [each for number in range(bus.masters) for each in _masters(top, board, number, inner, limited)]
    _add_control(top, masters, "run_finished" if "run_finished" in top.wires else "fabric_done")
    for number in range(bus.masters if own_clock else 0):
        _add_crossing(top, Crossing(bus), number)
    if "wait_moved" in fabric.ports:
        moving = [f"{inner}{number}_{each}" for number in range(bus.masters) for each in "rwb"]
        moving += [f"{stream.name}_t" for stream in board.streams]
        top.ports["wait_transfers"] = "output", len(moving)
        top.gathered["wait_transfers"] = [f"{each}valid & {each}ready" for each in moving]
    if "probe_finished" in fabric.ports:
        offers = [each.name if each.writes else f"{each.name}__request" for each in board.ports]
        writing = [f"~{each}_idle" for each in masters if each.startswith(_WRITES)]
        top.ports |= {"probe_taken": ("output", len(offers)), "probe_writing": ("output", max(1, len(writing)))}
        top.gathered["probe_taken"] = [f"{each}__valid & {each}__ready" for each in offers]
        top.gathered["probe_writing"] = writing or ["1'd0"]
        top.gathered["fabric_done"] = ["probe_finished"]
    return top


def wrapper_files(wrapper: Structure, *, initial_values: bool = True) -> dict[str, str]:
    """SystemVerilog of what is `wrapped`, and its masters, by file name; that of the fabric is `hw.design.emit`'s."""
    library = ModuleLibrary(initial_values=initial_values)
    for instance in wrapper.instances:
        if not isinstance(instance.component, Written):
            library.require(instance.component)
    texts = {module.file: module.text for module in library.texts().values()}
    return {**texts, f"{wrapper.name}.sv": top_text(wrapper)}


def _is_limited(board: BoardPlan, port: BoardPort) -> bool:
    """Whether it is that of a store with a limit; DMA knows its own."""
    streams = {at for stream in board.streams for at in stream.images}
    return board.images[port.image].limited and port.image not in streams


def _add_limit(top: Structure, board: BoardPlan, port: BoardPort) -> None:
    """Put the limit of a store in front of its master, whose end of it has the name ``room_STORE``."""
    limit, name = StoreLimit(port.size_beats, board.beat_bytes), f"room_{port.name}"
    connections: dict[str, str | int] = {"rst": FABRIC_RESET, MEMORY_RESET: "rst"}
    connections |= {"limit": f"limit_{board.images[port.image].name}", "fault": f"{name}_fault"}
    for flat, width in port_widths(limit).items():
        end, _, part = flat.partition("__")
        if part:
            connections[flat] = f"{port.name if end == 'i' else name}__{part}"
            top.wires[str(connections[flat])] = width
    top.wires[f"{name}_fault"] = 4
    top.ports[str(connections["limit"])] = "input", 32
    top.instances.append(Instance(name, limit, connections, f"the limit of {port.name}"))


def _add_status(top: Structure, netlist: Netlist, board: BoardPlan, limited: list[BoardPort]) -> None:
    """Put together what the fabric says of a run, DMA, and the limits of stores."""
    faults = {f"dma_{each.name}_fault": each.unit for each in board.streams}
    numbers = {each.name: at for at, each in enumerate(netlist.units)}
    faults |= {f"room_{each.name}_fault": numbers[each.name] for each in limited}
    if not faults:
        return
    sinks = [each for each in board.streams if not each.is_source]
    status = RunStatus(tuple(faults.values()), len(sinks), len(netlist.units))
    connections: dict[str, str | int] = {f"fault{at}": each for at, each in enumerate(faults)}
    connections |= {f"done{at}": f"dma_{each.name}_done" for at, each in enumerate(sinks)}
    connections |= {"rst": FABRIC_RESET, "finished": "run_finished", "fabric_done": "fabric_done"}
    top.wires["run_finished"] = 1
    (fabric,) = (each for each in top.instances if each.name == "fabric")
    for name in ("fault", "fault_unit"):
        top.wires[f"fabric_{name}"] = top.ports[name][1]
        fabric.connections[name] = f"fabric_{name}"
        connections |= {name: name, f"fabric_{name}": f"fabric_{name}"}
    top.instances.append(Instance("status", status, connections, "what is said of a run"))


def _masters(top: Structure, board: BoardPlan, number: int, inner: str, limited: Sequence[BoardPort]) -> Iterator[str]:
    """Add both halves of a master, on a bus whose signals begin with ``inner``; gives the names of those with ports."""
    lanes = Lanes(board.beat_bytes, board.bus)
    for writes, kind in ((False, ReadMaster), (True, WriteMaster)):
        ports = board.of(number, writes=writes)
        master = kind(ports_of(board, number, writes=writes) or (Port(0, 0, 1),), lanes)
        name, widths = f"{_WRITES if writes else 'read'}_master{number}", port_widths(master)
        connections: dict[str, str | int] = {}
        for flat, member, _ in flat_ports(master):
            outer, way = f"{inner}{number}_{flat}", "input" if member.flow is In else "output"
            if match := _PORT.fullmatch(flat):
                connections[flat] = _of_port(board, ports[int(match[2])], match[1], match[3], limited) if ports else ""
            elif flat in ("quiet", "cut"):
                connections[flat] = FABRIC_RESET
            elif _OWN.fullmatch(flat):
                connections[flat] = f"{name}_{flat}"
                top.wires |= {f"{name}_{flat}": widths[flat]} if ports else {}
            else:
                connections[flat] = outer
                if inner == "m_axi":
                    top.ports[outer] = way, widths[flat]
                else:
                    top.wires[outer] = widths[flat]
                if not ports and way == "output":
                    top.gathered[outer] = [f"{widths[flat]}'d0"]
        if ports:
            comment = ", ".join(each.name for each in ports)
            top.instances.append(Instance(name, master, connections, f"{'writes' if writes else 'reads'} of {comment}"))
            yield name


def _of_port(board: BoardPlan, port: BoardPort, kind: str, rest: str, limited: Sequence[BoardPort]) -> str:
    """The wire of a member of a master that belongs to ``port``."""
    if kind == "base":
        return f"base_{board.images[port.image].name}"
    if kind == "store":
        return f"room_{port.name}{rest}" if port in limited else f"{port.name}{rest}"
    return f"{port.name}__{kind}{rest}"


def _add_control(top: Structure, masters: list[str], finished: str) -> None:
    control = MasterControl(len(masters))
    connections: dict[str, str | int] = {"finished": finished, FABRIC_RESET: FABRIC_RESET}
    for at, name in enumerate(masters):
        connections |= {f"idle{at}": f"{name}_idle", f"fault{at}": f"{name}_fault"}
        connections |= {f"port{at}": f"{name}_fault_port", f"address{at}": f"{name}_fault_address"}
    widths = port_widths(control)
    for name, member, _ in flat_ports(control):
        if name not in connections:
            connections[name] = name
            top.ports[name] = "input" if member.flow is In else "output", widths[name]
    top.instances.append(Instance("control", control, connections, "reset, and errors of memory"))


def _add_crossing(top: Structure, crossing: Crossing, number: int) -> None:
    widths = port_widths(crossing)
    connections: dict[str, str | int] = {}
    for flat, member, _ in flat_ports(crossing):
        side, _, name = flat.partition("__")
        connections[flat] = f"inner{number}_{name}" if side == "i" else f"m_axi{number}_{name}" if name else flat
        if side != "i":
            top.ports[str(connections[flat])] = "input" if member.flow is In else "output", widths[flat]
    top.instances.append(Instance(f"crossing{number}", crossing, connections, f"the clock of bus {number}"))
