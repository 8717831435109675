"""Shares of lanes, links and memory that a run used, and its place under the roofline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.placing.site import PlacedFabric
from step.language.symbols import evaluate
from step.lowering.feasible import flops_a_cycle, is_read, with_lanes
from step.lowering.netlist import Netlist
from step.programs.program import Program
from step.programs.useful import useful_of
from step.running.interpreter import bind
from step.running.result import ChannelEvents, RunResult


@dataclass(frozen=True)
class Roofline:
    """``flops`` of a run, of which ``peak`` can be done in a cycle and ``useful`` ones are on rows that are data, at
    most, and the off-chip ``bytes_moved``, of which ``bandwidth`` can be in a cycle; it took ``cycles``."""

    flops: int
    peak: int
    bytes_moved: int
    bandwidth: float
    cycles: int
    useful: int

    @property
    def intensity(self) -> float | None:
        """Operations per off-chip byte; None where no byte is moved."""
        return self.flops / self.bytes_moved if self.bytes_moved else None

    @property
    def attained(self) -> float:
        """Operations a cycle."""
        return self.flops / self.cycles if self.cycles else 0.0

    @property
    def roof(self) -> float:
        """The most operations a cycle that lanes and bandwidth allow at this intensity."""
        return float(self.peak) if self.intensity is None else min(self.peak, self.intensity * self.bandwidth)


@dataclass(frozen=True)
class Usage:
    """Shares of the most that there could have been, 0 to 1: of the ``lanes`` of operators, of the words of ``links``
    (by channel), and of the beats of ``memory``. ``work`` is that of the operators with lanes."""

    lanes: dict[str, float]
    links: dict[str, float]
    memory: float
    roofline: Roofline
    work: dict[str, LaneWork]


class LaneWork(NamedTuple):
    """The ``operations`` of an operator in a run, of which its lanes do at most so many ``a_cycle``."""

    operations: int
    a_cycle: int


def usage(program: Program, fabric: PlacedFabric, record: RunRecord, result: RunResult) -> Usage:
    """Usage of ``fabric`` in the run of ``program`` with this ``result``, which has events."""
    netlist, config, events = fabric.netlist, fabric.netlist.fabric, result.events
    assert events is not None
    operations, useful = _operations(program, netlist, result)
    work = {
        node.name: LaneWork(operations[node.name], flops_a_cycle(node, netlist))
        for node in with_lanes(netlist)
        if operations[node.name] and is_read(node, netlist)
    }
    beats = int((record.events["machine"] >= fabric.memory.order).sum()) if fabric.memory else 0
    bandwidth = config.memory.bandwidth
    moved = beats * config.memory.beat_bytes
    of = max(result.cycles, 1)
    return Usage(
        {name: each.operations / (each.a_cycle * of) for name, each in work.items()},
        {each.name: _words(events[each.name], netlist.words(each), result.cycles) / of for each in netlist.channels},
        moved / (bandwidth * of),
        Roofline(
            sum(operations.values()),
            sum(each.a_cycle for each in work.values()),
            moved,
            bandwidth,
            result.cycles,
            useful,
        ),
        work,
    )


def _words(events: ChannelEvents, words: int, cycles: int) -> int:
    """Words that passed a channel before the end of a run, one a cycle: ``words`` a value; of tiles of dynamic size,
    whose rows no event tells, as many as there may have been before the next token."""
    room = np.diff(np.append(events.cycles, cycles))
    return int(np.minimum(words, room)[events.valued].sum())


def _operations(program: Program, netlist: Netlist, result: RunResult) -> tuple[dict[str, int], int]:
    """Operations of every operator, and how many of all are not on padding; the run, or else the data of ``program``,
    says how much there is."""
    graph, useful = netlist.graph, useful_of(netlist.graph).total
    sums = {node.name: node.operator.flops(node) for node in graph}
    symbols = dict[str, int]()
    if any(each.free_symbols for each in (useful, *sums.values())):
        symbols = bind(program) if result.symbols is None else result.symbols
    known = {name: int(evaluate(each, symbols, graph).round()) for name, each in sums.items()}
    return known, int(evaluate(useful, symbols, graph).round())
