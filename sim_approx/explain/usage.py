"""Shares of lanes, links and memory that a run used, and its place under the roofline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.placing.site import PlacedFabric
from step.firing.machine import COMPUTES
from step.language.symbols import evaluate
from step.language.types import is_dynamic, with_rows
from step.lowering.feasible import flops_a_cycle, is_read, with_lanes
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
    operations = _operations(fabric, record)
    work = {
        node.name: LaneWork(operations[node.name], flops_a_cycle(node, netlist))
        for node in with_lanes(netlist)
        if operations.get(node.name) and is_read(node, netlist)
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
            _useful(program, fabric, operations),
        ),
        work,
    )


def _useful(program: Program, fabric: PlacedFabric, operations: Mapping[str, int]) -> int:
    """The ``operations`` that are not on padding; the data of ``program`` says how much there is."""
    graph = fabric.netlist.graph
    useful = useful_of(graph).flops
    padded = {n: useful[n] for n in operations if useful[n] != graph.nodes[n].operator.flops(graph.nodes[n])}
    symbols = bind(program) if any(each.free_symbols for each in padded.values()) else {}
    known = {name: int(evaluate(each, symbols, graph).round()) for name, each in padded.items()}
    return sum({**operations, **known}.values())


def _words(events: ChannelEvents, words: int, cycles: int) -> int:
    """Words that passed a channel before the end of a run, one a cycle: ``words`` a value; of tiles of dynamic size,
    whose rows no event tells, as many as there may have been before the next token."""
    room = np.diff(np.append(events.cycles, cycles))
    return int(np.minimum(words, room)[events.valued].sum())


def _operations(fabric: PlacedFabric, record: RunRecord) -> dict[str, int]:
    """Operations of the operators with functions, on tiles of dynamic size by their rows."""
    computing = record.events[record.events["outcome"] == COMPUTES]
    applied = np.bincount(computing["machine"], minlength=len(fabric.machines)).tolist()
    found = {}
    for name, machine in fabric.units.items():
        node = fabric.netlist.graph.nodes[name]
        function = node.operator.function
        if function is None or not applied[machine.order]:
            continue
        elements = tuple(each.element for each in node.inputs)
        by_rows = {0: applied[machine.order]}
        if any(map(is_dynamic, elements)):
            sizes = computing["size"][computing["machine"] == machine.order]
            by_rows = dict(zip(*map(np.ndarray.tolist, np.unique(sizes, return_counts=True)), strict=True))
        found[name] = sum(
            count * int(function.flops(*(with_rows(each, max(rows, 0)) for each in elements)))
            for rows, count in by_rows.items()
        )
    return found
