"""The fabric of a program: a unit for every operator, a channel for every edge, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Value
from amaranth.lib.wiring import In

from hw.firing.status import ProgramStatus
from hw.firing.waits import WaitReport
from hw.links.channel import ChannelFifo
from hw.links.layout import TokenFormat, is_far, read_format
from hw.memory.scratchpads import hardware, ports
from hw.units import constants_of, unit_of
from hw.verilog.modules import Parametric, flat_ports
from hw.verilog.structure import MEMORY_RESET, Structure, port_widths
from step.errors import FabricError
from step.language.graph import Node
from step.lowering.feasible import check_feasible
from step.lowering.memory import MemoryMap, ScratchpadPlan, memory_map, scratchpads
from step.lowering.netlist import Channel as Edge
from step.lowering.netlist import Netlist

_AXI = re.compile(r"t(data|valid|ready|last|user)")
_SCRATCHPAD = "scratchpad"
_STATUS = ("activity", "fault", "finished")


@dataclass(frozen=True)
class PlacedUnit:
    """The hardware of one operator; ``instance`` is its name in the top module."""

    node: Node
    component: Parametric
    instance: str


@dataclass(frozen=True)
class PlacedChannel:
    """The hardware of one edge; ``stem`` begins the names of its wires, ``capacity`` are the slots that it has."""

    edge: Edge
    format: TokenFormat
    component: ChannelFifo
    stem: str
    capacity: int


@dataclass(frozen=True)
class PlacedScratchpad:
    """The hardware of one on-chip memory; ``stem`` begins the names of its wires, ``ports`` are those of units."""

    scratchpad: ScratchpadPlan
    component: Parametric
    stem: str
    ports: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name in reports."""
        return f"scratchpad {self.scratchpad.index}"


@dataclass(frozen=True)
class ElaboratedFabric:
    """An elaborated program."""

    netlist: Netlist
    memory: MemoryMap
    units: tuple[PlacedUnit, ...]
    channels: tuple[PlacedChannel, ...]
    scratchpads: tuple[PlacedScratchpad, ...]
    structure: Structure

    @property
    def operators_of(self) -> dict[str, list[str]]:
        """The operators of each module, with their lines in the program."""
        found = dict[str, list[str]]()
        for each in self.units:
            node = each.node
            told = f"{node.operator.name} {node.name} ({node.location})"
            found.setdefault(each.component.module_name, []).append(told)
        return found

    @property
    def settling_cycles(self) -> int:
        """When nothing moved on a channel or in memory for so many cycles, nothing ever will.

        What may be on its way unseen: tokens inside of a unit and the rest of its initiation interval, and a tile
        between memory and the load's output, for which the constant is ample. After that all that units decide on
        stands still. Masters may have a burst on the bus, and tell of another one.
        """
        pauses = [getattr(unit.component, "longest_pause", 1) for unit in self.units]
        bus = self.netlist.fabric.memory.bus
        masters = 0 if bus is None else 2 * bus.burst + 16
        return masters + max(pauses, default=0) + max((each.component.lag for each in self.channels), default=0) + 8


def elaborate(netlist: Netlist, *, probes: bool = False, waits: bool = False) -> ElaboratedFabric:
    """Make hardware of every unit and channel of ``netlist``.

    ``probes`` adds the ports that show every channel's tokens and every unit's status; without them there are those of
    `ProgramStatus`. ``waits`` adds those of `WaitReport`. Raises `FabricError` for operators and element types that the
    fabric does not have.
    """
    check_feasible(netlist)
    memory = memory_map(netlist)
    units = tuple(
        PlacedUnit(node, unit_of(node, netlist), f"u{index}_{node.name}") for index, node in enumerate(netlist.units)
    )
    components = {unit.node.name: unit.component for unit in units}
    channels = tuple(_place_channel(edge, components, netlist) for edge in netlist.channels)
    pads = tuple(
        PlacedScratchpad(each, hardware(each, netlist), f"m{each.index}_scratchpad", ports(each))
        for each in scratchpads(netlist)
    )
    fabric = ElaboratedFabric(netlist, memory, units, channels, pads, Structure(f"fabric_{netlist.graph.name}"))
    for channel in channels:
        _add_channel(fabric.structure, channel)
    for pad in pads:
        _add_scratchpad(fabric.structure, pad)
    for unit in units:
        _add_unit(fabric, unit)
    if probes:
        _add_probes(fabric)
    else:
        _add_status(fabric)
    if waits:
        _add_waits(fabric)
    return fabric


def _place_channel(edge: Edge, components: Mapping[str, Parametric], netlist: Netlist) -> PlacedChannel:
    producer, (consumer, port) = components[edge.producer[0]], edge.consumer
    capacity = netlist.slots(edge) + getattr(producer, "in_flight", 0)
    spare = components[consumer].spare(port) if hasattr(components[consumer], "spare") else 0
    legal = re.sub(r"\W", "_", edge.name)
    writer, read_as = netlist.graph.nodes[edge.producer[0]], read_format(edge, netlist)
    format = read_as if read_as.bound else TokenFormat.of(edge, netlist.at(writer))
    channel = ChannelFifo(
        format,
        capacity,
        spare,
        deep=netlist.is_deep(edge),
        read_as=read_as,
        places=netlist.places(edge),
        hops=edge.hops,
    )
    return PlacedChannel(edge, format, channel, f"c{edge.index}_{legal}", capacity)


_WRITER = {"space": "space", "claim": "claim", "valid": "enter", "header": "entering", "word": "entering_word"}
_READER = {"valid": "present", "header": "front", "word": "front_word", "ready": "take"}
_READER |= {each: each for each in ("drop", "open", "offset", "beyond")}
"""Ports of a channel, and how its wires end. No external port ends like this."""


def _add_channel(structure: Structure, channel: PlacedChannel) -> None:
    edge, stem = channel.edge, channel.stem
    wires = {f"i__{port}": f"{stem}_{wire}" for port, wire in _WRITER.items()}
    wires |= {f"o__{port}": f"{stem}_{wire}" for port, wire in _READER.items()}
    comment = f"{edge.name}, {edge.type}: {edge.producer[0]} to input {edge.consumer[1]} of {edge.consumer[0]}"
    structure.add(stem, channel.component, wires, comment)


def _add_scratchpad(structure: Structure, pad: PlacedScratchpad) -> None:
    names = ", ".join(share.filler.name for share in pad.scratchpad.shares)
    wires = {port: f"{pad.stem}_{port}" for port in port_widths(pad.component)}
    structure.add(pad.stem, pad.component, wires, f"the buffers of {names}")


def _add_unit(fabric: ElaboratedFabric, unit: PlacedUnit) -> None:
    node, netlist, structure, channels = unit.node, fabric.netlist, fabric.structure, fabric.channels
    constants, wires = constants_of(node, fabric.memory), dict[str, str | int]()
    ends = {f"input{at}": (each, _READER) for at, each in enumerate(netlist.inputs(node))}
    behind = {f"output{at}": (each, _WRITER) for at, each in enumerate(netlist.outputs(node))}
    for name, member, value in flat_ports(unit.component):
        end, _, part = name.partition("__")
        edge, parts = (ends | behind).get(end, (None, {}))
        if edge is not None:
            wires[name] = f"{channels[edge.index].stem}_{parts[part]}"
        elif end in behind:
            wires |= {name: 1} if part == "space" else {}  # what nobody reads stays open
        elif name in _STATUS:
            wires[name] = f"{unit.instance}_{name}"
        elif name in constants:
            wires[name] = constants[name]
        elif end == _SCRATCHPAD:
            (pad,) = (each for each in fabric.scratchpads if node.name in each.ports)
            wires[name] = f"{pad.stem}_{pad.ports[node.name]}__{part}"
        else:
            outside = name.removeprefix("external__")
            port = name if name == MEMORY_RESET else f"{node.name}{'_' if _AXI.fullmatch(outside) else '__'}{outside}"
            if port in structure.ports and name != MEMORY_RESET:
                raise FabricError(f"{node.describe()}: another operator's ports have the name {port!r} too; rename one")
            wires[name] = port
            structure.ports[port] = "input" if member.flow is In else "output", len(Value.cast(value))
    structure.add(unit.instance, unit.component, wires, node.describe())


def _add_status(fabric: ElaboratedFabric) -> None:
    units, enders = fabric.units, _enders(fabric)
    wires = {f"fault{at}": f"{each.instance}_fault" for at, each in enumerate(units)}
    wires |= {f"finished{at}": f"{each}_finished" for at, each in enumerate(enders)}
    component = ProgramStatus(len(units), len(enders), far=is_far(fabric.netlist))
    fabric.structure.add("status", component, wires, "whether the program is over, or failed", outside="")


def _add_waits(fabric: ElaboratedFabric) -> None:
    units, channels = fabric.units, fabric.channels
    numbers = {each.node.name: at for at, each in enumerate(units)}
    fillers = {share.filler.name for pad in fabric.scratchpads for share in pad.scratchpad.shares}
    writers = [each.edge.producer[0] for each in channels]
    ends = tuple((numbers[each.edge.producer[0]], numbers[each.edge.consumer[0]]) for each in channels)
    component = WaitReport(len(units), ends, tuple(at for at, name in enumerate(writers) if name in fillers))
    wires = {f"activity{at}": f"{each.instance}_activity" for at, each in enumerate(units)}
    for at, channel in enumerate(channels):
        wires |= {f"{wire}{at}": f"{channel.stem}_{wire}" for wire in ("enter", "space", "present")}
    fabric.structure.add("waits", component, wires, "who waits for whom", outside="wait_")


def _add_probes(fabric: ElaboratedFabric) -> None:
    units, channels, structure = fabric.units, fabric.channels, fabric.structure
    finished = (f"{each}_finished" for each in _enders(fabric))
    probes = {"probe_finished": (1, [" & ".join(["1'd1", *finished])])}
    if channels:
        probes["probe_enter"] = 1, [f"{each.stem}_enter" for each in channels]
        probes["probe_leave"] = 1, [f"{each.stem}_present & {each.stem}_take" for each in channels]
        probes["probe_token"] = 10, [_control(each) for each in channels]
    if units:
        probes["probe_activity"] = 2, [f"{each.instance}_activity" for each in units]
        probes["probe_fault"] = 4, [f"{each.instance}_fault" for each in units]
    taken = [
        (f"{pad.stem}_taken{at}", port_widths(pad.component)[f"taken{at}"])
        for pad in fabric.scratchpads
        for at in range(len(pad.scratchpad.shares))
    ]
    if taken:
        probes["probe_pages"] = 16, [f"{{{16 - width}'d0, {wire}}}" for wire, width in taken]
    for name, (width, expressions) in probes.items():
        structure.ports[name] = ("output", width * len(expressions))
        structure.gathered[name] = expressions


def _enders(fabric: ElaboratedFabric) -> list[str]:
    """The instances of the units whose end is the program's."""
    return [each.instance for each in fabric.units if each.node.operator.ends_run]


def _control(channel: PlacedChannel) -> str:
    """Done, value, stop (four bits) and rank (four bits) of the entering token, done lowest."""
    bits = channel.format.stop_bits
    pad = f"{4 - bits}'d0, " if bits < 4 else ""
    stop, rank = (f"{pad}{channel.stem}_entering[{low + bits - 1}:{low}]" for low in (2, 2 + bits))
    return f"{{{rank}, {stop}, {channel.stem}_entering[1:0]}}"
