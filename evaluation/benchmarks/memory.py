"""Share of its bandwidth that each kind of memory gives, by the order of the addresses.

    python benchmarks/memory.py [--beats N] [--rtl]

Programs of 16 loads, or 8 loads and 8 stores, that do nothing but keep the memory busy: from one end to the other, at
random tiles of one beat, and with strides of a row's beats. Prints the share of the peak of the data buses that they
get, over the whole run, in the fast model; with --rtl also in RTL, and stops where both differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
from rich.console import Console
from rich.table import Table

from cosim.comparing.compare import compare
from sim_approx import backend as approx
from step import UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.lowering.dram import PRESETS

PORTS = 16
ROW = (1, 16)
"""A tile of one beat of 64 bytes."""

Order = Callable[[int, np.random.Generator], np.ndarray]


def streaming(beats: int, random: np.random.Generator) -> np.ndarray:
    """From one end to the other."""
    return np.arange(beats)


def at_random(beats: int, random: np.random.Generator) -> np.ndarray:
    """Each beat once, in any order."""
    return random.permutation(beats)


def strided(beats: int, random: np.random.Generator) -> np.ndarray:
    """Every 256th, then their neighbours: with 8 channels and rows of 2 KiB, one channel and a row each."""
    return np.arange(beats).reshape(-1, 256).T.reshape(-1)


def program(order: Order, beats: int, writes: int, memory: MemoryConfig) -> Program:
    """``PORTS`` ports that move ``beats`` each, ``writes`` of them to memory."""
    graph, random = Graph(order.__name__), np.random.default_rng(0)
    data = {}
    for port in range(PORTS):
        shape = (beats, 16)
        data[f"at{port}"] = order(beats, random)
        data[f"a{port}"] = np.zeros(shape, np.uint32)
        tensor = graph.tensor(f"a{port}", shape, UINT32)
        places = graph.source(f"at{port}", Tile(UINT32), [beats])
        if port < PORTS - writes:
            places.load_random(tensor, tile=ROW).sink(f"y{port}")
            continue
        data[f"x{port}"] = np.zeros((beats, 1, 16), np.uint32)
        graph.source(f"x{port}", Tile(UINT32, *ROW), [beats]).store_random(tensor, places).sink(f"y{port}")
    # Enough tiles ahead to cover the longest way to memory and back.
    return Program(graph, data, FabricConfig(outstanding=256, memory=memory))


def peak(memory: MemoryConfig) -> float:
    """Beats a cycle of all data buses, or of all ports if these are fewer."""
    return min(PORTS, memory.bandwidth / memory.beat_bytes)


def share(made: Program, beats: int, rtl: bool) -> float:
    """Part of the peak over the whole run."""
    if rtl:
        found = compare(made)
        if not found.passed:
            raise SystemExit(f"{made.graph.name}: RTL and fast model differ")
        cycles = found.exact_cycles
    else:
        cycles = approx.run(made.graph, made.inputs, made.fabric).cycles
    return PORTS * beats / cycles / peak(made.fabric.memory)


def rows(beats: int, rtl: bool = False) -> list[tuple[str, str, str, float]]:
    """Memory, order of the addresses, what is done, and the share of the peak."""
    found = []
    for name, order, (what, writes) in product(
        PRESETS, (streaming, at_random, strided), (("reads", 0), ("writes", PORTS), ("both", PORTS // 2))
    ):
        memory = MemoryConfig.preset(name)
        found.append((name, order.__name__, what, share(program(order, beats, writes, memory), beats, rtl)))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beats", type=int, default=4096, help="of each port, a multiple of 256")
    parser.add_argument("--rtl", action="store_true")
    arguments = parser.parse_args()
    if arguments.beats < 256 or arguments.beats % 256:
        parser.error("--beats must be a multiple of 256")
    table = Table("memory", "addresses", "ports", "share of the peak")
    for memory, order, what, part in rows(arguments.beats, arguments.rtl):
        table.add_row(memory, order, what, f"{part:.1%}")
    Console().print(table)


if __name__ == "__main__":
    main()
