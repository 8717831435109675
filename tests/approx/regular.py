"""Random programs of regular phases, for the engine that jumps over repetitions."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from random_graphs import SCALAR, Program, built

from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.language.dtypes import BF16
from step.language.function import Function
from step.language.graph import Graph, Node
from step.language.stream import Stream
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs, bind_inputs

LONGEST = 100_000


def repeated(data: BoundInputs, times: int) -> BoundInputs:
    """``data`` whose streams have their tokens so many times, and are no longer what they promised, perhaps."""
    streams = {name: [*list(tokens)[:-1] * times, tokens[-1]] for name, tokens in data.streams.items()}
    return BoundInputs(data.tensors, streams)


def random_phases(seed: int) -> tuple[Program, Netlist, BoundInputs] | None:
    """A random program whose streams repeat themselves, and a memory that can; None: it can not be built."""
    program = built(seed, 3 + seed % 12, Program.contend if seed % 3 == 0 else Program.build)
    if program is None:
        return None
    fabric = replace(program.fabric, memory=replace(program.fabric.memory, dram=None))
    return program, lower(program.graph, fabric), repeated(program.bound(), 150)


def walks(seed: int, memory: MemoryConfig | None = None) -> tuple[Netlist, BoundInputs]:
    """Loads that go many ways over their tensors, at once or for every element of a stream, and stores."""
    random = Random(seed)
    graph, inputs = Graph("walks"), dict[str, Any]()
    for port in range(random.randint(1, 4)):
        cols = random.choice([1, 4, 8])
        tiles = random.choice([12, 96, 1024])
        table = graph.tensor(f"t{port}", (2, tiles * cols), BF16)
        inputs[table.name] = np.broadcast_to(np.zeros((), BF16.numpy), table.shape)
        streamed = random.random() < 0.5
        out = [random.choice([1, 2, 3, 4]) for _ in range(2)]
        if streamed:
            name = f"x{port}"
            reference = graph.source(name, SCALAR, [graph.symbol(f"N{port}"), random.randint(1, 4)])
            inputs[name] = np.zeros((random.choice([200, 2000]), int(reference.shape[-1]), 1, 1), BF16.numpy)
        else:
            reference = None
            out.insert(random.randint(0, 2), random.choice([30, 1000, 4000]))
        stride = [random.choice([0, 0, 1, -1, 2, tiles // (4 * each) or 1]) for each in out]
        stride = [step if abs(step) * (each - 1) < tiles // 4 else 0 for step, each in zip(stride, out, strict=True)]
        if not streamed and random.random() < 0.5:
            out, stride = [tiles], [1]
        lowest = sum(min(0, step * (each - 1)) for step, each in zip(stride, out, strict=True))
        loaded = graph.load(
            table, tile=(2, cols), out=tuple(out), stride=tuple(stride), offset=-lowest, reference=reference
        )
        _end(graph, loaded, port, random)
    fabric = FabricConfig(
        outstanding=random.randint(1, 8),
        link_bytes=random.choice([4, 8]),
        memory=memory
        or MemoryConfig(
            8, random.choice([1, 2, 8]), random.randint(1, 3), random.randint(1, 40), random.choice([1, 2, 4])
        ),
    )
    netlist = lower(graph, fabric)
    return netlist, bind_inputs(netlist.graph, inputs)


def _end(graph: Graph, stream: Stream, port: int, random: Random) -> None:
    if random.random() < 0.7:
        stream = stream.map(Add(), stream) if random.random() < 0.5 else stream.map(Cast(BF16))
    if random.random() < 0.5:
        stream.store(f"y{port}")
    else:
        stream.sink(f"y{port}")


def timing_of(node: Node, function: Function, reduce: bool) -> Timing:
    """Some functions are slower than others, so that what they read waits in the memory's ports."""
    choose = Random(node.name)
    return Timing(choose.choice([1, 2, 7]), choose.choice([0, 3, 9]))
