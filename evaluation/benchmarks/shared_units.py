"""Savings and costs of two equal functions of different streams that take turns on one unit.

    python benchmarks/shared_units.py

Both have pairs of tiles of 4 x 16 BF16. Shared, an EagerMerge lets the pairs of one or of the other in as they come,
and a Partition sends results back, by the selector of the merge. A row for a function, a link and lanes: LUT sites of
both units with their channels, estimated, as two units and as a shared one; the same of the function alone; cycles of
64 tiles a stream in the fast model, when both streams have them at the same time.
"""

from __future__ import annotations

import numpy as np

from cosim.synthesis.estimate import estimate
from cosim.synthesis.families.ecp5 import Ecp5
from sim_approx import backend as approx
from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Add, Max, Mul
from step.language.function import MapFunction
from step.lowering.netlist import lower

TILES, SHAPE = 64, (4, 16)
FUNCTIONS: dict[str, MapFunction] = {"max": Max(out=BF16), "mul": Mul(out=BF16), "add": Add(out=BF16)}


def program(function: MapFunction, lanes: int, link_bytes: int, *, shared: bool) -> Program:
    """Two streams of pairs through ``function``, on one unit or on two."""
    graph = Graph("shared" if shared else "separate")
    values = np.random.default_rng(0).random((4, TILES, *SHAPE)).astype(BF16.numpy)
    inputs = {f"x{at}": each for at, each in enumerate(values)}
    a, b, c, d = (graph.source(name, Tile(BF16, *SHAPE), [TILES]) for name in inputs)
    if shared:
        pairs, which = graph.eager_merge([a.zip(b), c.zip(d)])
        results = pairs.item_of(0).map(function, pairs.item_of(1), name="unit")
        first, second = results.partition(which.buffered(16), targets=2)
        first.sink("y")
        second.sink("z")
    else:
        a.map(function, b, name="unit").sink("y")
        c.map(function, d, name="unit2").sink("z")
    return Program(graph, inputs, FabricConfig(vector_lanes=lanes, link_bytes=link_bytes))


def measure(name: str, link_bytes: int, lanes: int) -> str:
    """The row of one choice."""
    sites, cycles = [], []
    for shared in (False, True):
        made = program(FUNCTIONS[name], lanes, link_bytes, shared=shared)
        report = estimate(lower(made.graph, made.fabric), Ecp5())
        edges = {each.name for each in report.units if each.kind in ("source", "sink")}
        parts = (each for each in (*report.units, *report.channels) if each.name not in edges)
        sites.append(sum(each.area.size for each in parts))
        alone = next(each.area.size for each in report.units if each.name == "unit")
        cycles.append(approx.run(made.graph, made.inputs, made.fabric).cycles)
    return (
        f"| {name} | {link_bytes} | {lanes} | {alone:,} | {sites[0]:,} | {sites[1]:,} | {cycles[0]:,} | {cycles[1]:,} |"
    )


def main() -> None:
    """Measure and print."""
    print("| function | link bytes | lanes | one unit | two units | shared | cycles | shared |\n" + "|---" * 8 + "|")
    for name in FUNCTIONS:
        for link_bytes in (16, 64):
            for lanes in (1, 4, 16):
                print(measure(name, link_bytes, lanes), flush=True)


if __name__ == "__main__":
    main()
