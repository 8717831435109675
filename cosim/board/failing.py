"""From the registers of a board to what went wrong, in the terms of the report of a deadlock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cosim.board.tables import Tables
from step.errors import Deadlock, SimulationError, StreamFault
from step.language.faults import Fault
from step.lowering.netlist import Netlist
from step.running.deadlock import Blockage

_STARVED, _BLOCKED = 1, 2
"""Bits of ``wait_edge``."""


def failure(tables: Tables, registers: Mapping[str, int], waits: Sequence[int]) -> SimulationError | None:
    """The error of a run that failed, or None; ``waits`` are the values of ``wait_edge`` by channel."""
    code, unit = registers["fault"] & 0xF, registers["fault"] >> 16
    if code == 0:
        return None
    fault, units = Fault(code), tables.netlist.units
    if fault is Fault.NO_MOVEMENT:
        return Deadlock("\n".join([f"{fault.meaning} ({registers['watchdog']:,})", *_waits(tables, registers, waits)]))
    if fault in (Fault.BUS_ERROR, Fault.NO_DEVICE):
        port = tables.design.board.ports[registers["memory_fault"] >> 16]
        address = registers["memory_fault_high"] << 32 | registers["memory_fault_low"]
        return SimulationError(f"memory port {port.name!r}, address {address:#x}: {fault.meaning}")
    node = units[unit]
    return StreamFault(f"{node.describe()}: {node.operator.fault_text(fault).format(fabric=tables.netlist.fabric)}")


def _waits(tables: Tables, registers: Mapping[str, int], waits: Sequence[int]) -> list[str]:
    """A line for each unit that waits."""
    nodes = tables.netlist.graph.nodes
    lines = ["  memory has not answered"] if registers["status"] & 0x20 else []
    for wait in waits_of(tables.netlist, waits):
        what, awaited = "room" if wait.full else "a token", nodes[wait.awaited()]
        lines.append(f"  {wait.unit.describe()} waits for {what} of {awaited.describe()}")
    return lines


def waits_of(netlist: Netlist, edges: Iterable[int]) -> list[Blockage]:
    """The waits in ``edges``, the values of ``wait_edge`` for ``wait_index`` 0, 1, 2, ..., by unit.

    They are those of `step.running.deadlock.find_waits` for the same state, but for on-chip memory: a unit that fills
    buffers waits for space in its output, and one that lacks a page is not there.
    """
    found = []
    for channel, edge in zip(netlist.channels, edges, strict=False):
        if edge & (_STARVED | _BLOCKED):
            full = not edge & _STARVED
            unit = (channel.producer if full else channel.consumer)[0]
            found.append(Blockage(netlist.graph.nodes[unit], channel, full))
    places = {node.name: at for at, node in enumerate(netlist.units)}
    return sorted(found, key=lambda wait: places[wait.unit.name])
