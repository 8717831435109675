"""The fabric of a program behind AXI4 masters: what a board instantiates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hw.axi.control import MasterControl
from hw.axi.crossing import Crossing
from hw.axi.packets import add_packets
from hw.axi.ports import FAULT, Lanes, Port
from hw.axi.read_master import ReadMaster
from hw.axi.status import RunStatus
from hw.axi.store_limit import StoreLimit
from hw.axi.write_master import WriteMaster
from hw.dma.wiring import FABRIC_RESET, add_streams
from hw.verilog.structure import MEMORY_RESET, Instance, Structure, Written, ports_of
from step.lowering.board import BoardPlan, BoardPort
from step.lowering.netlist import Netlist

_WRITES = "write"


def wrapped(
    fabric: Structure,
    netlist: Netlist,
    board: BoardPlan,
    *,
    own_clock: bool = False,
    limits: bool = True,
    packets: int = 0,
) -> Structure:
    """``fabric``, the top module of ``netlist``, with the masters of ``board``, as the module ``fabric_NAME_axi``.

    It has the ports of the fabric but for those of memory, with ``rst`` that of the bus as well; those of
    `MasterControl`; ``base_IMAGE``, the byte address of each image of the plan; and ``m_axi0_araddr`` and so on. With
    ``own_clock`` these are in the clock ``bus_clk``, with the reset ``bus_rst`` (`Crossing`). DMA has the streams of
    the plan, with ``limit_IMAGE`` of what sinks write (`hw.dma.wiring`); others have ``packets`` of a stop of that
    level, where it is not 0 (`add_packets`). With ``limits`` stores of any number of
    tiles have them, too (`StoreLimit`). Where the fabric tells who waits for whom (`hw.firing.waits`),
    ``wait_transfers`` has a bit for each transfer of data. Where it has probes, there are ``probe_taken``, a bit for
    each port that a master serves in this cycle, and ``probe_writing``, whether any master has something to write, or
    to tell of it.
    """
    bus = board.bus
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
    add_streams(top, netlist, board)
    if packets:
        add_packets(top, netlist, packets, FABRIC_RESET)
    served = {at for stream in board.streams for at in stream.images}  # DMA knows its own limits
    ours = (each for each in board.ports if limits and each.image not in served)
    limited = [each for each in ours if board.images[each.image].limited]
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


def _add_limit(top: Structure, board: BoardPlan, port: BoardPort) -> None:
    """Put the limit of a store in front of its master, whose end of it has the name ``room_STORE``."""
    limit, name, bound = StoreLimit(port.size_beats, board.beat_bytes), f"room_{port.name}", _of("limit", board, port)
    wires: dict[str, str | int] = {"rst": FABRIC_RESET, MEMORY_RESET: "rst", "limit": bound}
    for flat in ports_of(limit):
        end, inside, part = flat.partition("__")
        if inside:
            wires[flat] = f"{port.name if end == 'i' else name}__{part}"
    top.ports[bound] = "input", 32
    top.add(name, limit, {**wires, "fault": f"{name}_fault"}, f"the limit of {port.name}")


def _add_status(top: Structure, netlist: Netlist, board: BoardPlan, limited: list[BoardPort]) -> None:
    """Put together what the fabric says of a run, DMA, and the limits of stores."""
    faults = {f"dma_{each.name}_fault": each.unit for each in board.streams}
    numbers = {each.name: at for at, each in enumerate(netlist.units)}
    faults |= {f"room_{each.name}_fault": numbers[each.name] for each in limited}
    if not faults:
        return
    sinks = [each for each in board.streams if not each.is_source]
    status = RunStatus(tuple(faults.values()), len(sinks), len(netlist.units))
    wires: dict[str, str | int] = {f"fault{at}": each for at, each in enumerate(faults)}
    wires |= {f"done{at}": f"dma_{each.name}_done" for at, each in enumerate(sinks)}
    wires |= {"rst": FABRIC_RESET, "finished": "run_finished", "fabric_done": "fabric_done"}
    (fabric,) = (each for each in top.instances if each.name == "fabric")
    for name in ("fault", "fault_unit"):
        fabric.connections[name] = f"fabric_{name}"
        wires |= {name: name, f"fabric_{name}": f"fabric_{name}"}
    top.add("status", status, wires, "what is said of a run")


def _masters(top: Structure, board: BoardPlan, number: int, inner: str, limited: Sequence[BoardPort]) -> Iterator[str]:
    """Add both halves of a master, on a bus whose signals begin with ``inner``; gives the names of those with ports."""
    lanes = Lanes(board.beat_bytes, board.bus)
    for writes, kind in ((False, ReadMaster), (True, WriteMaster)):
        ports = board.of(number, writes=writes)
        known = (Port(each.number, board.images[each.image].base, each.size_beats, each.acknowledged) for each in ports)
        master = kind(tuple(known) or (Port(0, 0, 1),), lanes)
        name, wires = f"{_WRITES if writes else 'read'}_master{number}", dict[str, str | int]()
        ends = {each: f"{name}_{each}" for each in ("idle", *FAULT)} | {"quiet": FABRIC_RESET, "cut": FABRIC_RESET}
        for at, port in enumerate(ports):
            ends |= {f"{each}{at}": f"{port.name}__{each}" for each in ("request", "response", "written")}
            ends[f"store{at}"] = f"room_{port.name}" if port in limited else port.name
            ends[f"base{at}"] = _of("base", board, port)
        for flat, (way, width) in ports_of(master).items():
            end, inside, part = flat.partition("__")
            if end in ends:
                wires[flat] = f"{ends[end]}{inside}{part}"
            elif ports or flat in master.channels:
                wires[flat] = outer = f"{inner}{number}_{flat}"
                if inner == "m_axi":
                    top.ports[outer] = way, width
                else:
                    top.wires[outer] = width
                if not ports and way == "output":
                    top.gathered[outer] = [f"{width}'d0"]
        if ports:
            comment = ", ".join(each.name for each in ports)
            top.add(name, master, wires, f"{'writes' if writes else 'reads'} of {comment}")
            yield name


def _of(what: str, board: BoardPlan, port: BoardPort) -> str:
    return f"{what}_{board.images[port.image].name}"


def _add_control(top: Structure, masters: list[str], finished: str) -> None:
    wires: dict[str, str | int] = {"finished": finished, FABRIC_RESET: FABRIC_RESET}
    for at, name in enumerate(masters):
        wires |= {f"idle{at}": f"{name}_idle", f"fault{at}": f"{name}_fault"}
        wires |= {f"port{at}": f"{name}_fault_port", f"address{at}": f"{name}_fault_address"}
    top.add("control", MasterControl(len(masters)), wires, "reset, and errors of memory", outside="")


def _add_crossing(top: Structure, crossing: Crossing, number: int) -> None:
    wires: dict[str, str | int] = {}
    for flat, port in ports_of(crossing).items():
        side, inside, name = flat.partition("__")
        wires[flat] = wire = f"inner{number}_{name}" if side == "i" else f"m_axi{number}_{name}" if inside else flat
        if side != "i":
            top.ports[wire] = port
    top.add(f"crossing{number}", crossing, wires, f"the clock of bus {number}")
