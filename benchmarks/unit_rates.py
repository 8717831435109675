"""How many cycles each unit takes for a value, where nothing in front of it or behind it makes it wait.

    python benchmarks/unit_rates.py [--rows 1 4] [--values N]

For every operator and every function a unit, between sources that never pause and sinks that always take. Tiles are
[rows, 8] of BF16, a row being a word of the links, which carry one a cycle. All units of a size are one program,
which runs in RTL and in the fast model; these must agree in every token's cycle. Prints a table, with units that are
alike in a row: the words of a value at the port with most of them, and cycles per value, by the formula and measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cosim.compare import compare
from sim_approx import backend as approx
from sim_approx.build import build_fabric
from step import BF16, BOOL, FP32, UINT32, FabricConfig, Graph, MemoryConfig, Program, Selector, Stream, Tile
from step import functions as f
from step.language.function import Function
from step.language.graph import Node
from step.language.types import ElementType
from step.lowering.netlist import Netlist, lower
from step.programs.inputs import bind_inputs
from step.running.result import ChannelEvents

COLUMNS = 8
EACH = 10
"""Values of a row of a stream, or pieces of a value."""

FABRIC = FabricConfig(
    tile=32,
    matmul_lanes=8,
    vector_lanes=8,
    link_bytes=16,
    outstanding=32,
    scratchpad_ports=1,
    memory=MemoryConfig(beat_bytes=16, channels=32),
)

WARM_UP = 20
"""Values that are not counted: the first ones fill channels and pipelines."""

Values = Sequence[tuple[ElementType, int]]
"""Types of operands, and the number that all their scalars are."""


@dataclass
class Bench:
    """A graph in which units stand side by side, and the data of their sources."""

    graph: Graph
    rows: int
    values: int
    inputs: dict[str, Any] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    label: str = ""

    @property
    def tile(self) -> Tile:
        return Tile(BF16, self.rows, COLUMNS)

    def play(self, element: ElementType, dims: Sequence[int], fill: int = 1, name: str | None = None) -> Stream:
        """A source of shape ``dims``; selectors choose targets by turns."""
        name = name or f"{self.label}_{len(self.inputs)}"
        if isinstance(element, Selector):
            self.inputs[name] = np.arange(np.prod(dims)).reshape(dims) % element.targets
            return self.graph.selectors(name, element.targets, list(dims))
        assert isinstance(element, Tile)
        self.inputs[name] = np.full((*dims, *element.shape), fill, element.dtype.numpy)
        return self.graph.source(name, element, list(dims))

    def tensor(self, name: str) -> Any:
        """One with all tiles that are read, or written."""
        self.inputs[f"{self.label}_{name}"] = np.zeros((self.values * self.rows, COLUMNS))
        return self.graph.tensor(f"{self.label}_{name}", (self.values * self.rows, COLUMNS), BF16)

    def addresses(self) -> Stream:
        """Those of all tiles of a tensor, in order."""
        stream = self.play(Tile(UINT32), [self.values])
        self.inputs[stream.producer] = np.arange(self.values)
        return stream

    @property
    def flat(self) -> Stream:
        return self.play(self.tile, [self.values])

    @property
    def nested(self) -> Stream:
        return self.play(self.tile, [self.values // EACH, EACH])


Build = Callable[[Bench], Any]
"""Puts the unit, with the label as its name, into the graph."""

OPERATORS: dict[str, Build] = {
    "source": lambda b: b.play(b.tile, [b.values], name=b.label),
    "sink": lambda b: b.flat.sink(b.label),
    "broadcast": lambda b: [x.sink(f"{b.label}{number}") for x in [b.flat] for number in range(2)],
    "generate": lambda b: b.graph.constant(np.ones(b.tile.shape), [b.values], name=b.label),
    "promote": lambda b: b.flat.promote(name=b.label),
    "flatten": lambda b: b.nested.flatten(0, 1, name=b.label),
    "reshape": lambda b: b.flat.reshape(EACH, name=b.label),
    "expand": lambda b: b.play(b.tile, [b.values // EACH, 1]).expand(b.nested, name=b.label),
    "zip": lambda b: b.flat.zip(b.flat, name=b.label),
    "item_of": lambda b: b.flat.zip(b.flat).item_of(1, name=b.label),
    "bufferize": lambda b: b.nested.bufferize(name=b.label).streamify(),
    "streamify": lambda b: b.nested.bufferize().streamify(name=b.label),
    "partition": lambda b: b.flat.partition(b.play(Selector(2), [b.values]), targets=2, name=b.label),
    "reassemble": lambda b: b.graph.reassemble(
        [b.play(b.tile, [b.values // 2]) for _ in range(2)], b.play(Selector(2), [b.values]), name=b.label
    ),
    "eager_merge": lambda b: b.graph.eager_merge([b.play(b.tile, [b.values // 2]) for _ in range(2)], name=b.label),
    "linear_off_chip_load": lambda b: b.graph.load(b.tensor("x"), tile=b.tile.shape, name=b.label),
    "linear_off_chip_store": lambda b: b.flat.store(b.label),
    "random_off_chip_load": lambda b: b.addresses().load_random(b.tensor("x"), tile=b.tile.shape, name=b.label),
    "random_off_chip_store": lambda b: b.flat.store_random(b.tensor("x"), b.addresses(), name=b.label),
}
"""Those that apply no function."""

NUMBER = Tile(UINT32)


def maps(tile: Tile) -> dict[Function, Values]:
    """Functions of elements, and their operands; rows of a ``tile`` are words."""
    one, two, three = [(tile, 1)], [(tile, 1)] * 2, [(tile, 1)] * 3
    row, flags = Tile(BF16, 1, COLUMNS), Tile(BOOL, tile.rows, tile.cols)
    return {
        **dict.fromkeys((f.Add(), f.Sub(), f.Mul(), f.Max(), f.Min(), f.Div(), f.Compare("<")), two),
        f.MulAdd(): three,
        f.Where(): [(flags, 1), *two],
        **dict.fromkeys((f.Scale(0.5), f.Exp(), f.Gelu(), f.Silu(), f.Reciprocal(), f.Rsqrt(), f.Cast(FP32)), one),
        f.RowSum(): one,
        f.RowMax(): one,
        f.Transpose(): one,
        f.Matmul(): [(tile, 1), (Tile(BF16, COLUMNS, COLUMNS), 1)],
        f.FilterLastTile(): [(tile, 1), (NUMBER, 1)],
        f.SetRow(): [(tile, 1), (NUMBER, 0), (row, 1)],
        f.AppendRow(): [(tile, 1), (NUMBER, 0), (row, 1)],
        f.CacheEnd(1, 1, 8): [(NUMBER, 0), (NUMBER, 0)],
        f.TopK(2): [(row, 1)],
        f.SelectValid(): [(Tile(BOOL), 0)],
        f.SelectAll(2): one,
    }


def reductions(tile: Tile) -> dict[Function, Values]:
    """Functions that fold elements into a state, and their operands."""
    return {
        **dict.fromkeys((f.Add(), f.Mul(), f.Max(), f.Min()), ((tile, 1),)),
        f.Add(FP32): [(Tile(FP32, tile.rows, tile.cols), 1)],
        f.MulAdd(): [(tile, 1), (tile, 1)],
        f.Matmul(): [(tile, 1), (Tile(BF16, COLUMNS, COLUMNS), 1)],
        f.RetileRow(): [(tile, 1)],
        f.RetileCol(): [(tile, 1)],
    }


def expansions(tile: Tile) -> dict[Function, Values]:
    """Functions that make `EACH` pieces of an element, and their operands."""
    return {
        f.RetileStreamify(tile.shape[0], "row"): [(Tile(BF16, EACH * tile.shape[0], COLUMNS), 1)],
        f.CountFrom(): [(NUMBER, 0), (NUMBER, EACH)],
        f.ExpertTiles(1, EACH): [(NUMBER, 0)],
        f.CacheTiles(1, EACH, 1): [(NUMBER, 0), (NUMBER, EACH)],
        f.CacheRows(1): [(NUMBER, EACH)],
    }


def units(tile: Tile) -> Iterator[tuple[str, Build]]:
    """Names and builders of all units, for values that are a ``tile``."""
    yield from OPERATORS.items()

    def applied(operator: str, function: Function, operands: Values) -> Build:
        def build(bench: Bench) -> Any:
            rows = bench.values // EACH
            dims = {"map": [bench.values], "flat_map": [rows]}.get(operator, [rows, EACH])
            first, *others = (bench.play(element, dims, fill) for element, fill in operands)
            return getattr(first, operator)(function, *others, name=bench.label)

        return build

    for operator, table in (("map", maps), ("accum", reductions), ("scan", reductions), ("flat_map", expansions)):
        for function, operands in table(tile).items():
            if operator == "scan" and function.family == "retile":
                continue  # their states grow, which a scan does not take
            format = "_fp32" if operands[0][0] == Tile(FP32, tile.rows, tile.cols) else ""
            yield f"{operator}_{function.name}{format}", applied(operator, function, operands)


@dataclass(frozen=True)
class Rate:
    """Of a unit: ``words`` of a value where it has most, and cycles per value by the formula, and ``measured``."""

    unit: str
    words: int
    formula: int
    measured: float


@dataclass(frozen=True)
class Rates:
    """All units for values of ``rows`` words, in one program."""

    program: Program
    labels: tuple[str, ...]

    def of(self, events: Mapping[str, ChannelEvents]) -> list[Rate]:
        """What a run says, whose ``events`` are given."""
        program = self.program
        netlist = lower(program.graph, program.fabric)
        machines = build_fabric(netlist, bind_inputs(program.graph, program.inputs), ()).units
        nodes = {node.name: node for node in netlist.units}
        # The compiler inserts the one broadcast, and gives it its name.
        nodes["broadcast"] = next(each for each in netlist.units if each.operator.name == "broadcast")
        return [
            _rate(label, nodes[label], netlist, machines[nodes[label].name].interval, events) for label in self.labels
        ]


def _rate(label: str, node: Node, netlist: Netlist, interval: int, events: Mapping[str, ChannelEvents]) -> Rate:
    """Measured where most values pass, between the first of them that counts and the last one."""
    channels = [each for each in (*netlist.inputs(node), *netlist.outputs(node)) if each is not None]
    times = {each: events[each.name].cycles[events[each.name].control & 2 != 0] for each in channels}
    busiest = max(channels, key=lambda each: (len(times[each]), netlist.beats(each)))
    words = max(netlist.beats(each) for each in channels if len(times[each]) == len(times[busiest]))
    counted = times[busiest][WARM_UP:]
    return Rate(label, words, max(interval, words), float(counted[-1] - counted[0]) / (len(counted) - 1))


def build(rows: int, values: int = 200) -> Rates:
    """A program with all units, for values of ``rows`` words."""
    bench = Bench(Graph(f"unit_rates_{rows}"), rows, values)
    for label, put in units(bench.tile):
        bench.label = label
        put(bench)
        bench.labels.append(label)
    read = bench.graph.readers()
    for number, stream in enumerate([each for each in bench.graph.streams() if not read[each.key]]):
        stream.sink(f"end{number}")
    return Rates(Program(bench.graph, bench.inputs, FABRIC), tuple(bench.labels))


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
