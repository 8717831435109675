"""Waits of the operators of a timed run, derived from what every timed back end counts alike."""

from __future__ import annotations

from collections.abc import Iterator

from step.language.graph import Node
from step.lowering.netlist import Channel, Netlist
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
    found = {}
    for node in netlist.units:
        counted = result.operators[node.name]
        candidates: list[Candidate] = []
        if counted.starved > counted.blocked:
            candidates = list(_producers(netlist, result, node))
        elif counted.blocked:
            candidates = list(_consumers(netlist, result, node))
        if candidates:
            found[node.name] = min(candidates)[-1]
    return found


def _producers(netlist: Netlist, result: RunResult, node: Node) -> Iterator[Candidate]:
    for channel in netlist.inputs(node):
        name = channel.producer[0]
        yield _filled(result, channel), result.operators[name].blocked + result.operators[name].finished, name
    if node.operator.reads(node) is not None:
        yield False, result.cycles, OFF_CHIP


def _consumers(netlist: Netlist, result: RunResult, node: Node) -> Iterator[Candidate]:
    for channel in netlist.outputs(node):
        if channel is not None:
            name = channel.consumer[0]
            yield not _filled(result, channel), result.operators[name].starved + result.operators[name].finished, name
    if node.operator.writes(node) is not None:
        yield True, result.cycles, OFF_CHIP


def _filled(result: RunResult, channel: Channel) -> bool:
    counted = result.channels[channel.name]
    return counted.peak >= counted.capacity
