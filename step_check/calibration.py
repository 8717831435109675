"""Cycles of every unit in RTL, beside those of its plan (docs/calibration.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cosim.backend import run_rtl
from sim_approx import backend as approx
from step.host.progress import Progress, silent
from step.language.graph import Node
from step.language.types import Buffer
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.programs.prepare import prepare
from step.programs.program import Program
from step.running.interpreter import interpret
from step.running.result import ChannelEvents
from step_check.fuzz.farm import side_by_side
from step_check.fuzz.program import for_graph
from step_check.fuzz.rebuild import Playback
from step_check.fuzz.units import StandardUnit, units

VALUES = 120
"""Values that pass each standard unit, or a few more."""

WARM_UP = 20
"""Firings of a long run that do not count: the first ones fill channels and pipelines."""

Events = Mapping[str, ChannelEvents]


@dataclass(frozen=True)
class Pacing:
    """Cycles from a firing of a unit to the next one, and from a value to its result; None where there is no usual."""

    interval: int | None
    latency: int | None


@dataclass(frozen=True)
class UnitCycles:
    """The pace of a unit, ``expected`` by its plan and ``measured`` in RTL.

    ``words`` of a value at the port with most of them. ``residual`` is how many cycles a token that the unit takes or
    sends in RTL is from where the plans have it, at most; None where RTL has another number of tokens.
    """

    unit: str
    words: int
    expected: Pacing
    measured: Pacing
    residual: int | None

    @property
    def agrees(self) -> bool:
        """Whether every token is in the cycle of the plan."""
        return self.residual == 0 and self.expected == self.measured


@dataclass(frozen=True)
class UnitBench:
    """A ``program`` of units between sources that never pause and sinks that always take; ``units`` names their nodes
    by what is shown of them."""

    program: Program
    units: Mapping[str, str]

    def measure(self, progress: Progress = silent) -> list[UnitCycles]:
        """Run the program in RTL and on the fast model; raises what these raise."""
        prepared = prepare(self.program)
        netlist, nodes = prepared.netlist, {each.name: each for each in prepared.netlist.units}
        exact = run_rtl(prepared, optimize=False, progress=progress)[0].events
        model = approx.run(prepared, events=True).events
        assert exact is not None and model is not None
        return [_compared(unit, netlist, nodes[name], exact, model) for unit, name in self.units.items()]


def standard_benches(fabric: FabricConfig) -> Iterator[UnitBench]:
    """All operators, and all functions in every operator that applies them, on ``fabric``, each once and plainly.

    A bench for values of one row of numbers, and one for those of four words of a link.
    """
    for rows in (1, 4 * max(1, fabric.link_bytes // 16)):
        yield bench_of_units([*units(rows)], fabric)


def bench_of_units(found: Sequence[StandardUnit], fabric: FabricConfig) -> UnitBench:
    """Standard units side by side on ``fabric``, with on-chip memory for all of them."""
    link = max(1, fabric.link_bytes // 64)
    roomy = replace(
        fabric,
        channel_depth=max(3, fabric.channel_depth),  # with two, a slot comes free too late for long values
        page_bytes=max(8192 * link, fabric.page_bytes),
        scratchpad_bytes=max(65536 * link, fabric.scratchpad_bytes),
    )
    graph, inputs = side_by_side("units", [partial(each.build, values=VALUES) for each in found])
    program = Program(graph, inputs, for_graph(roomy, graph))
    nodes, names = prepare(program).netlist.units, dict[str, str]()
    for number, unit in enumerate(found):
        node = unit.node(each for each in nodes if each.name.startswith(f"s{number}_"))
        if node is not None and node.operator.given() is None:
            names[f"{unit.label} of {_elements(node)}"] = node.name
    return UnitBench(program, names)


def bench_of(program: Program) -> UnitBench:
    """The units of ``program`` that apply functions, each different one once, on what they read in the program."""
    prepared = prepare(program)
    carried = interpret(prepared.graph, prepared.data, record=True).streams
    playback, names = Playback(f"units_of_{program.name}"), dict[str, str]()
    for node in prepared.graph:
        function = getattr(node.operator, "function", None)
        unit = f"{node.operator} of {_elements(node)}"
        if function is None or unit in names or any(isinstance(each.element, Buffer) for each in node.inputs):
            continue
        streams = [
            playback.play(f"{node.name}_{port}", each.type, carried[str(prepared.graph.resolve(each))])
            for port, each in enumerate(node.inputs)
        ]
        for port, each in enumerate(playback.graph.add(node.operator, streams, name=node.name)):
            each.sink(f"{node.name}_end{port}")
        names[unit] = node.name
    return UnitBench(Program(playback.graph, playback.inputs, for_graph(program.fabric, playback.graph)), names)


def _elements(node: Node) -> str:
    return ", ".join(str(each.element) for each in node.inputs)


def _compared(unit: str, netlist: Netlist, node: Node, exact: Events, model: Events) -> UnitCycles:
    before, behind = netlist.inputs(node), [each for each in netlist.outputs(node) if each is not None]
    moments = [(exact[each.name].leaves, model[each.name].leaves) for each in before]
    moments += [(exact[each.name].cycles, model[each.name].cycles) for each in behind]
    residual = None
    if all(len(one) == len(other) for one, other in moments):
        residual = max(int(np.abs(one - other).max(initial=0)) for one, other in moments)
    words = max(netlist.words(each, node.name) for each in (*before, *behind))
    return UnitCycles(unit, words, _pacing(netlist, node, model), _pacing(netlist, node, exact), residual)


def _pacing(netlist: Netlist, node: Node, events: Events) -> Pacing:
    """The pacing of the unit of ``node`` in ``events``; it fires where most values pass.

    It makes as many results of every value, or one of as many values.
    """
    before = [events[each.name] for each in netlist.inputs(node)]
    behind = [events[each.name] for each in netlist.outputs(node) if each is not None]
    taken = [each.leaves[each.valued[: len(each.leaves)]] for each in before]
    sent = [each.cycles[each.valued] for each in behind]
    firings, latency = max((*taken, *sent), key=len), None
    if taken and sent and len(taken[0]) and len(sent[0]):
        many, few = max(1, len(sent[0]) // len(taken[0])), max(1, len(taken[0]) // len(sent[0]))
        results, values = sent[0][many - 1 :: many], taken[0][few - 1 :: few]
        if len(results) == len(values):
            latency = _usual(results - values)
    return Pacing(_usual(np.diff(firings)), latency)


def _usual(samples: np.ndarray) -> int | None:
    """The value of more than half of ``samples``."""
    if len(samples) > 2 * WARM_UP:
        samples = samples[WARM_UP:]
    values, counts = np.unique(samples, return_counts=True)
    return int(values[counts.argmax()]) if len(samples) and 2 * counts.max() > len(samples) else None
