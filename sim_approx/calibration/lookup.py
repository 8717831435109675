"""The fast model takes its numbers from a calibration, or says what is missing there."""

from __future__ import annotations

from sim_approx.build import TimingOf
from sim_approx.calibration.applied import Applied, asked
from sim_approx.calibration.entries import Unit
from sim_approx.calibration.file import Calibration, rtl_digest
from sim_approx.timing import Timing
from step.errors import FabricError
from step.language.function import Function
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.programs.inputs import BoundInputs


def calibrated_timing(calibration: Calibration, netlist: Netlist, data: BoundInputs) -> TimingOf:
    """How long functions of ``netlist`` take, by ``calibration``.

    Raises `FabricError` for a calibration of another fabric, and where an entry is missing, or was measured on other
    RTL than there is now: with the command that mends it.
    """
    calibration.check_fabric(netlist.fabric)
    units = asked(netlist, data)
    _check(calibration, netlist, [each for each in units if _entry(calibration, *each) is None], "has no entry for")
    now = rtl_digest()
    stale = [each for each in units if (found := _entry(calibration, *each)) is not None and found.rtl != now]
    _check(calibration, netlist, stale, "was measured on other RTL than there is now:")

    def look_up(node: Node, function: Function, reduce: bool) -> Timing:
        entry = calibration.units[Applied.at(node, function).key]
        assert entry.latency is not None, entry
        return Timing(entry.interval, entry.latency, streams=True)

    return look_up


def _entry(calibration: Calibration, node: Node, function: Function) -> Unit | None:
    return calibration.units.get(Applied.at(node, function).key)


def _check(calibration: Calibration, netlist: Netlist, wrong: list[tuple[Node, Function]], what: str) -> None:
    """Raise `FabricError` for the first of the ``wrong`` ones."""
    if not wrong:
        return
    node, function = wrong[0]
    others = len({Applied.at(*each).key for each in wrong}) - 1
    more = f", and {others:,} more" if others else ""
    raise FabricError(
        f"{calibration.path} {what} {Applied.at(node, function)} ({node.name!r}, {node.location}){more}; measure what "
        f"{netlist.graph.name} needs: step calibrate PROGRAM -o {calibration.path}"
    )
