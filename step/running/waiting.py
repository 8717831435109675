"""Waits of the operators of a timed run, derived from what every timed back end counts alike."""

from __future__ import annotations

from collections.abc import Iterator

from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.running.result import RunResult

OFF_CHIP = "off-chip memory"

Candidate = tuple[bool, int, str]
"""One that may be waited for; the least of several is."""


def awaited(netlist: Netlist, result: RunResult) -> dict[str, str]:
    """By operator, the one that it waited for in most of its cycles; those that never waited are left out.

    One that starved longer than it was blocked waited for a producer: of several, for one whose channel never filled
    up, and of these for the one that was ahead (blocked or finished) for the fewest cycles. One that was blocked longer
    waited for a consumer: of several, for one whose channel was full, and of these for the one that was idle (starved
    or finished) for the fewest cycles. Of several this is the likely one: counters do not tell it for sure.
    """
    found = {node.name: min(_candidates(netlist, result, node), default=None) for node in netlist.units}
    return {name: least[-1] for name, least in found.items() if least}


def _candidates(netlist: Netlist, result: RunResult, node: Node) -> Iterator[Candidate]:
    counted = result.operators[node.name]
    starves = counted.starved > counted.blocked
    if not starves and not counted.blocked:
        return
    for channel in netlist.inputs(node) if starves else netlist.outputs(node):
        if channel is not None:
            name = (channel.producer if starves else channel.consumer)[0]
            other, filling = result.operators[name], result.channels[channel.name]
            cycles = other.finished + (other.blocked if starves else other.starved)
            yield (filling.peak >= filling.capacity) == starves, cycles, name
    if (node.operator.reads(node) if starves else node.operator.writes(node)) is not None:
        yield not starves, result.cycles, OFF_CHIP
