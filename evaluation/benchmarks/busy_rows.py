"""How much of its time a lane multiplies in products of tiles with a dynamic number of rows, for every number of rows.

    python -m benchmarks.busy_rows [--rows 16] [--shapes 16x16 32x32 ...] [--lanes 16 64] [--model]

A shape is K x N. All numbers of rows from one to ``--rows`` are data of one program, which runs in RTL and in the fast
model; these must agree in every token's cycle. Of each M with M N >= `stages` x lanes, and of the most rows, it says
the share of `matmul_lanes` that multiply in a cycle, and the same as a part of what its blocks allow: lanes for rows
that the last block does not have can not multiply.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Matmul
from step.lowering.netlist import lower
from step.lowering.plans.matmul import plan
from step.lowering.plans.plan import Application

COUNTED, WARM_UP = 4, 4
"""Intervals that are measured of each number of rows, and products before them."""

BAR = 0.95


@dataclass(frozen=True)
class Busy:
    """Of products with so many ``rows``: the ``share`` of lanes that multiply, and the most that their blocks allow."""

    rows: int
    share: float
    allowed: float


def program(most: int, inner: int, cols: int, lanes: int) -> Program:
    """Products with one row, then with two, up to ``most``."""
    graph, random = Graph("busy_rows"), np.random.default_rng(0)
    counts = [rows for rows in range(1, most + 1) for _ in range(WARM_UP + COUNTED + 1)]
    x = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), inner), [len(counts)])
    w = graph.source("w", Tile(BF16, inner, cols), [len(counts)])
    x.map(Matmul(out=BF16), w, name="product").sink("y")
    inputs = {
        "x": [random.standard_normal((rows, inner)).astype(BF16.numpy) for rows in counts],
        "w": random.standard_normal((len(counts), inner, cols)),
    }
    fabric = FabricConfig(matmul_lanes=lanes, dynamic_rows=most, link_bytes=256, page_bytes=16384)
    return Program(graph, inputs, fabric)


def measured(made: Program) -> Iterator[Busy]:
    """How busy lanes are, of each number of rows that may keep them busy."""
    events = approx.run(made.graph, made.inputs, made.fabric, events=True).events
    assert events is not None
    netlist, fabric = lower(made.graph, made.fabric), made.fabric
    node = next(each for each in netlist.units if each.name == "product")
    (channel,) = netlist.outputs(node)
    assert channel is not None
    found = events[channel.name]
    times = found.cycles[found.control & 2 != 0].reshape(fabric.dynamic_rows, -1)
    application = Application.at(node, fabric, reduce=False).with_rows(fabric.dynamic_rows)
    shape = plan(Matmul(out=BF16), application).arrangement
    for rows, cycles in enumerate(times, 1):
        if rows * shape.cols >= shape.stages * fabric.matmul_lanes or rows == fabric.dynamic_rows:
            interval = float(cycles[-1] - cycles[WARM_UP]) / COUNTED
            blocks = -(-rows // shape.block_rows) * shape.col_blocks
            scalars = rows * shape.cols / fabric.matmul_lanes
            yield Busy(rows, scalars * shape.inner / interval, scalars / blocks)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--lanes", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--shapes", nargs="+", default=["16x16", "32x32", "64x16", "16x64"])
    parser.add_argument("--model", action="store_true", help="by the fast model alone")
    arguments = parser.parse_args()
    print(f"| K x N | lanes | M | least busy | of what blocks allow | M below {BAR:.0%} |\n|---|---|---|---|---|---|")
    for text in arguments.shapes:
        inner, cols = map(int, text.split("x"))
        for lanes in arguments.lanes:
            made = program(arguments.rows, inner, cols, lanes)
            if not arguments.model and not compare(made).passed:
                raise SystemExit(f"{text} on {lanes} lanes: RTL and fast model differ")
            found = list(measured(made))
            least, of = min(each.share for each in found), min(each.share / each.allowed for each in found)
            below = ", ".join(f"{each.rows} ({each.share:.1%})" for each in found if each.share < BAR) or "none"
            print(
                f"| {inner} x {cols} | {lanes} | {found[0].rows}-{arguments.rows} | {least:.1%} | {of:.1%} | {below} |"
            )


if __name__ == "__main__":
    main()
