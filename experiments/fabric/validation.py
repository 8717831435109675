"""Fig. 8: the graph of the published validation, on a fabric matched to that of the published timing.

    python -m experiments.fabric.validation --rtl [POINT ...]

Runs the points (of all 15, or those given, such as 64x256) in RTL, on random values, and compares every token with
the fast model and the interpreter; prints cycles beside those of the published HDL. The lanes of products are C++
(``arithmetic="model"``): 2,048 of them in each of three units take Verilator longer to build than all points to run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from experiments.fabric.points import Point
from experiments.published import swiglu
from experiments.published.show.validation import hdl
from step import MemoryConfig, Program
from step_models.fabrics import PUBLISHED, fitting
from step_models.weights import blank_tensors, normal

MATCHED = replace(
    PUBLISHED,
    stages=1,
    link_bytes=128,
    memory=MemoryConfig(beat_bytes=128, channels=2, interval=2, latency=16),
)
"""64 scalars a cycle on a link, from memory to a load, and of all memory, as the validation has: there scalars have
four bytes, here two."""


def program(rows: int, columns: int) -> Program:
    """SwiGLU in tiles of ``rows`` rows, and weights in tiles of ``columns`` columns."""
    graph = swiglu.graph(rows, columns)
    return Program(graph, blank_tensors(graph), fitting(graph, MATCHED))


def validation() -> Iterator[Point]:
    """All 15 tile sizes."""
    for rows in (16, 32, 64):
        for columns in (16, 32, 64, 128, 256):
            yield Point(f"{rows}x{columns}", partial(program, rows, columns))


def simulated(rows: int, columns: int) -> Program:
    """The program in RTL: with values, and C++ in place of the lanes of products."""
    made = program(rows, columns)
    random = np.random.default_rng(0)
    inputs = {name: normal(random, *tensor.shape) for name, tensor in made.graph.tensors.items()}
    return Program(made.graph, inputs, replace(made.fabric, arithmetic="model"))


def main() -> None:
    """Compare points in RTL."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = hdl()
    parser.add_argument("--rtl", action="store_true", required=True, help="run the RTL")
    parser.add_argument("points", nargs="*", metavar="POINT", help="tile sizes, rows x columns; all unless given")
    wanted = parser.parse_args().points or list(known)
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
        found = compare(simulated(rows, columns))
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
