"""Shares of a link, the memory and the lanes that programs reach which are bound by one of them.

    python benchmarks/bandwidth.py [--tiles N]

Runs each program in RTL and in the fast model, which must agree in every token's cycle. Prints what is moved or
computed, the cycles of the whole run, and the share of the peak.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.functions import Matmul

TILE = Tile(BF16, 16, 16)


@dataclass(frozen=True)
class PeakRate:
    """A program that moves or computes ``work`` units, of which ``peak`` are possible in a cycle."""

    program: Program
    what: str
    work: int
    peak: int

    def share(self, cycles: int) -> float:
        """Part of the peak, over a run of ``cycles``."""
        return self.work / (self.peak * cycles)


def link_bound(tiles: int) -> PeakRate:
    """Tiles through a chain of units that only route and shape."""
    graph = Graph("link_bound")
    stream = graph.source("x", TILE, [tiles]).promote().flatten(0, 1).reshape(1)[0].flatten(0, 1)
    stream.sink("y")
    data = {"x": np.ones((tiles, 16, 16))}
    return PeakRate(Program(graph, data, FabricConfig()), "bytes on a link of 64 bytes a cycle", tiles * 512, 64)


def memory_bound(tiles: int) -> PeakRate:
    """Two tensors are read, their copies written, all through one memory channel."""
    graph, data = Graph("memory_bound"), {}
    for name in "ab":
        data[name] = np.ones((16 * tiles, 16))
        graph.load(graph.tensor(name, (16 * tiles, 16), BF16), tile=(16, 16)).store(f"copy_{name}")
    fabric = FabricConfig(memory=MemoryConfig(channels=1))
    return PeakRate(
        Program(graph, data, fabric), "bytes of one memory channel of 64 bytes a cycle", 4 * tiles * 512, 64
    )


def random_bound(tiles: int) -> PeakRate:
    """A program as of `memory_bound`, with tiles that are read and written at addresses in any order."""
    graph, data = Graph("random_bound"), dict[str, np.ndarray]()
    random = np.random.default_rng(0)
    for name in "ab":
        data[name] = data[f"copy_{name}"] = np.ones((16 * tiles, 16))
        data[f"from_{name}"], data[f"to_{name}"] = random.permutation(tiles), random.permutation(tiles)
        source, copy = (graph.tensor(each, (16 * tiles, 16), BF16) for each in (name, f"copy_{name}"))
        read = graph.source(f"from_{name}", Tile(UINT32), [tiles]).load_random(source, tile=(16, 16))
        read.store_random(copy, graph.source(f"to_{name}", Tile(UINT32), [tiles]))
    fabric = FabricConfig(memory=MemoryConfig(channels=1))
    return PeakRate(
        Program(graph, data, fabric), "bytes of one memory channel of 64 bytes a cycle", 4 * tiles * 512, 64
    )


def compute_bound(tiles: int) -> PeakRate:
    """Products of 16 x 16 tiles."""
    graph = Graph("compute_bound")
    left, right = (graph.source(name, TILE, [tiles]) for name in ("x", "w"))
    left.map(Matmul(), right).sink("y")
    data = {name: np.ones((tiles, 16, 16)) for name in ("x", "w")}
    fabric = FabricConfig()
    return PeakRate(
        Program(graph, data, fabric), "multiply-accumulates on 64 lanes", tiles * 16**3, fabric.matmul_lanes
    )


BOUNDS: tuple[Callable[[int], PeakRate], ...] = (link_bound, memory_bound, random_bound, compute_bound)


def modelled(bound: PeakRate) -> float:
    """The share of the peak in the fast model."""
    program = bound.program
    return bound.share(approx.run(program.graph, program.inputs, program.fabric).cycles)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, default=200)
    arguments = parser.parse_args()
    for make in BOUNDS:
        bound = make(arguments.tiles)
        found = compare(bound.program)
        if not found.passed:
            raise SystemExit(f"{bound.program.name}: RTL and fast model differ")
        cycles = found.exact_cycles
        print(f"{bound.program.name}: {cycles:,} cycles, {bound.work:,} {bound.what}: {bound.share(cycles):.1%}")


if __name__ == "__main__":
    main()
