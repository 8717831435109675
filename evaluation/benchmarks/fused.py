"""Fused sums beside ordered ones: cycles of products of one row, as when a model decodes, in RTL.

    python -m benchmarks.fused [--inner 64 256 768] [--cols N] [--lanes N] [--terms 16 ..] [--times N] [--model]
        [--piece 64] [--link 4096] [--transposed]

``--lanes`` are those of ordered products; fused ones get ``--times`` as many, which take about the same area (`step
synth benchmarks/products.py:alone --no-place --arg rows=1 --arg inner=64 --arg cols=64 --arg lanes=64`, and with
`--arg terms=16`). Each product stands alone between sources that never pause and a sink, and all are one program,
which runs in RTL and in the fast model; these must agree in every token's cycle. ``map``: one product after the
other. ``accum``: K is in tiles of ``--piece`` columns, and the state waits for itself. Links are so wide that they
limit nothing, unless ``--link`` gives their bytes. ``--transposed``: weights have a row for each column of the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step import BF16, FabricConfig, Graph, Program, Tile
from step.functions import Matmul
from step.lowering.netlist import lower
from step_check.fuzz.farm import side_by_side

PRODUCTS = 6
"""Products of each kind; the first ones fill channels and pipelines."""


class RowProduct(NamedTuple):
    """A product of one row."""

    reduce: bool
    inner: int
    function: Matmul
    piece: int
    """Columns of a tile of a reduction."""


def build(kind: RowProduct, cols: int, graph: Graph) -> Mapping[str, Any]:
    """Adds the products of a ``kind``; returns their data."""
    random = np.random.default_rng(kind.inner)
    tiles, inner = (kind.inner // kind.piece, kind.piece) if kind.reduce else (1, kind.inner)
    shape = [PRODUCTS, tiles] if kind.reduce else [PRODUCTS]
    weights = (cols, inner) if kind.function.transposed else (inner, cols)
    x, w = (
        graph.source(name, tile, shape) for name, tile in (("x", Tile(BF16, 1, inner)), ("w", Tile(BF16, *weights)))
    )
    (x.accum(kind.function, w, name="y") if kind.reduce else x.map(kind.function, w, name="y")).sink("out")
    return {"x": random.standard_normal((*shape, 1, inner)), "w": random.standard_normal((*shape, *weights))}


def program(kinds: list[RowProduct], cols: int, lanes: Mapping[int, int], link: int) -> Program:
    """All of ``kinds``, on so many ``lanes`` by their terms, with a ``link`` of so many bytes."""
    graph, inputs = side_by_side("fused", [partial(build, each, cols) for each in kinds])
    own = {f"s{at}_y": lanes[each.function.terms or 1] for at, each in enumerate(kinds)}
    return Program(
        graph, inputs, FabricConfig(lanes=own, link_bytes=link, page_bytes=1 << 18, scratchpad_bytes=1 << 18)
    )


def cycles(made: Program, count: int) -> list[float]:
    """From one result to the next one, of each product, in the fast model."""
    events = approx.run(made.graph, made.inputs, made.fabric, events=True).events
    assert events is not None
    netlist, found = lower(made.graph, made.fabric), []
    for number in range(count):
        node = next(each for each in netlist.units if each.name == f"s{number}_y")
        (channel,) = netlist.outputs(node)
        assert channel is not None
        seen = events[channel.name]
        times = seen.cycles[seen.control & 2 != 0][2:]
        found.append(float(times[-1] - times[0]) / (len(times) - 1))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inner", type=int, nargs="+", default=[64, 256, 768])
    parser.add_argument("--cols", type=int, default=64)
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--terms", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--piece", type=int, default=64)
    parser.add_argument("--link", type=int, default=4096)
    parser.add_argument("--transposed", action="store_true")
    parser.add_argument("--model", action="store_true", help="by the fast model alone")
    given = parser.parse_args()
    functions = [Matmul(given.transposed), *(Matmul(given.transposed, sum="fused", terms=each) for each in given.terms)]
    kinds = [
        RowProduct(reduce, inner, each, given.piece)
        for reduce in (False, True)
        for inner in given.inner
        for each in functions
    ]
    lanes = {1: given.lanes} | dict.fromkeys(given.terms, given.times * given.lanes)
    made = program(kinds, given.cols, lanes, given.link)
    if not given.model and not compare(made).passed:
        raise SystemExit("RTL and fast model differ")
    found = dict(zip(kinds, cycles(made, len(kinds)), strict=True))
    print(f"| 1 x K x {given.cols} | K | ordered | {' | '.join(f'{each} terms' for each in given.terms)} |")
    print("|---|---|---|" + "---|" * len(given.terms))
    for reduce in (False, True):
        for inner in given.inner:
            ordered, *others = (found[RowProduct(reduce, inner, each, given.piece)] for each in functions)
            cells = " | ".join(f"{each:.0f} ({ordered / each:.1f}x)" for each in others)
            print(f"| {'accum' if reduce else 'map'} | {inner} | {ordered:.0f} | {cells} |")


if __name__ == "__main__":
    main()
