"""Large graphs and long runs on the fast model: seconds until the first cycle, and memory.

Usage: python -m benchmarks.scale [TOKENS]

Large: a routed mixture of experts. Seconds of one core to build the graph, to lower it, to bind its data, for the first
run (which places machines and channels, and packs them for the compiled engine), and for another one with another
memory.
Long: up to so many TOKENS (10,000,000) through ten Maps; the peak is that of the whole process.
"""

from __future__ import annotations

import resource
import sys
import time
from itertools import pairwise

import numpy as np

from sim_approx.backend import Model
from step.functions.cast import Cast
from step.functions.elementwise import Mul
from step.functions.matmul import Matmul
from step.functions.silu import Silu
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs

SIZE = 16
UNITS = 11
"""Of an expert."""
CHOSEN, TOKENS = 2, 256
FABRIC = FabricConfig(memory=MemoryConfig(channels=32))


def expert(graph: Graph, rows: Stream, number: int) -> Stream:
    """SwiGLU on rows of one tile, whose weights are read once per row."""

    def weights(name: str) -> Stream:
        table = graph.tensor(f"{name}{number}", (SIZE, 2 * SIZE), BF16)
        return graph.load(table, tile=(SIZE, SIZE), out=(2,), reference=rows)

    repeated = rows.repeat(2)
    gate = repeated.map(Matmul(out=BF16), weights("gate")).map(Silu())
    up = repeated.map(Matmul(out=BF16), weights("up"))
    result: Stream = gate.map(Mul(), up).accum(Matmul(), weights("down"))
    return result


def mixture(units: int) -> Graph:
    """Every row goes to two experts, of which there are so many that the lowered graph has about ``units``."""
    experts = max(CHOSEN, units // UNITS)
    graph = Graph(f"mixture_{experts}")
    n = graph.symbol("N")
    routes = graph.source("routes", Selector(experts), [n])
    parts = graph.source("x", Tile(BF16, 1, SIZE), [n]).partition(routes, targets=experts)
    graph.reassemble([expert(graph, rows, number) for number, rows in enumerate(parts)], routes).sink("y")
    return graph


def data(graph: Graph) -> dict[str, np.ndarray]:
    """Random routes, and zeros."""
    experts = len(graph.tensors) // 3
    order = np.random.default_rng(0).random((TOKENS, experts)).argsort()
    return {
        "x": np.zeros((TOKENS, 1, SIZE)),
        "routes": order[:, :CHOSEN].astype(np.uint32),
        **{name: np.zeros(tensor.shape) for name, tensor in graph.tensors.items()},
    }


def line(size: int) -> Graph:
    """So many Maps in a row."""
    graph = Graph("line")
    x = graph.source("x", Tile(BF16, 1, 1), [graph.symbol("N")])
    for _ in range(size):
        x = x.map(Cast(BF16))
    x.sink("y")
    return graph


def large(units: int) -> None:
    """Print the seconds of each stage for a graph of so many units."""
    times = [time.process_time()]

    def stage() -> None:
        times.append(time.process_time())

    graph = mixture(units)
    stage()
    netlist = lower(graph, FABRIC)
    stage()
    bound = bind_inputs(netlist.graph, data(graph))
    stage()
    prepared = Model(netlist, bound, engine="compiled")
    prepared.run()
    stage()
    again = prepared.run(memory=MemoryConfig(channels=16))
    stage()
    cells = "".join(f"{after - before:8.3f}" for before, after in pairwise(times))
    print(f"{len(netlist.units):6,}{cells}{sum(again.ending.firings.values()):12,}")


def long(count: int) -> None:
    """Print what a run of so many tokens through ten Maps takes, and another one that jumps over repetitions."""
    netlist = lower(line(10), FABRIC)
    tokens = np.broadcast_to(np.zeros((), BF16.numpy), (count, 1, 1))
    start = time.process_time()
    prepared = Model(netlist, bind_inputs(netlist.graph, {"x": tokens}), engine="compiled")
    run = prepared.run(jump=False)
    seconds = time.process_time() - start
    start = time.process_time()
    prepared.run()
    jumping = time.process_time() - start
    firings = sum(run.ending.firings.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count:13,}{firings:15,}{seconds:9.2f}{firings / seconds / 1e6:14.1f}{peak:10,.0f}{jumping:10.4f}")


def main() -> None:
    """Print a line per size of graph, then one per length of run."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    Model(lower(line(1), FABRIC), bind_inputs(line(1), {"x": [0]}), engine="compiled").run()  # what is loaded once
    print(f"{'units':>6}{'graph':>8}{'lower':>8}{'data':>8}{'first':>8}{'again':>8}{'firings':>12}")
    for units in (100, 1000, 5000):
        large(units)
    print(f"\n{'tokens':>13}{'firings':>15}{'seconds':>9}{'M firings/s':>14}{'peak MB':>10}{'jumping':>10}")
    for count in (most // 100, most // 10, most):
        long(count)


if __name__ == "__main__":
    main()
