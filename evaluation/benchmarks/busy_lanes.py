"""Shares of lanes that multiply in matrix products, between sources that never pause and a sink.

    python -m benchmarks.busy_lanes [--lanes 16 64] [--shapes 4x16x16 16x64x16 ...] [--products N] [--model]
    python -m benchmarks.busy_lanes --rows 16 [--lanes 16 64] [--shapes 16x16 32x32 ...] [--model]

A shape is M x K x N; every product stands alone, on at most so many lanes. All of a number of lanes are one program,
which runs in RTL and in the fast model; these must agree in every token's cycle. Prints, for each shape and number of
lanes, the lanes that are made, cycles per product by the formula and measured, and the share of `matmul_lanes` that
multiply in a cycle. Links are so wide that they limit nothing.

With ``--rows`` tiles have a dynamic number of rows, and a shape is K x N. All numbers of rows up to that are data of
one program. Of each M with M N >= `stages` x lanes, and of the most rows, it says the share of lanes that multiply, and
the same as a part of what its blocks allow: lanes for rows that the last block does not have can not multiply.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Matmul
from step.lowering.netlist import Netlist, lower
from step.lowering.plans.matmul import plan
from step.lowering.plans.plan import Application
from step_check.fuzz.farm import side_by_side

Shape = tuple[int, ...]
"""M, K, N, or K, N where rows are dynamic."""

SHAPES: tuple[Shape, ...] = (
    *((rows, 16, 16) for rows in (1, 2, 3, 4, 5, 7, 8, 12, 16)),
    *((rows, 16, 64) for rows in (1, 2, 4, 5, 7, 11)),
    (16, 64, 16),
    (32, 32, 32),
)
OF_DYNAMIC: tuple[Shape, ...] = ((16, 16), (32, 32), (64, 16), (16, 64))

WARM_UP, COUNTED, WARM_UP_OF_ROWS = 8, 4, 4
"""Products that are not counted, which fill channels and pipelines; of each number of rows, intervals that are measured
and products before them."""

BAR = 0.95


def side_by_side_program(lanes: int, shapes: Sequence[Shape], products: int) -> Program:
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
    return Program(graph, inputs, FabricConfig(matmul_lanes=lanes, link_bytes=256, page_bytes=16384))


def dynamic_program(most: int, shape: Shape, lanes: int) -> Program:
    """Products with one row, then with two, up to ``most``."""
    (inner, cols), graph, random = shape, Graph("busy_rows"), np.random.default_rng(0)
    counts = [rows for rows in range(1, most + 1) for _ in range(WARM_UP_OF_ROWS + COUNTED + 1)]
    x = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), inner), [len(counts)])
    w = graph.source("w", Tile(BF16, inner, cols), [len(counts)])
    x.map(Matmul(out=BF16), w, name="product").sink("y")
    inputs = {
        "x": [random.standard_normal((rows, inner)).astype(BF16.numpy) for rows in counts],
        "w": random.standard_normal((len(counts), inner, cols)),
    }
    fabric = FabricConfig(matmul_lanes=lanes, dynamic_rows=most, link_bytes=256, page_bytes=16384)
    return Program(graph, inputs, fabric)


def times_of(made: Program, names: Sequence[str]) -> Iterator[tuple[np.ndarray, Application]]:
    """The cycles in which results of the products ``names`` come, in the fast model, and where these stand."""
    events = approx.run(made.graph, made.inputs, made.fabric, events=True).events
    netlist: Netlist = lower(made.graph, made.fabric)
    assert events is not None
    for name in names:
        node = next(each for each in netlist.units if each.name == name)
        (channel,) = netlist.outputs(node)
        assert channel is not None
        found = events[channel.name]
        yield found.cycles[found.control & 2 != 0], Application.at(node, made.fabric, reduce=False)


def lines_of_shapes(made: Program, lanes: int, shapes: Sequence[Shape]) -> Iterator[str]:
    """A line for each shape."""
    names = [f"s{number}_product" for number in range(len(shapes))]
    for shape, (times, application) in zip(shapes, times_of(made, names), strict=True):
        rows, inner, cols = shape
        times = times[WARM_UP:]
        cycles = float(times[-1] - times[0]) / (len(times) - 1)
        how = plan(Matmul(out=BF16), application)
        share, size = rows * inner * cols / lanes / cycles, " x ".join(map(str, shape))
        cells = (size, lanes, how.arrangement.lanes, how.initiation_interval, f"{cycles:.2f}", f"{share:.1%}")
        yield f"| {' | '.join(map(str, cells))} |"


def shares_of_rows(made: Program) -> Iterator[tuple[int, float, float]]:
    """Each number of rows that may keep lanes busy: their share that is, and the most that its blocks allow."""
    ((times, application),), fabric = times_of(made, ["product"]), made.fabric
    shape = plan(Matmul(out=BF16), application).arrangement
    for rows, cycles in enumerate(times.reshape(fabric.dynamic_rows, -1), 1):
        if rows * shape.cols >= shape.stages * fabric.matmul_lanes or rows == fabric.dynamic_rows:
            interval = float(cycles[-1] - cycles[WARM_UP_OF_ROWS]) / COUNTED
            blocks = -(-rows // shape.block_rows) * shape.col_blocks
            scalars = rows * shape.cols / fabric.matmul_lanes
            yield rows, scalars * shape.inner / interval, scalars / blocks


def line_of_rows(made: Program, shape: Shape, lanes: int, most: int) -> str:
    """A line for all numbers of rows."""
    found = list(shares_of_rows(made))
    least, of = min(share for _, share, _ in found), min(share / allowed for _, share, allowed in found)
    below = ", ".join(f"{rows} ({share:.1%})" for rows, share, _ in found if share < BAR) or "none"
    return f"| {shape[0]} x {shape[1]} | {lanes} | {found[0][0]}-{most} | {least:.1%} | {of:.1%} | {below} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="tiles with a dynamic number of rows, up to this")
    parser.add_argument("--lanes", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--shapes", nargs="+")
    parser.add_argument("--products", type=int, default=40)
    parser.add_argument("--model", action="store_true", help="by the fast model alone")
    given = parser.parse_args()
    count = 2 if given.rows else 3
    for text in given.shapes or ():
        if not re.fullmatch(rf"[1-9]\d*(x[1-9]\d*){{{count - 1}}}", text):
            parser.error(f"a shape must be {'KxN, as 16x16' if given.rows else 'MxKxN, as 4x16x16'}, not {text!r}")
    shapes: Sequence[Shape] = [tuple(map(int, text.split("x"))) for text in given.shapes or ()]

    def checked(made: Program, what: str) -> Program:
        if not given.model and not compare(made).passed:
            raise SystemExit(f"{what}: RTL and fast model differ")
        return made

    if given.rows:
        print(
            f"| K x N | lanes | M | least busy | of what blocks allow | M below {BAR:.0%} |\n|---|---|---|---|---|---|"
        )
        for shape in shapes or OF_DYNAMIC:
            for lanes in given.lanes:
                made = dynamic_program(given.rows, shape, lanes)
                print(line_of_rows(checked(made, f"{shape[0]}x{shape[1]} on {lanes} lanes"), shape, lanes, given.rows))
        return
    shapes = shapes or SHAPES
    print("| M x K x N | `matmul_lanes` | made | cycles, formula | measured | busy |\n|---|---|---|---|---|---|")
    for lanes in given.lanes:
        made = side_by_side_program(lanes, shapes, given.products)
        for line in lines_of_shapes(checked(made, made.name), lanes, shapes):
            print(line)


if __name__ == "__main__":
    main()
