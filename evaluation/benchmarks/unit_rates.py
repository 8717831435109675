"""Cycles that each unit takes for a value, where nothing in front of it or behind it makes it wait.

    python benchmarks/unit_rates.py [--rows 1 4] [--values N]

For every operator and every function a unit, between sources that never pause and sinks that always take. Tiles are
[rows, 8] of BF16, a row being a word of the links, which carry one a cycle. All units of a size are one program,
which runs in RTL and in the fast model; these must agree in every token's cycle. Prints a table, with units that are
alike in a row: the words of a value at the port with most of them, and cycles per value, by the formula and measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from sim_approx.placing.build import build_fabric
from step import FabricConfig, MemoryConfig, Program
from step.language.graph import Node
from step.lowering.netlist import Netlist, lower
from step.programs.data.inputs import bind_inputs
from step.running.result import ChannelEvents
from step_check.fuzz.farm import side_by_side
from step_check.fuzz.units import COLUMNS, StandardUnit, units

FABRIC = FabricConfig(
    matmul_lanes=8,
    vector_lanes=8,
    link_bytes=16,
    outstanding=32,
    scratchpad_ports=1,
    memory=MemoryConfig(beat_bytes=16, channels=256),  # so many that no two units want one in the same cycle
)

ASKING = ("until",)
"""Operators that take a selector behind every value, in a cycle of its own: what left may have decided it."""

WARM_UP = 20
"""Values that are not counted: the first ones fill channels and pipelines."""


@dataclass(frozen=True)
class Rate:
    """The rate of a unit: ``words`` of a value where it has most, cycles per value by the formula, and ``measured``."""

    unit: str
    words: int
    formula: int
    measured: float


@dataclass(frozen=True)
class Rates:
    """All units for values of ``rows`` words, in one program."""

    program: Program
    units: tuple[StandardUnit, ...]

    def of(self, events: Mapping[str, ChannelEvents]) -> list[Rate]:
        """The rate of a run whose ``events`` are given."""
        program = self.program
        netlist = lower(program.graph, program.fabric)
        machines = build_fabric(netlist, bind_inputs(program.graph, program.inputs), ()).units
        found = []
        for number, unit in enumerate(self.units):
            node = unit.node(each for each in netlist.units if each.name.startswith(f"s{number}_"))
            assert node is not None, unit
            found.append(_rate(unit.label, node, netlist, machines[node.name].interval, events))
        return found


def _rate(label: str, node: Node, netlist: Netlist, interval: int, events: Mapping[str, ChannelEvents]) -> Rate:
    """Measured where most values pass, between the first of them that counts and the last one."""
    channels = [each for each in (*netlist.inputs(node), *netlist.outputs(node)) if each is not None]
    times = {each: events[each.name].cycles[events[each.name].control & 2 != 0] for each in channels}
    busiest = max(channels, key=lambda each: (len(times[each]), netlist.words(each)))
    words = max(netlist.words(each) for each in channels if len(times[each]) == len(times[busiest]))
    counted = times[busiest][WARM_UP:]
    formula = max(interval, words) + (node.operator.name in ASKING)
    return Rate(label, words, formula, float(counted[-1] - counted[0]) / (len(counted) - 1))


def build(rows: int, values: int = 200) -> Rates:
    """A program with all units, for values of ``rows`` words."""
    found = tuple(units(rows))
    graph, inputs = side_by_side(f"unit_rates_{rows}", [partial(each.build, values=values) for each in found])
    return Rates(Program(graph, inputs, FABRIC), found)


def modelled(rates: Rates) -> list[Rate]:
    """The rates of the fast model."""
    program = rates.program
    events = approx.run(program.graph, program.inputs, program.fabric, events=True).events
    assert events is not None
    return rates.of(events)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--values", type=int, default=200)
    parser.add_argument("--model", action="store_true", help="by the fast model alone")
    arguments = parser.parse_args()
    found: dict[str, list[Rate]] = {}
    for rows in arguments.rows:
        rates = build(rows, arguments.values)
        if not arguments.model and not compare(rates.program).passed:
            raise SystemExit(f"{rates.program.name}: RTL and fast model differ")
        for rate in modelled(rates):
            found.setdefault(rate.unit, []).append(rate)
    columns = "".join(f" [{rows}, {COLUMNS}]: words | formula | measured |" for rows in arguments.rows)
    print(f"| units |{columns}\n|---|{'---|---|---|' * len(arguments.rows)}")
    alike: dict[str, list[str]] = {}
    for unit, each in found.items():
        cells = "".join(f" {rate.words} | {rate.formula} | {rate.measured:.2f} |" for rate in each)
        alike.setdefault(cells, []).append(f"`{unit}`")
    for cells, names in alike.items():
        print(f"| {' '.join(names)} |{cells}")


if __name__ == "__main__":
    main()
