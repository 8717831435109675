"""From the run of a bench on RTL to entries of a calibration."""

from __future__ import annotations

import numpy as np

from sim_approx import backend as approx
from sim_approx.calibration.applied import INSTANT, Applied
from sim_approx.calibration.entries import Unit
from sim_approx.placing.build import build_fabric
from step.errors import SimulationError
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.programs.program import Program
from step_check.calibration.passage import Events, distance, passage

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
        return {label: Applied.at(node, node.operator.function) for label, node in self.nodes.items()}

    def units(self, exact: Events, rtl: str, date: str) -> list[Unit]:
        """An entry for each unit, from the ``exact`` events of a run.

        Raises `SimulationError` where the fast model has other tokens.
        """
        model, formulas = approx.run(self.netlist, self.data, events=True).events, self.formulas()
        assert model is not None
        entries = []
        for label, node in self.nodes.items():
            here, modelled = (passage(self.netlist, node, each) for each in (exact, model))
            interval, spread = usual(np.diff(here.firings)[WARM_UP:])
            around = usual(modelled.latencies)[0] - formulas[label][1]
            latency, other = usual(here.latencies - around)
            residual = distance(self.netlist, node, exact, model)
            if residual is None:
                raise SimulationError(f"{node.describe()}: the fast model has other tokens than the RTL")
            found = (here.beats, interval, latency, len(here.firings) - 1 - WARM_UP, max(spread, other), residual)
            entries.append(Unit(Applied.at(node, node.operator.function), *found, rtl, date))
        return entries

    def formulas(self) -> dict[str, tuple[int, int]]:
        """By label of a unit, interval and latency by the formulas, as an entry has them."""
        by_formula = build_fabric(self.netlist, self.data, ()).units
        instant = build_fabric(self.netlist, self.data, (), lambda *_: INSTANT).units
        return {
            label: (by_formula[node.name].interval, by_formula[node.name].latency - instant[node.name].latency)
            for label, node in self.nodes.items()
        }


def usual(samples: np.ndarray) -> tuple[int, int]:
    """What most of ``samples`` are, and how far one of them is from that."""
    values, counts = np.unique(samples, return_counts=True)
    usual = int(values[counts.argmax()])
    return usual, int(np.abs(samples - usual).max())
