"""The fast model takes its numbers from a calibration, or says what is missing there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sim_approx.calibration.applied import Applied, asked
from sim_approx.calibration.entries import Unit
from sim_approx.calibration.file import Calibration, rtl_digest
from sim_approx.placing.build import TimingOf
from step.errors import FabricError
from step.language.function import Function
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs


@dataclass(frozen=True)
class Calibrated:
    """A netlist with the memory of a calibration, and how long its functions take."""

    netlist: Netlist
    timing_of: TimingOf


def calibrated(calibration: Calibration, netlist: Netlist, data: BoundInputs) -> Calibrated:
    """What ``netlist`` is by ``calibration``.

    Raises `FabricError` for a calibration of another fabric, and where an entry is missing, or was measured on other
    RTL than there is now: with the command that mends it.
    """
    calibration.check_fabric(netlist.fabric)
    units = asked(netlist, data)
    _check(calibration, netlist, [each for each in units if _entry(calibration, *each) is None], "has no entry for")
    now = rtl_digest()
    stale = [each for each in units if (found := _entry(calibration, *each)) is not None and found.rtl != now]
    _check(calibration, netlist, stale, f"{OLD}:")

    def look_up(node: Node, function: Function, reduce: bool) -> Timing:
        entry = calibration.units[Applied.at(node, function).key]
        return Timing(entry.interval, entry.latency, streams=True)

    return Calibrated(_with_memory(calibration, netlist), look_up)


OLD = "was measured on other RTL than there is now"


def uses_plain_memory(netlist: Netlist) -> bool:
    """Whether a calibration has to know the memory: it is plain, and somebody reads or writes there."""
    ports = (node.operator.reads(node) or node.operator.writes(node) for node in netlist.units)
    return netlist.fabric.memory.dram is None and any(ports)


def _with_memory(calibration: Calibration, netlist: Netlist) -> Netlist:
    if not uses_plain_memory(netlist):
        return netlist
    found = calibration.memory
    if found is None:
        raise _refusal(calibration, netlist, "has no entry for the memory")
    calibration.check_memory(netlist.fabric)
    if found.rtl != rtl_digest():
        raise _refusal(calibration, netlist, f"{OLD}: the memory")
    memory = replace(netlist.fabric.memory, interval=found.interval, latency=found.latency)
    return replace(netlist, fabric=replace(netlist.fabric, memory=memory))


def _entry(calibration: Calibration, node: Node, function: Function) -> Unit | None:
    return calibration.units.get(Applied.at(node, function).key)


def _check(calibration: Calibration, netlist: Netlist, wrong: list[tuple[Node, Function]], what: str) -> None:
    """Raise `FabricError` for the first of the ``wrong`` ones."""
    if not wrong:
        return
    node, function = wrong[0]
    others = len({Applied.at(*each).key for each in wrong}) - 1
    more = f", and {others:,} more" if others else ""
    raise _refusal(calibration, netlist, f"{what} {Applied.at(node, function)} ({node.name!r}, {node.location}){more}")


def _refusal(calibration: Calibration, netlist: Netlist, what: str) -> FabricError:
    return FabricError(
        f"{calibration.path} {what}; measure what {netlist.graph.name} needs: "
        f"step calibrate PROGRAM -o {calibration.path}"
    )
