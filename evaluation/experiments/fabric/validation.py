"""Fig. 8: the graph of the published validation, on a fabric matched to that of the published timing.

Tiles come in pieces, as in the published HDL, which cuts all of them into 16 x 16: a piece is multiplied while the next
one comes, and tiles of activations are read again from the chip. The traffic is that of whole tiles.

    python -m experiments.fabric.validation --rtl [--dram] [POINT ...]

Runs the points (of all 15, or those given, such as 64x256) in RTL, on random values, and compares every token with
the fast model and the interpreter; prints cycles beside those of the published HDL. The lanes of products are C++
(``arithmetic="model"``): 2,048 of them in each of three units take Verilator longer to build than all points to run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from experiments.fabric.points import FabricPoint
from experiments.published import swiglu
from experiments.published.show.validation import hdl
from step import BF16, FabricConfig, Graph, MemoryConfig, Program, Stream
from step.functions import Matmul, Mul, Silu
from step_models.fabrics import PUBLISHED, fitting
from step_models.weights import blank_tensors, normal

MATCHED = replace(
    PUBLISHED, stages=1, link_bytes=128, memory=MemoryConfig(beat_bytes=128, channels=2, interval=2, latency=16)
)
"""64 scalars a cycle on a link, from memory to a load, and of all memory, as the validation has: there scalars have
four bytes, here two."""

ON_DRAM = replace(MATCHED, memory=MemoryConfig.preset("hbm2_2gb", channels=4, beat_bytes=128))
"""The same on the DRAM of the published HDL: half of its channels, as scalars have half of the bytes."""

DEPTH, WIDTH = 128, 32
"""Extents of a piece along D and F, at most."""

Extents = tuple[int, ...]


def graph(
    rows: int,
    columns: int,
    *,
    batch: int = 64,
    hidden: int = 256,
    inner: int = 512,
    depth: int = DEPTH,
    width: int = WIDTH,
) -> Graph:
    """Graph like `swiglu.graph`, with sums in the same order, in pieces of ``depth`` along D and ``width`` along F."""
    made = Graph(f"swiglu_{rows}_{columns}_pieces")
    m, f, d = batch // rows, inner // columns, hidden // depth
    width = min(width, columns)
    n = columns // width

    def load(name: str, shape: Extents, tile: Extents, out: Extents, stride: Extents) -> Stream:
        return made.load(made.tensor(name, shape, BF16), tile=tile, out=out, stride=stride, name=f"load_{name}")

    x = load("x", (batch, hidden), (rows, depth), (m, f, d), (d, 0, 1)).bufferize(name="x").streamify(count=n)
    gate = load("gate", (hidden, inner), (depth, width), (m, f, n, d), (0, n, 1, f * n))
    up = load("up", (hidden, inner), (depth, width), (m, f, n, d), (0, n, 1, f * n))
    down = load("down", (inner, hidden), (width, hidden), (m, f * n), (0, 1))
    gates = x.accum(Matmul(), gate, name="gate_projection").map(Silu(out=BF16), name="activation")
    ups = x.accum(Matmul(), up, name="up_projection")
    state = gates.map(Mul(out=BF16), ups, name="gated").flatten(0, 1, name="blocks")
    state.accum(Matmul(), down, name="down_projection").store("y")
    return made


def program(rows: int, columns: int, fabric: FabricConfig = MATCHED) -> Program:
    """SwiGLU in tiles of ``rows`` rows, and weights in tiles of ``columns`` columns, in pieces."""
    return _matched(graph(rows, columns), fabric)


def whole(rows: int, columns: int) -> Program:
    """The program with tiles in one piece, as the published graph has them."""
    return _matched(swiglu.graph(rows, columns), MATCHED)


def _matched(graph: Graph, fabric: FabricConfig) -> Program:
    return Program(graph, blank_tensors(graph), fitting(graph, fabric))


def validation(made: Callable[[int, int], Program] = program) -> Iterator[FabricPoint]:
    """All 15 tile sizes."""
    for rows in (16, 32, 64):
        for columns in (16, 32, 64, 128, 256):
            yield FabricPoint(f"{rows}x{columns}", partial(made, rows, columns))


def on_dram() -> Iterator[FabricPoint]:
    """The same points on DRAM."""
    return validation(partial(program, fabric=ON_DRAM))


def simulated(rows: int, columns: int, fabric: FabricConfig = MATCHED) -> Program:
    """The program in RTL: with values, and C++ in place of the lanes of products."""
    made = program(rows, columns, fabric)
    random = np.random.default_rng(0)
    inputs = {name: normal(random, *tensor.shape) for name, tensor in made.graph.tensors.items()}
    return Program(made.graph, inputs, replace(made.fabric, arithmetic="model"))


def main() -> None:
    """Compare points in RTL."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = hdl()
    parser.add_argument("--rtl", action="store_true", required=True, help="run the RTL")
    parser.add_argument("--dram", action="store_true", help="on the DRAM of the published HDL, not the ideal memory")
    parser.add_argument("points", nargs="*", metavar="POINT", help="tile sizes, rows x columns; all unless given")
    arguments = parser.parse_args()
    wanted = arguments.points or list(known)
    for each in wanted:
        if each not in known:
            parser.error(f"there is no point {each!r}; there are {', '.join(known)}")
    from cosim.comparing.compare import compare

    print(
        "| tile | RTL | fast model | tokens | off time | published HDL | error | s |\n|---|---|---|---|---|---|---|---|"
    )
    errors = []
    for each in wanted:
        started = time.perf_counter()
        rows, columns = map(int, each.split("x"))
        found = compare(simulated(rows, columns, ON_DRAM if arguments.dram else MATCHED))
        if not found.passed:
            raise SystemExit(f"{each}: RTL, fast model and interpreter differ")
        errors.append(found.exact_cycles / known[each] - 1)
        cells = [
            each,
            f"{found.exact_cycles:,}",
            f"{found.approximate_cycles:,}",
            f"{found.tokens:,}",
            f"{found.mismatches:,}",
        ]
        cells += [f"{known[each]:,}", f"{errors[-1]:+.1%}", f"{time.perf_counter() - started:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"mean error {sum(map(abs, errors)) / len(errors):.1%}")


if __name__ == "__main__":
    main()
