"""From the state in which an RTL run stopped to the error that says why."""

from __future__ import annotations

from collections.abc import Mapping

from cosim.running.run_files import RawRun
from hw.units import held_ports
from sim_approx.backend import Model, simulate
from sim_approx.running.model_run import clearing_depths
from step.errors import Deadlock, Runaway, SimulationError, StreamFault
from step.language.faults import SHOWS_VALUES, Fault
from step.language.graph import Node
from step.language.tiling import accesses
from step.lowering.memory import scratchpads
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.running.contracts import ShapeChecks, first_fault, overflow, stream_fault, timed_checks
from step.running.deadlock import Snapshot, report
from step.running.result import Activity, control_token


def failure(netlist: Netlist, data: BoundInputs, raw: RawRun, capacities: Mapping[str, int]) -> SimulationError | None:
    """The error of a run, or None."""
    checks = _checks(netlist, data, raw)
    if fault := first_fault(netlist.graph, _faults(netlist, data, raw), checks.broken):
        return fault
    if raw.status == "runaway":
        return Runaway(f"the run did not end within {raw.cycles} cycles; raise max_cycles if that is too few")
    if raw.status == "finished":
        return checks.disagreement()
    fillers = [share.filler.name for pad in scratchpads(netlist) for share in pad.shares]
    snapshot = Snapshot(
        raw.cycles,
        {node.name: Activity(int(raw.last_activity[index])) for index, node in enumerate(netlist.units)},
        {channel.name: int(raw.level[channel.index]) for channel in netlist.channels},
        capacities,
        dict(zip(fillers, (int(each) for _, each in raw.pages), strict=True)),
    )
    model = Model(netlist, data)
    depths = clearing_depths(netlist, snapshot, lambda depths: model.run(depths=depths))
    return Deadlock(report(netlist, snapshot, depths))


def broken_off(netlist: Netlist, data: BoundInputs, error: SimulationError) -> SimulationError:
    """The cause of the ``error`` of a simulation that broke off: a store beyond the end of memory, or itself."""
    if all(access.tiles is not None for _, access in accesses(netlist.units, writes=True)):
        return error
    return overflow(netlist, simulate(netlist, data).result().traffic) or error


def _faults(netlist: Netlist, data: BoundInputs, raw: RawRun) -> dict[str, StreamFault]:
    """The faults by unit, with the tokens that it was at as the log has them."""
    found = {}
    for unit, code in raw.faults:
        node = netlist.units[unit]
        if code in SHOWS_VALUES:
            found[node.name] = _met_by_the_model(netlist, data, node)
            continue
        heads, held = {}, held_ports(node)
        for port, channel in enumerate(netlist.inputs(node)):
            at = int((raw.leaves["channel"] == channel.index).sum()) - (port in held)
            entered = raw.entered(channel.index)
            if at < len(entered):
                heads[port] = at, control_token(int(entered[at]))
        found[node.name] = stream_fault(node, Fault(code), heads, netlist)
    return found


def _met_by_the_model(netlist: Netlist, data: BoundInputs, node: Node) -> StreamFault:
    """A fault that shows values: the log has none, the fast model has those that decide."""
    faults = simulate(netlist, data).faults()
    if node.name not in faults:
        raise SimulationError(f"{node.describe()} met a fault in RTL, and none in the fast model")
    return faults[node.name]


def _checks(netlist: Netlist, data: BoundInputs, raw: RawRun) -> ShapeChecks:
    """Promises of streams, checked on the log."""
    checks = timed_checks(netlist.graph, data)
    for channel in netlist.channels:
        if channel.name in checks.checkers and channel.name not in data.streams:
            for control in raw.entered(channel.index):
                checks.see(channel.name, control_token(int(control)))
    return checks
