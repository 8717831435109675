"""How much of its time a lane of a matrix product multiplies, between sources that never pause and a sink.

    python benchmarks/busy_lanes.py [--lanes 16 64] [--shapes 4x16x16 16x64x16 ...] [--products N] [--model]

A shape is M x K x N; every product stands alone, on at most so many lanes. All of a number of lanes are one program,
which runs in RTL and in the fast model; these must agree in every token's cycle. Prints, for each shape and number of
lanes, the lanes that are made, cycles per product by the formula and measured, and the share of `matmul_lanes` that
multiply in a cycle. Links are so wide that they limit nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Matmul
from step.lowering.netlist import lower
from step.lowering.plans.matmul import plan
from step.lowering.plans.plan import Application
from step_check.fuzz.farm import side_by_side

Shape = tuple[int, int, int]

SHAPES: tuple[Shape, ...] = (
    *((rows, 16, 16) for rows in (1, 2, 3, 4, 5, 7, 8, 12, 16)),
    *((rows, 16, 64) for rows in (1, 2, 4, 5, 7, 11)),
    (16, 64, 16),
    (32, 32, 32),
)
"""M, K, N."""

WARM_UP = 8
"""Products that are not counted: the first ones fill channels and pipelines."""


@dataclass(frozen=True)
class Busy:
    """Of a ``shape`` on at most so many ``lanes``: lanes ``made``, cycles a product by the ``formula`` and measured."""

    shape: Shape
    lanes: int
    made: int
    formula: int
    measured: float

    @property
    def share(self) -> float:
        """The share of lanes that multiply in a cycle."""
        rows, inner, cols = self.shape
        return rows * inner * cols / self.lanes / self.measured


def fabric(lanes: int) -> FabricConfig:
    """Links take an operand of most shapes a cycle."""
    return FabricConfig(matmul_lanes=lanes, link_bytes=256, page_bytes=16384)


def program(lanes: int, shapes: Sequence[Shape], products: int) -> Program:
    """A product of each shape, all side by side."""

    def build(shape: Shape, graph: Graph) -> Mapping[str, Any]:
        rows, inner, cols = shape
        random = np.random.default_rng(rows)
        x = graph.source("x", Tile(BF16, rows, inner), [products])
        w = graph.source("w", Tile(BF16, inner, cols), [products])
        x.map(Matmul(out=BF16), w, name="product").sink("y")
        sizes = {"x": (rows, inner), "w": (inner, cols)}
        return {name: random.standard_normal((products, *size)) for name, size in sizes.items()}

    graph, inputs = side_by_side(f"busy_lanes_{lanes}", [partial(build, shape) for shape in shapes])
    return Program(graph, inputs, fabric(lanes))


def measured(made: Program, lanes: int, shapes: Sequence[Shape]) -> Iterator[Busy]:
    """How busy lanes are in the fast model."""
    events = approx.run(made.graph, made.inputs, made.fabric, events=True).events
    assert events is not None
    netlist = lower(made.graph, made.fabric)
    for number, shape in enumerate(shapes):
        node = next(each for each in netlist.units if each.name == f"s{number}_product")
        (channel,) = netlist.outputs(node)
        assert channel is not None
        found = events[channel.name]
        times = found.cycles[found.control & 2 != 0][WARM_UP:]
        cycles = float(times[-1] - times[0]) / (len(times) - 1)
        how = plan(Matmul(out=BF16), Application.at(node, made.fabric, reduce=False))
        yield Busy(shape, lanes, how.arrangement.lanes, how.initiation_interval, cycles)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--shapes", nargs="+", default=["x".join(map(str, each)) for each in SHAPES])
    parser.add_argument("--products", type=int, default=40)
    parser.add_argument("--model", action="store_true", help="by the fast model alone")
    arguments = parser.parse_args()
    shapes: list[Shape] = []
    for text in arguments.shapes:
        numbers = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", text)
        if numbers is None:
            parser.error(f"a shape must be MxKxN, as 4x16x16, not {text!r}")
        rows, inner, cols = map(int, numbers.groups())
        shapes.append((rows, inner, cols))
    print("| M x K x N | `matmul_lanes` | made | cycles, formula | measured | busy |\n|---|---|---|---|---|---|")
    for lanes in arguments.lanes:
        made = program(lanes, shapes, arguments.products)
        if not arguments.model and not compare(made).passed:
            raise SystemExit(f"{made.name}: RTL and fast model differ")
        for each in measured(made, lanes, shapes):
            size = " x ".join(map(str, each.shape))
            print(f"| {size} | {lanes} | {each.made} | {each.formula} | {each.measured:.2f} | {each.share:.1%} |")


if __name__ == "__main__":
    main()
