"""How much of what there is a run used: lanes, links, memory, and where it stands under the roofline."""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.build import Fabric
from sim_approx.explain.record import NOBODY, Record
from step.errors import UnboundSymbol
from step.language.graph import Node
from step.language.symbols import evaluate
from step.lowering.fabric import FabricConfig, MemoryConfig
from step.programs.program import Program
from step.running.binding import bind


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
    (by channel), and of the beats of ``memory``. ``roofline`` is None where data does not tell the operations."""

    lanes: dict[str, float]
    links: dict[str, float]
    memory: float
    roofline: Roofline | None


def usage(program: Program, fabric: Fabric, record: Record, cycles: int) -> Usage:
    """What a run of ``program`` that took ``cycles`` used of ``fabric``."""
    netlist, config = fabric.netlist, fabric.netlist.fabric
    flops = _flops(program)
    per_cycle = {name: _lanes(netlist.graph.nodes[name], config) for name, done in (flops or {}).items() if done}
    beats = sum(event.port != NOBODY and event.cycle < cycles for event in record.events)
    bandwidth = _bandwidth(config.memory)
    moved = beats * config.memory.beat_bytes
    of = max(cycles, 1)
    return Usage(
        {name: flops[name] / (most * of) for name, most in per_cycle.items()} if flops else {},
        {
            each.name: channel.entered * netlist.beats(each) / of
            for each, channel in zip(netlist.channels, fabric.channels, strict=True)
        },
        moved / (bandwidth * of),
        None if flops is None else Roofline(sum(flops.values()), sum(per_cycle.values()), moved, bandwidth, cycles),
    )


def _flops(program: Program) -> dict[str, int] | None:
    """Operations of every operator on the program's data, if it tells them."""
    try:
        values = bind(program)
    except UnboundSymbol:
        return None
    graph = program.graph
    return {node.name: int(evaluate(node.operator.flops(node), values, graph)) for node in graph}


def _lanes(node: Node, fabric: FabricConfig) -> int:
    """Operations a cycle of the lanes of ``node``: a multiply-accumulate is two."""
    function = getattr(node.operator, "function", None)
    return 2 * fabric.matmul_lanes if function is not None and function.name == "matmul" else fabric.vector_lanes


def _bandwidth(memory: MemoryConfig) -> float:
    """Bytes a cycle that all channels of the memory can move."""
    interval = float(memory.interval)
    if memory.dram is not None:
        interval = max(interval, memory.dram.burst * memory.dram.clock_ps / memory.dram.fabric_ps)
    return memory.channels * memory.beat_bytes / interval
