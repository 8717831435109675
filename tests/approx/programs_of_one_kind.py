"""Programs that repeat themselves, as the tests of jumps want them, and programs that one part of a fabric bounds."""

from __future__ import annotations

import numpy as np

from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.functions import Add, Cast, Matmul, RetileRow
from step.language.function import Function
from step.language.graph import Node
from step.language.tokens import DONE, UNKNOWN, Token
from step.language.types import Selector
from step.lowering.netlist import Netlist
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs

FABRIC = FabricConfig(memory=MemoryConfig(channels=32))


def chain(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16), [graph.symbol("N")])
    for _ in range(100):
        x = x.map(Cast(BF16))
    x.sink("y")


def compute(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16), [graph.symbol("N")])
    for _ in range(20):
        x = x.map(Add(), x)
    x.sink("y")


def experts(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16), [graph.symbol("N")])
    which = graph.source("which", Selector(16), x.shape)
    parts = [part.repeat(4) for part in x.partition(which, targets=16)]
    graph.reassemble([part.map(Add(), part).accum(RetileRow()) for part in parts], which).sink("y")


def memory(graph: Graph) -> None:
    """Loads and stores that share the memory, 8 beats a tile."""
    for port in range(8):
        table = graph.tensor(f"t{port}", (16, 1 << 16), BF16)
        x = graph.source(f"x{port}", Tile(BF16), [graph.symbol(f"N{port}")])
        graph.load(table, tile=(16, 16), out=(1,), reference=x).store(f"y{port}")


def timing_of(node: Node, function: Function, reduce: bool) -> Timing:
    return Timing(8, 9) if isinstance(function, Add) else Timing(1, 0)


def bound(netlist: Netlist, count: int) -> BoundInputs:
    """``count`` tokens for every source; the targets of those that route come again and again."""
    streams = {node.name: [*[Token(UNKNOWN)] * count, DONE] for node in netlist.graph if node.operator.name == "source"}
    if "which" in streams:
        streams["which"] = [*[Token(1 << number * number % 16) for number in range(count)], DONE]
    return BoundInputs({}, streams)


def memory_bound(tiles: int) -> Program:
    """Two tensors are read, their copies written, all through one memory channel."""
    graph, data = Graph("memory_bound"), {}
    for name in "ab":
        data[name] = np.ones((16 * tiles, 16))
        graph.load(graph.tensor(name, (16 * tiles, 16), BF16), tile=(16, 16)).store(f"copy_{name}")
    return Program(graph, data, FabricConfig(memory=MemoryConfig(channels=1)))


def compute_bound(tiles: int) -> Program:
    """Products of 16 x 16 tiles."""
    graph = Graph("compute_bound")
    left, right = (graph.source(name, Tile(BF16, 16, 16), [tiles]) for name in ("x", "w"))
    left.map(Matmul(), right).sink("y")
    return Program(graph, {name: np.ones((tiles, 16, 16)) for name in ("x", "w")}, FabricConfig())


def at_random(beats: int, loads: int, stores: int, config: MemoryConfig) -> Program:
    """Ports that move each of ``beats`` of a tensor of their own once, in any order."""
    graph, random, data = Graph("at_random"), np.random.default_rng(0), {}
    for port in range(loads + stores):
        data[f"at{port}"] = random.permutation(beats)
        data[f"a{port}"] = np.zeros((beats, 16), np.uint32)
        tensor = graph.tensor(f"a{port}", (beats, 16), UINT32)
        places = graph.source(f"at{port}", Tile(UINT32), [beats])
        if port < loads:
            places.load_random(tensor, tile=(1, 16)).sink(f"y{port}")
            continue
        data[f"x{port}"] = np.zeros((beats, 1, 16), np.uint32)
        graph.source(f"x{port}", Tile(UINT32, 1, 16), [beats]).store_random(tensor, places).sink(f"y{port}")
    return Program(graph, data, FabricConfig(outstanding=256, memory=config))
