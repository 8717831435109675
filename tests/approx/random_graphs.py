"""Random programs with random data, depths, intervals, latencies and memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from drams import random_dram

from step.errors import Deadlock, StreamFault, TypeMismatch
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.language.function import Function
from step.language.graph import Graph, Node
from step.language.stream import Stream
from step.language.tokens import DONE, Token, empty, from_nested
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs
from step.running.interpreter import interpret

SCALAR = Tile(BF16)


@dataclass
class Program:
    """A random program: ``build`` it, then look at its fields."""

    random: Random
    graph: Graph = field(default_factory=lambda: Graph("random"))
    inputs: dict[str, Any] = field(default_factory=dict)
    pool: list[Stream] = field(default_factory=list)
    counter: int = 0

    @property
    def fabric(self) -> FabricConfig:
        """A small memory, so that ports get into each other's way."""
        choose = Random(self.random.random())
        memory = MemoryConfig(2, choose.choice([1, 2, 4]), choose.randint(1, 3), choose.randint(1, 9))
        fabric = FabricConfig(
            outstanding=choose.randint(1, 4),
            link_bytes=choose.choice([1, 2, 4, 64]),
            block_ram_words=choose.choice([1, 4, 32]),
            memory=memory,
            page_bytes=8,
            scratchpad_bytes=8 * choose.choice([16, 16, 64]),
            scratchpad_banks=choose.choice([1, 2, 4]),
            scratchpad_ports=choose.randint(1, 3),
        )
        if choose.random() < 0.6:
            return fabric
        return replace(fabric, memory=replace(memory, interleave=choose.choice([1, 2]), dram=random_dram(choose)))

    def bound(self) -> BoundInputs:
        """The inputs, not checked: some are wrong on purpose."""
        streams = {name: each for name, each in self.inputs.items() if isinstance(each, list)}
        return BoundInputs({name: each for name, each in self.inputs.items() if name not in streams}, streams)

    def name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def pick(self) -> Stream:
        """A stream of the pool, with a channel of random depth."""
        stream = self.random.choice(self.pool)
        return stream.buffered(self.random.randint(2, 6)) if self.random.random() < 0.5 else stream

    def alike(self, stream: Stream) -> Stream:
        """Another stream of the same shape, if there is one."""
        found = [each for each in self.pool if each.shape == stream.shape and each.element == stream.element]
        return self.random.choice(found or [stream])

    def values(self, rank: int, some: bool = False) -> Any:
        """Nested lists of zeros, ``rank`` + 1 levels deep."""
        count = self.random.randint(1 if some else 0, 5 if rank < 2 else 3)
        return [self.values(rank - 1) if rank else np.zeros((1, 1), BF16.numpy) for _ in range(count)]

    def play(self, name: str, element: Any, tokens: list[Token], dims: Any) -> Stream:
        self.inputs[name] = tokens
        stream: Stream = self.graph.source(name, element, dims)
        return stream

    # -- steps: each adds streams to the pool -------------------------------------------------------------------

    def add_source(self) -> None:
        rank = self.random.choice([0, 0, 1, 1, 2])
        name = self.name("x")
        dims = [self.graph.symbol(f"{name}_{level}", ragged=level > 0) for level in range(rank + 1)]
        self.pool.append(self.play(name, SCALAR, from_nested(self.values(rank, some=True), rank), dims))

    def add_twin(self) -> None:
        """A source that promises the shape of another stream, and may break the promise."""
        stream, name = self.random.choice(self.pool), self.name("twin")
        tokens = from_nested(self.values(stream.rank), stream.rank)
        if stream.element == SCALAR:
            self.pool.append(self.play(name, SCALAR, tokens, stream.shape))

    def add_map(self) -> None:
        self.pool.append(self.pick().map(Cast(BF16)))

    def add_join(self) -> None:
        stream = self.pick()
        self.pool.append(stream.map(Add(), self.alike(stream)))

    def add_zip(self) -> None:
        stream = self.pick()
        self.pool.append(stream.zip(self.alike(stream)))

    def add_accum(self) -> None:
        stream = self.pick()
        self.pool.append(stream.accum(Matmul(), self.alike(stream), rank=self.random.randint(1, max(1, stream.rank))))

    def add_reshape(self) -> None:
        data, padding = self.pick().reshape(self.random.randint(1, 4))
        self.pool.append(data)
        if self.random.random() < 0.5:
            padding.sink(self.name("padding"))

    def add_flatten(self) -> None:
        stream = self.pick()
        low = self.random.randint(0, max(0, stream.rank - 1))
        self.pool.append(stream.flatten(low, self.random.randint(low + 1, max(low + 1, stream.rank))))

    def add_promote(self) -> None:
        self.pool.append(self.pick().promote())

    def add_repeat(self) -> None:
        self.pool.append(self.pick().repeat(self.random.randint(1, 4)))

    def add_buffer(self) -> None:
        """Read so often, or once per element of a reduction that is repeated; there may be too little memory."""
        stream = self.pick()
        rank = self.random.randint(1, max(1, min(2, stream.rank)))
        buffers = stream.bufferize(rank=rank)
        if self.random.random() < 0.5:
            self.pool.append(buffers.streamify(count=self.random.choice([None, 1, 2, 3])))
        else:
            total = stream.accum(Matmul(), stream, rank=rank).repeat(self.random.randint(1, 3))
            self.pool.append(buffers.streamify(total))

    def add_row_sum(self) -> None:
        """What softmax does: a reduction joined with what it reduces; the direct path may be too short."""
        stream = self.pick()
        total = stream.accum(Matmul(), stream, rank=1).repeat(1)
        direct = stream.buffered(self.random.choice([2, 3, 5, 8]))
        self.pool.append(total.expand(direct))

    def add_routing(self) -> None:
        """Partition, something per target, reassemble."""
        stream = self.pick()
        rank, targets = self.random.randint(0, stream.rank), self.random.randint(2, 3)
        tokens = self.selectors(stream, rank, targets)
        shape = stream.shape[: len(stream.shape) - rank]
        selector = self.play(self.name("which"), Selector(targets), tokens, shape)
        parts = stream.partition(selector, targets=targets, rank=rank)
        outputs = []
        for part in parts:
            for _ in range(self.random.randint(0, 2)):
                part = part.map(Cast(BF16)) if part.element == SCALAR else part
            outputs.append(part.buffered(self.random.randint(2, 9)))
        order = self.random.choice(["arrival", "arrival", "index"])
        again = selector.buffered(self.random.randint(2, 6))
        self.pool.append(self.graph.reassemble(outputs, again, rank=rank, order=order))

    def add_merge(self) -> None:
        stream = self.pick()
        streams = [stream, *(self.alike(stream) for _ in range(self.random.randint(0, 2)))]
        merged, which = self.graph.eager_merge(
            [each.buffered(self.random.randint(2, 4)) for each in streams], rank=stream.rank
        )
        self.pool += [merged, which][: self.random.randint(1, 2)]

    def add_ones(self) -> None:
        """Generated for a stream, or by themselves."""
        dims = [self.random.randint(1, 3) for _ in range(self.random.randint(0, 1))]
        reference = self.pick() if not dims or self.random.random() < 0.5 else None
        self.pool.append(self.graph.constant(1.0, dims, reference=reference))

    def add_load(self) -> None:
        name, tiles = self.name("t"), self.random.randint(1, 3)
        cols = self.random.choice([1, 1, 3])
        table = self.graph.tensor(name, (2, tiles * cols), BF16)
        self.inputs[name] = np.zeros(table.shape, BF16.numpy)
        reference = self.pick() if self.random.random() < 0.8 else None
        loaded = self.graph.load(table, tile=(1, cols), reference=reference)
        self.pool.append(loaded)

    def selectors(self, stream: Stream, rank: int, targets: int) -> list[Token]:
        """Random selectors for the chunks of ``stream``; now and then one is wrong."""
        spoiled = self.random.random() < 0.05
        tokens = []
        for token in interpret(self.graph, self.bound(), record=True).streams[str(stream)]:
            if token.done or (spoiled and self.random.random() < 0.1):
                tokens.append(DONE)
                break
            if token.rank > rank:
                tokens.append(empty(token.rank - rank, token.stop - rank))
            elif token.stop >= rank:
                tokens.append(Token(self.random.randrange(1 << targets), token.stop - rank))
        return tokens

    def contend(self, steps: int) -> None:
        """As `build`, of what takes turns: at the memory, at scratchpads, and in order of arrival."""
        self.add_source()
        self.build(
            steps,
            [self.add_source, *[self.add_load] * 4, self.add_routing, *[self.add_merge] * 2, *[self.add_buffer] * 2],
        )

    def build(self, steps: int, kinds: Sequence[Callable[[], None]] = ()) -> None:
        """Take random steps, and end all streams in a sink, a store or nothing."""
        self.add_source()
        kinds = kinds or [
            self.add_source, self.add_twin, self.add_map, self.add_map, self.add_join, self.add_join, self.add_zip,
            self.add_accum, self.add_accum, self.add_reshape, self.add_flatten, self.add_promote, self.add_repeat,
            self.add_row_sum, self.add_row_sum, self.add_routing, self.add_routing, self.add_load, self.add_load,
            self.add_buffer, self.add_buffer,
            self.add_merge, self.add_ones,
        ]  # fmt: skip
        for _ in range(steps):
            counter, known = self.counter, set(self.inputs)
            try:
                self.random.choice(kinds)()
            except TypeMismatch:
                assert self.counter >= counter and known <= set(self.inputs)
        read = {stream.key for node in self.graph for stream in node.inputs}
        for stream in self.pool:
            if stream.key in read and self.random.random() < 0.8:
                continue
            if isinstance(stream.element, Tile) and stream.element.is_static and self.random.random() < 0.5:
                stream.store(self.name("y"))
            else:
                stream.sink(self.name("y"))

    def timing_of(self, node: Node, function: Function, reduce: bool) -> Timing:
        """Random, but always the same for a node."""
        choose = Random(node.name)
        return Timing(choose.choice([1, 1, 2, 5]), choose.choice([0, 0, 1, 4, 7]), choose.random() < 0.5)


def built(seed: int, steps: int, build: Callable[[Program, int], None] = Program.build) -> Program | None:
    """A random program of so many steps; None: it can not be built."""
    program = Program(Random(seed))
    try:
        build(program, steps)
    except (StreamFault, Deadlock):
        return None
    return program
