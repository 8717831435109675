"""From the state in which an RTL run stopped to the error that says why."""

from __future__ import annotations

from collections.abc import Mapping

from cosim.run_files import RawRun
from sim_approx.depths import depths_that_clear
from step.errors import Deadlock, Runaway, SimulationError
from step.language.faults import Fault
from step.lowering.netlist import Netlist
from step.programs.inputs import BoundInputs
from step.running.deadlock import Snapshot, report
from step.running.result import Activity, control_token
from step.running.stream_fault import stream_fault


def failure(netlist: Netlist, data: BoundInputs, raw: RawRun, capacities: Mapping[str, int]) -> SimulationError:
    """The error for a run that did not finish."""
    if raw.status == "runaway":
        return Runaway(f"the run did not end within {raw.cycles} cycles; raise max_cycles if that is too few")
    if raw.status == "fault":
        return _fault(netlist, raw)
    snapshot = Snapshot(
        raw.cycles,
        {node.name: Activity(int(raw.last_activity[index])) for index, node in enumerate(netlist.units)},
        {channel.name: int(raw.level[channel.index]) for channel in netlist.channels},
        capacities,
    )
    return Deadlock(report(netlist, snapshot, depths_that_clear(netlist, data, snapshot)))


def _fault(netlist: Netlist, raw: RawRun) -> SimulationError:
    """The fault of a unit, with the tokens that stood in front of it as the log has them."""
    assert raw.fault is not None
    unit, code = raw.fault
    node = netlist.units[unit]
    heads = {}
    for port, channel in enumerate(netlist.inputs(node)):
        taken = int((raw.leaves["channel"] == channel.index).sum())
        entered = raw.enters["control"][raw.enters["channel"] == channel.index]
        if taken < len(entered):
            heads[port] = taken, control_token(int(entered[taken]))
    return stream_fault(node, Fault(code), heads)
