"""Random programs on tiles of dynamic size: both engines are the same, and tiles of equal size are like static ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from same import both, events_of

from sim_approx.backend import simulate
from step import BF16, FabricConfig, Graph, MemoryConfig, Stream, Tile
from step.functions import Cast, Matmul, Mul, RetileRow, RetileStreamify, Silu
from step.lowering.netlist import Netlist, lower
from step.lowering.plans import plan_of
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.running.result import Status

COLS, LARGEST = 8, 9


class Chain:
    """Tiles of so many ``rows`` go through random units; with ``static`` the type says how many.

    ``everywhere``: every unit gets a tile, of two at least; none is split into columns, which wait for all of a tile of
    dynamic size, and no order follows from times.
    """

    def __init__(self, random: Random, rows: list[int], *, static: bool = False, everywhere: bool = False) -> None:
        self.random, self.graph, self.inputs = random, Graph("chain"), dict[str, Any]()
        values = np.random.default_rng(random.randrange(1 << 30))
        extent = rows[0] if static else self.graph.symbol("rows", ragged=True)
        x = self.graph.source("x", Tile(BF16, 1, COLS), [len(rows), extent])
        self.inputs["x"] = [[values.random((1, COLS)).astype(BF16.numpy) for _ in range(each)] for each in rows]
        self.count, self.values, self.everywhere = len(rows), values, everywhere
        tiles = x.accum(RetileRow(), name="tile")
        steps = [self.silu, self.square, self.product, self.again, self.around, self.routed]
        steps += [] if everywhere else [self.split, self.merged]
        for step in random.choices(steps, k=random.randint(1, 6)):
            tiles = step(tiles.buffered(random.randint(2, 6)))
            if random.random() < 0.2:
                tiles.map(Silu()).flat_map(RetileStreamify(1, "row")).sink(f"side{len(self.graph.nodes)}")
        tiles.flat_map(RetileStreamify(1, "row", random.choice([0, 1]))).sink("y")

    def silu(self, tiles: Stream) -> Stream:
        return tiles.map(Silu())

    def square(self, tiles: Stream) -> Stream:
        return tiles.map(Mul(out=BF16), tiles.buffered(self.random.randint(2, 4)))

    def product(self, tiles: Stream) -> Stream:
        name = f"w{len(self.inputs)}"
        self.inputs[name] = self.values.random((COLS, COLS)).astype(BF16.numpy)
        weight = self.graph.load(self.graph.tensor(name, (COLS, COLS), BF16), tile=(COLS, COLS), reference=tiles)
        return tiles.map(Matmul(out=BF16), weight.flatten(0, 2))

    def split(self, tiles: Stream) -> Stream:
        """A product in pieces, whose sums have as many rows as the tile."""
        pieces = tiles.flat_map(RetileStreamify(COLS // 2, "col", rank=1))
        name = f"w{len(self.inputs)}"
        self.inputs[name] = self.values.random((self.count, 2, COLS // 2, COLS)).astype(BF16.numpy)
        weight = self.graph.source(name, Tile(BF16, COLS // 2, COLS), [self.count, 2])
        return pieces.accum(Matmul(), weight).map(Cast(BF16))

    def again(self, tiles: Stream) -> Stream:
        """As many as before: each comes twice, and every other one is dropped."""
        name = f"s{len(self.inputs)}"
        self.inputs[name] = [self.random.choice([[0], [1]]) for _ in range(2 * self.count)]
        which = self.graph.selectors(name, 2, [2 * self.count])
        twice = tiles.repeat(2).flatten(0, 1)
        back = self.graph.reassemble(twice.partition(which, targets=2), which)
        both_of_them = back.flatten(0, 1).assume_shape([2 * self.count])
        return both_of_them.partition(self.turns(2 * self.count), targets=2)[0].assume_shape([self.count])

    def around(self, tiles: Stream) -> Stream:
        return tiles.promote().flatten(0, 1)

    def routed(self, tiles: Stream) -> Stream:
        """To some of the targets, also to none, one of which nobody reads."""
        name = f"s{len(self.inputs)}"
        self.inputs[name] = self.values.random((self.count, 2)) < 0.5
        self.inputs[name][0] |= self.everywhere
        which = self.graph.selectors(name, 2, [self.count])
        first, second = tiles.partition(which, targets=2)
        if self.random.random() < 0.5:
            first.flat_map(RetileStreamify(1, "row")).sink(f"part{len(self.graph.nodes)}")
        else:
            order = "index" if self.everywhere else self.random.choice(["arrival", "index"])
            back = self.graph.reassemble([first.map(Silu()), second], which, order=order)
            back.flatten(0, 1).flat_map(RetileStreamify(1, "row")).sink(f"back{len(self.graph.nodes)}")
        return tiles

    def merged(self, tiles: Stream) -> Stream:
        """Of two streams, whose tiles may have other rows as far as types say."""
        parts = tiles.partition(self.turns(self.count), targets=2)
        again = parts[1].flat_map(RetileStreamify(1, "row", 1)).accum(RetileRow())
        data, _ = self.graph.eager_merge([parts[0].map(Silu()), self.random.choice([parts[1].map(Silu()), again])])
        return data.assume_shape([self.count])

    def turns(self, count: int) -> Stream:
        return self.graph.turns(2, dims=[count])


def fabric(random: Random) -> FabricConfig:
    return FabricConfig(
        link_bytes=random.choice([4, 16, 64]),
        matmul_lanes=random.choice([1, 16]),
        vector_lanes=random.choice([2, 16]),
        channel_depth=random.choice([2, 5]),
        block_ram_words=random.choice([8, 512]),
        memory=MemoryConfig(channels=1, latency=random.randint(1, 30)),
    )


def sizes(random: Random) -> list[int]:
    return [random.choice([0, 1, 2, random.randint(3, LARGEST)]) for _ in range(random.randint(1, 6))]


def engines(seed: int) -> Status:
    """A random program on both engines, also with all values, and cut off somewhere."""
    random = Random(seed)
    chain, config = Chain(random, sizes(random)), fabric(random)
    netlist, data = lower(chain.graph, config), bind_inputs(chain.graph, chain.inputs)
    status = both(netlist, data)
    both(netlist, data, max_cycles=random.randint(1, 200))
    return both(netlist, data, values="all") if seed % 3 == 0 else status


def as_static(seed: int) -> Status:
    """Tiles of dynamic size that all have the most rows are in the cycles of static ones.

    What is no value may be earlier, and a value that waits for it. Products may begin later, as others with fewer rows
    would have to; the next one does not wait for that.
    """
    random = Random(seed)
    rows, state = [random.randint(1, LARGEST)] * random.randint(2, 5), random.getstate()
    programs = [lowered(random, state, rows, static=static) for static in (True, False)]
    fixed, dynamic = (latencies(netlist) for netlist, _ in programs)
    later = sum(max(0, dynamic[name] - latency) for name, latency in fixed.items())
    runs = [simulate(*program, events=True) for program in programs]
    one, other = ({name: values(*each[:2]) for name, each in (events_of(run) or {}).items()} for run in runs)
    assert one.keys() == other.keys()
    for name, cycles in one.items():
        assert all(late + later >= early for late, early in zip(cycles, other[name], strict=True)), name
    return runs[0].ending.status


def latencies(netlist: Netlist) -> dict[str, int]:
    """Of all products."""
    found = {}
    for node in netlist.units:
        if isinstance(node.operator.function, Matmul):
            found[node.name] = plan_of(node, netlist.at(node)).latency
    return found


def values(cycles: list[int], controls: list[int]) -> list[int]:
    """The ``cycles`` of values."""
    return [cycle for cycle, control in zip(cycles, controls, strict=True) if control & 2]


def lowered(random: Random, state: Any, rows: list[int], *, static: bool) -> tuple[Netlist, BoundInputs]:
    """The program that follows from the ``state`` of ``random``."""
    random.setstate(state)
    chain = Chain(random, rows, static=static, everywhere=True)
    netlist = lower(chain.graph, replace(fabric(random), dynamic_rows=rows[0]))
    return netlist, bind_inputs(chain.graph, chain.inputs)


@pytest.mark.parametrize("check", [engines, as_static])
def test_random(check: Any) -> None:
    endings = Counter(check(seed) for seed in range(40))
    assert endings[Status.FINISHED] > 15, endings


@pytest.mark.slow
@pytest.mark.parametrize("check", [engines, as_static])
@pytest.mark.parametrize("block", range(10))
def test_many_random(check: Any, block: int) -> None:
    for seed in range(1000 + block * 100, 1100 + block * 100):
        check(seed)
