"""From the run of a bench on RTL to entries of a calibration."""

from __future__ import annotations

import numpy as np

from cosim.calibration.passage import Events, Passage, distance, passage
from sim_approx import backend as approx
from sim_approx.build import TimingOf, build_fabric
from sim_approx.calibration.applied import INSTANT, Applied
from sim_approx.calibration.entries import Unit
from step.errors import SimulationError
from step.language.function import Function
from step.language.graph import Node
from step.lowering.netlist import lower
from step.lowering.plans.plan import Timing
from step.programs.inputs import bind_inputs
from step.programs.program import Program

WARM_UP = 20
"""Firings that are not counted: the first ones fill channels and pipelines."""


class Measured:
    """A bench of units, by their ``labels``."""

    def __init__(self, program: Program, labels: tuple[str, ...]) -> None:
        self.netlist = lower(program.graph, program.fabric)
        self.data = bind_inputs(program.graph, program.inputs)
        nodes = {node.name: node for node in self.netlist.units}
        inserted = {node.operator.name: node for node in self.netlist.units}  # by the compiler, under its own name
        self.nodes = {label: nodes.get(label) or inserted[label] for label in labels}

    def applied(self) -> dict[str, Applied]:
        """What each unit is."""
        return {label: Applied.at(node, function_of(node)) for label, node in self.nodes.items()}

    def units(self, exact: Events, rtl: str, date: str) -> list[Unit]:
        """An entry for each unit, from the ``exact`` events of a run.

        Raises `SimulationError` where the fast model with them has other tokens.
        """
        instant = self._events(lambda *_: INSTANT)
        timings: dict[str, Timing] = {}
        found: dict[str, tuple[Passage, int, int | None, int]] = {}
        for label, node in self.nodes.items():
            applies = function_of(node) is not None
            here = passage(self.netlist, node, exact, applies=applies)
            of_unit = passage(self.netlist, node, instant, applies=applies)
            intervals = np.diff(here.firings)[WARM_UP:]
            interval, spread = usual(intervals)
            latency = None
            through_memory = node.operator.reads(node) or node.operator.writes(node)
            if len(here.latencies) and not through_memory:
                latency, other = usual(here.latencies - (usual(of_unit.latencies)[0] if applies else 0))
                spread = max(spread, other)
            if applies:
                assert latency is not None, label
                timings[node.name] = Timing(interval, latency, streams=True)
            found[label] = here, interval, latency, spread
        model = self._events(lambda node, function, reduce: timings.get(node.name, INSTANT))
        entries = []
        for label, (here, interval, latency, spread) in found.items():
            node = self.nodes[label]
            residual = distance(self.netlist, node, exact, model)
            if residual is None:
                raise SimulationError(f"{node.describe()}: the fast model has other tokens than the RTL")
            samples = len(here.firings) - 1 - WARM_UP
            applied = Applied.at(node, function_of(node))
            entries.append(Unit(applied, here.beats, interval, latency, samples, spread, residual, rtl, date))
        return entries

    def formulas(self) -> dict[str, tuple[int, int]]:
        """By label of a unit with a function, interval and latency by the formulas, as an entry has them."""
        by_formula = build_fabric(self.netlist, self.data, ()).units
        instant = build_fabric(self.netlist, self.data, (), lambda *_: INSTANT).units
        return {
            label: (by_formula[node.name].interval, by_formula[node.name].latency - instant[node.name].latency)
            for label, node in self.nodes.items()
            if function_of(node) is not None
        }

    def _events(self, timing_of: TimingOf) -> Events:
        run = approx.run(self.netlist, self.data, events=True, timing_of=timing_of)
        assert run.events is not None
        return run.events


def function_of(node: Node) -> Function | None:
    """The function that the unit of ``node`` applies."""
    return getattr(node.operator, "function", None)


def usual(samples: np.ndarray) -> tuple[int, int]:
    """What most of ``samples`` are, and how far one of them is from that."""
    values, counts = np.unique(samples, return_counts=True)
    usual = int(values[counts.argmax()])
    return usual, int(np.abs(samples - usual).max())
