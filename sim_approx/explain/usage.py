"""How much of what there is a run used: lanes, links, memory, and where it stands under the roofline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import sympy

from sim_approx.explain.record import NOBODY, Record
from sim_approx.placing.build import Fabric
from step.language.function import Function
from step.language.graph import Node
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.running.result import ChannelEvents, RunResult

VALUE = 2
"""The bit of a token's control that says that it has a value."""


@dataclass(frozen=True)
class Roofline:
    """``flops`` of a run, of which ``peak`` can be done in a cycle, and the off-chip ``bytes_moved``, of which
    ``bandwidth`` can be in a cycle; it took ``cycles``."""

    flops: int
    peak: int
    bytes_moved: int
    bandwidth: float
    cycles: int

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
    (by channel), and of the beats of ``memory``. ``roofline`` is None where tiles have dynamic sizes."""

    lanes: dict[str, float]
    links: dict[str, float]
    memory: float
    roofline: Roofline | None


def usage(fabric: Fabric, record: Record, result: RunResult) -> Usage:
    """What the run with this ``result``, which has events, used of ``fabric``."""
    netlist, config, events = fabric.netlist, fabric.netlist.fabric, result.events
    assert events is not None
    work = _work(fabric, record, result.cycles)
    beats = sum(event.port != NOBODY and event.cycle < result.cycles for event in record.events)
    bandwidth = config.memory.bandwidth
    moved = beats * config.memory.beat_bytes
    of = max(result.cycles, 1)
    return Usage(
        {name: each.operations / (each.a_cycle * of) for name, each in (work or {}).items()},
        {each.name: _words(events[each.name], netlist.beats(each), result.cycles) / of for each in netlist.channels},
        moved / (bandwidth * of),
        None
        if work is None
        else Roofline(
            sum(each.operations for each in work.values()),
            sum(each.a_cycle for each in work.values()),
            moved,
            bandwidth,
            result.cycles,
        ),
    )


def _words(events: ChannelEvents, beats: int, cycles: int) -> int:
    """Words that passed a channel before the end of a run, one a cycle: ``beats`` a value; of tiles of dynamic size,
    whose rows no event tells, as many as there may have been before the next token."""
    room = np.diff(np.append(events.cycles, cycles))
    return int(np.minimum(beats, room)[events.control & VALUE > 0].sum())


class _Work(NamedTuple):
    """The ``operations`` of an operator in a run, of which its lanes do at most so many ``a_cycle``."""

    operations: int
    a_cycle: int


def _work(fabric: Fabric, record: Record, cycles: int) -> dict[str, _Work] | None:
    """What the operators with functions calculated; None where tiles have dynamic sizes."""
    applied = Counter(event.machine for event in record.events if event.computes and event.cycle < cycles)
    found = {}
    for name, machine in fabric.units.items():
        node = fabric.netlist.graph.nodes[name]
        function = getattr(node.operator, "function", None)
        if function is None:
            continue
        of_one = function.flops(*(each.element for each in node.inputs))
        if not of_one.is_number:
            return None
        if of_one and applied[machine.order]:
            a_cycle = _a_cycle(node, function, fabric.netlist.fabric.of(name))
            found[name] = _Work(applied[machine.order] * int(of_one), int(a_cycle))
    return found


def _a_cycle(node: Node, function: Function, fabric: FabricConfig) -> sympy.Expr:
    """Operations a cycle of all lanes of ``node``: two of a multiply-accumulate, else what a scalar takes."""
    if function.name == "matmul":
        return sympy.Integer(2 * max(fabric.matmul_lanes, getattr(function, "terms", None) or 1))
    elements = [each.element for each in node.inputs]
    scalars = [each.elements for each in (*elements, node.output_types[0].element) if isinstance(each, Tile)]
    return fabric.vector_lanes * sympy.Max(1, sympy.ceiling(function.flops(*elements) / sympy.Max(1, *scalars)))
