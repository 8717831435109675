"""The matrix product on words: the right bits, word by word, exactly `latency` cycles behind a start."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import patterns
import pytest
from cases import cases
from grids import samples
from scripted import GAPS, Script
from verilated import HARMLESS, Verilated, kinds, lint

from cosim.synthesis.estimate import Counts
from hw.functions import matmul as matmul
from hw.functions.datapath import HARDWARE, Datapath
from hw.functions.matmul_datapath import MatmulDatapath
from hw.functions.model import SOURCES
from hw.verilog.convert import ModuleLibrary
from step.functions.matmul import Matmul
from step.language.dims import dim
from step.language.dtypes import BF16, INT8, INT32
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.blocks import Arrangement, arrange
from step.lowering.plans.matmul import plan
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.plan import Application

HOWS = {
    "map": (Matmul(), False),
    "map transposed to bf16": (Matmul(True, BF16), False),
    "map to bf16": (Matmul(False, BF16), False),
    "accum": (Matmul(), True),
    "accum transposed": (Matmul(True), True),
    "map of int8": (Matmul(out=INT32), False),
    "accum of int8, transposed": (Matmul(True, INT32), True),
    "map of int8 by int4": (Matmul(out=INT32, bits=4), False),
    "accum of int8 by int4": (Matmul(out=INT32, bits=4), True),
    "map of int8 by int4, transposed": (Matmul(True, INT32, bits=4), False),
    "map of 4 terms": (Matmul(sum="fused", terms=4), False),
    "map of 8 terms": (Matmul(sum="fused", terms=8), False),
    "map of 8 terms transposed to bf16": (Matmul(True, BF16, "fused", 8), False),
    "accum of 4 terms": (Matmul(sum="fused", terms=4), True),
    "accum of 16 terms": (Matmul(sum="fused"), True),
    "accum of 16 terms transposed": (Matmul(True, sum="fused"), True),
}


@dataclass(frozen=True)
class Case:
    """A product ``[rows, inner] x [inner, cols]`` on a fabric."""

    rows: int
    inner: int
    cols: int
    how: str
    fabric: FabricConfig

    @property
    def function(self) -> Matmul:
        return HOWS[self.how][0]

    @property
    def application(self) -> Application:
        """Columns of which two lie in an INT8 are an even number."""
        function, reduce = HOWS[self.how]
        rows, cols = (self.cols, self.inner) if function.transposed else (self.inner, self.cols)
        packed = -(-cols * function.bits // 8)
        inner = 2 * packed if function.transposed and function.bits == 4 else self.inner
        dtype = INT8 if function.out is INT32 else BF16
        operands = Tile(dtype, self.rows, inner), Tile(dtype, rows, packed)
        result = function.state_type((dim(2),), *operands) if reduce else function.result_type(*operands)
        return Application(operands, result, self.fabric, reduce)

    def plan(self) -> MatmulPlan:
        return plan(self.function, self.application)

    def path(self, **changes: int) -> Datapath:
        path: Datapath = HARDWARE[Matmul](replace(self.plan(), **changes))
        return path

    def script(self, path: Datapath, count: int, random: Random, gaps: list[int]) -> Script:
        """``count`` elements as soon as they may come, and later by ``gaps`` in turn.

        Of a reduction, states leave with elements and behind them, also some to which nothing was added.
        """
        script, application, link = Script(path), self.application, self.fabric.link_bytes
        result = application.result
        assert isinstance(result, Tile)
        values = np.random.default_rng(random.randrange(1 << 30))
        words = -(-result.bits // (8 * link))
        zeros = np.zeros((int(result.rows), int(result.cols)), result.dtype.numpy)
        at, emitted, fresh, state = 0, -words, True, zeros

        def emits(cycle: int) -> None:
            nonlocal emitted, fresh, state
            script.result(cycle, state, result, link)
            emitted, fresh, state = cycle, True, zeros

        for number in range(count):
            at += gaps[number % len(gaps)]
            if application.reduce and random.random() < 0.4:
                at = max(at, emitted + words)
                script.give(at, emit=1, first=fresh)
                emits(at)
                at += 1
            leaves = not application.reduce or random.random() < 0.5
            at = max(at, emitted + words) if application.reduce and leaves else at
            script.give(at, start=1, **({"first": fresh, "emit": leaves} if application.reduce else {}))
            operands = [patterns.tile(values, each) for each in application.inputs if isinstance(each, Tile)]
            for port, (value, element) in enumerate(zip(operands, application.inputs, strict=True)):
                assert isinstance(element, Tile)
                script.operand(port, at, value, element, link)
            fresh = False
            state = self.function.update(state, *operands) if application.reduce else self.function.apply(*operands)
            if leaves:
                emits(at)
            at += path.initiation_interval
        if application.reduce:
            script.give(at + words, emit=1, first=fresh)
            emits(at + words)
        return script


def fabric(lanes: int, link: int, **more: object) -> FabricConfig:
    return FabricConfig(matmul_lanes=lanes, link_bytes=link, **more)  # type: ignore[arg-type]


PRODUCTS = [
    (4, 4, 4, fabric(16, 8, stages=1)),  # a block is the whole result
    (4, 4, 4, fabric(4, 8, stages=4)),  # a block for every stage
    (4, 4, 4, fabric(2, 64, stages=2)),  # more blocks than stages, everything one word
    (4, 1, 4, fabric(4, 2, stages=4)),  # longer on its way out than it takes
    (1, 6, 4, fabric(2, 1, stages=1)),  # half a scalar in a word
    (3, 5, 7, fabric(8, 16, stages=4)),  # nothing fits
    (2, 7, 4, fabric(8, 64, stages=4)),  # four products share a turn
    (4, 4, 4, fabric(4, 64, stages=6)),  # two products of four blocks share a turn
    (2, 7, 4, fabric(8, 64, stages=8)),  # eight share one
    (3, 3, 5, fabric(8, 64, stages=4)),  # two share one that is longer than a sum
    (9, 3, 2, fabric(4, 16, stages=2)),  # groups of rows, and the last one is larger
    (2, 21, 3, fabric(32, 16, stages=3)),  # several steps of fused terms, of which the last one has fewer
    (3, 33, 2, fabric(1, 64, stages=4)),
]
"""Rows, inner extent and columns, and the fabric."""


@samples(product=range(len(PRODUCTS)), how=HOWS, gaps=GAPS)
def test_matmul(product: int, how: str, gaps: list[int]) -> None:
    rows, inner, cols, on = PRODUCTS[product]
    case = Case(rows, inner, cols, how, on)
    assert case.script(case.path(), 7, Random(3), gaps).wrong() == []


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1, 2])
def test_block_ram(seed: int) -> None:
    """Some memories or all of them are block RAM, from which scalars, sums and words come a cycle later."""
    random, seen = Random(seed), set()
    while len(seen) < 4:
        case = any_case(random, 6)
        path = case.path(deep=random.choice([1, 4, 10]))
        assert isinstance(path, MatmulDatapath)
        kinds = {
            *("operand" for deep in path.plan.deep_operands if deep),
            *(["lut operand"] if any(path.plan.deep_operands) and not all(path.plan.deep_operands) else []),
            *(["sums"] if path.plan.deep_sums else []),
            *(["state" if case.application.reduce else "result"] if path.plan.deep_results else []),
        }
        if not kinds <= seen:
            assert case.script(path, 6, random, [0, random.randrange(9), 0]).wrong() == [], case
            seen |= kinds


def test_a_state_leaves_whole_however_soon_others_follow() -> None:
    """It takes twice as long to leave as the next one to come, in words that have scalars of all blocks."""
    case = Case(8, 1, 3, "accum", fabric(8, 16, stages=1))
    assert case.script(case.path(), 40, Random(1), [0]).wrong() == []


def any_case(random: Random, most: int) -> Case:
    """Any shape, on any fabric."""
    rows, inner, cols = (random.randint(1, most) for _ in range(3))
    lanes, link = random.choice([1, 2, 3, 4, 8, 50]), random.choice([1, 2, 4, 8, 16, 64])
    how = random.choice(list(HOWS))
    inner *= random.randint(1, 1 + 2 * ("terms" in how))
    return Case(rows, inner, cols, how, fabric(lanes, link, stages=random.randint(1, 4)))


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2, 3))])
def test_random_shapes(seed: int) -> None:
    random = Random(seed)
    for _ in range(6):
        case = any_case(random, 4)
        assert case.script(case.path(), 6, random, [random.randrange(9), 0, 0]).wrong() == [], case


def tied(shape: Arrangement, lanes: int) -> list[Arrangement]:
    """All arrangements that take as long on as few lanes."""
    cuts = itertools.product(range(1, shape.rows + 1), range(1, shape.cols + 1))
    every = [replace(shape, block_rows=down, block_cols=across) for down, across in cuts if down * across <= lanes]
    every = [replace(each, group=each.row_blocks) for each in every]
    cost = [(max(each.blocks, each.stages), each.lanes, each.blocks) for each in every]
    return [each for each, its in zip(every, cost, strict=True) if its == min(cost)]


@pytest.mark.parametrize("how", ["map", "map to bf16", "accum"])
def test_blocks_that_are_as_good_take_as_long(how: str) -> None:
    """A plan chooses the widest blocks; others of as many lanes keep up with them, and their words leave no sooner."""
    case = Case(4, 3, 4, how, fabric(4, 8, stages=4))
    found = case.plan()
    shapes = tied(found.arrangement, 4)
    assert [(each.block_rows, each.block_cols) for each in shapes] == [(1, 4), (2, 2), (4, 1)]
    assert (found.arrangement.block_rows, found.arrangement.block_cols) == (1, 4)
    for shape in shapes:
        other = replace(found, arrangement=shape)
        assert other.initiation_interval == found.initiation_interval and other.latency >= found.latency
        assert case.script(MatmulDatapath(other), 7, Random(3), [0]).wrong() == []


def test_ties_are_broken_in_one_way() -> None:
    """The blocks of the chosen arrangement are the widest of all that take as long, whatever the shape."""
    random = Random(5)
    for _ in range(300):
        rows, cols, lanes = (random.randint(1, 16) for _ in range(3))
        shape = arrange(rows, 2, cols, lanes, random.randint(1, 4), 1, shares=False, fewer=False)
        assert shape == max(tied(shape, lanes), key=lambda each: each.block_cols)


@cases(
    (1, 4, 4096, 1, 1, 4088), (16, 4, 256, 16, 1, 248), (64, 4, 64, 64, 5, 72), (64, 1, 64, 64, 2, 56),
    (256, 4, 64, 64, 5, 72), (256, 2, 32, 128, 7, 42), (256, 1, 16, 256, 8, 26), (4096, 1, 16, 256, 8, 26),
)  # fmt: skip
def test_a_square_matmul_takes_its_multiplications_over_lanes(
    lanes: int, stages: int, computes: int, used: int, begin: int, latency: int
) -> None:
    """As long as there are as many blocks of sums as an addition has stages; more lanes are not made.

    It begins before all 8 words of its operands came, and its result leaves before all of its sums are there.
    """
    case = Case(16, 16, 16, "accum", fabric(lanes, 64, stages=stages))
    path = case.path()
    assert isinstance(path, MatmulDatapath)
    assert path.initiation_interval == computes and path.plan.arrangement.lanes == used
    assert (path.plan.begin, path.latency) == (begin, latency)


@cases(("map", 64, 16), ("map", 8, 128), ("map to bf16", 8, 64), ("accum", 8, 64), ("map", 4, 256))
def test_the_link_limits_a_matmul(how: str, link: int, interval: int) -> None:
    """16 cycles of work for 512 bytes of each operand and 1024 of the result; that of a reduction need not leave."""
    case = Case(16, 16, 16, how, fabric(256, link, stages=1))
    assert case.path().initiation_interval == interval


def test_nothing_has_a_register_for_every_bit_of_a_tile() -> None:
    """There are registers for what the lanes work on, and memories for tiles, of which the right one is there once."""
    library = ModuleLibrary(named=False)
    library.require(Case(16, 16, 16, "map", fabric(64, 64)).path())
    texts = library.texts()
    stems = ("matmul_", "assembly", "corner_turn")
    counts = [Counts.of(texts[name].text) for name in texts if name.startswith(stems)]
    registers = sum(each.bits["register"] for each in counts)
    lanes, scalars, control = 64 * 32, (4 + 16) * 16, 40
    assert lanes + scalars < registers < lanes + scalars + control
    assert sum(width * depth for each in counts for width, depth in each.memories) == 2 * 4096 + 4096 + 8192


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["rtl", "model"])
@pytest.mark.parametrize("how", ["map to bf16", "accum transposed", "accum of 4 terms", "accum of 16 terms transposed"])
@cases((16, 16, 16, 64, 64), (16, 16, 16, 64, 1024), (3, 5, 7, 50, 4))
def test_in_verilator(
    rows: int, inner: int, cols: int, lanes: int, link: int, how: str, arithmetic: str, tmp_path: Path
) -> None:
    case = Case(rows, inner, cols, how, fabric(lanes, link, arithmetic=arithmetic))
    path = case.path()
    program = Verilated(path, tmp_path, SOURCES if arithmetic == "model" else ())
    for gaps in GAPS:
        assert case.script(path, 100, Random(4), gaps).wrong(program) == []


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["rtl", "model"])
def test_verilog_has_only_harmless_warnings(arithmetic: str, tmp_path: Path) -> None:
    paths = [Case(4, 4, 4, how, fabric(8, 8, arithmetic=arithmetic)).path() for how in ("accum", "map to bf16")]
    said = lint(tmp_path, *paths, sources=[each for each in SOURCES if each.suffix == ".sv"])
    assert kinds(said) <= HARMLESS, said
