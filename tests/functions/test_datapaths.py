"""Datapaths: the right bits exactly `latency` cycles behind a start, at the initiation interval and with gaps."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import patterns
import playing
import pytest
from amaranth.sim import Simulator
from verilated import HARMLESS, Verilated, kinds, lint

from hw.arithmetic.model import SOURCES
from hw.functions.datapath import Datapath
from hw.functions.matmul import MatmulDatapath
from step.functions.elementwise import Add
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.language.dims import dim
from step.language.dtypes import BF16, FP32, INT8
from step.language.function import Function
from step.language.types import ElementType, Tile
from step.lowering.application import Application
from step.lowering.fabric import FabricConfig

GAPS = {"back to back": [0], "gaps": [0, 0, 3, 0, 1, 7]}


class Case:
    """A function with types on a fabric, its datapath, and random elements with what should become of them."""

    def __init__(
        self, function: Any, inputs: tuple[ElementType, ...], fabric: FabricConfig, *, reduce: bool, tiles: int = 3
    ) -> None:
        self.function, self.inputs, self.reduce, self.tiles = function, inputs, reduce, tiles
        self.result = function.state_type((dim(tiles),), *inputs) if reduce else function.result_type(*inputs)
        module = importlib.import_module(f"hw.functions.{function.family}")
        self.application = Application(inputs, self.result, fabric, reduce)
        self.path: Datapath = module.datapath(function, self.application)

    def timing(self) -> tuple[int, int]:
        module = importlib.import_module(f"sim_approx.functions.{self.function.family}")
        timing = module.timing(self.function, self.application)
        return timing.initiation_interval, timing.latency

    def elements(self, count: int) -> tuple[list[tuple[int, ...]], list[int], list[int | None]]:
        """Operands, whether each begins a reduction, and results; a state that is no whole result yet is None."""
        random = np.random.default_rng(8)
        values = [tuple(patterns.tile(random, each) for each in self.inputs) for _ in range(count)]
        joins = self.function.family == "retile"
        firsts = [int(at % self.tiles == 0 if joins else at == 0 or random.random() < 0.4) for at in range(count)]
        results: list[int | None] = []
        state = None
        for value, first in zip(values, firsts, strict=True):
            if self.reduce:
                state = self.function.update(self.function.initial(self.result) if first else state, *value)
            else:
                state = self.function.apply(*value)
            whole = self.result.accepts(state)
            results.append(playing.to_int(state, self.result) if whole else None)
        operands = [tuple(map(playing.to_int, value, self.inputs)) for value in values]
        return operands, firsts, results

    def check(self, count: int, gaps: list[int], program: Verilated | None = None) -> None:
        operands, firsts, wanted = self.elements(count)
        starts = playing.schedule(count, self.path.initiation_interval, gaps)
        if program is None:
            got = playing.play_amaranth(self.path, operands, firsts, starts)
        else:
            got = playing.play_verilator(program, self.path, operands, firsts, starts)
        wrong = [at for at, want in enumerate(wanted) if want is not None and want != got[at]]
        assert wrong == []
        assert any(want is not None for want in wanted)


def matmul_case(rows: int, inner: int, cols: int, lanes: int, how: str, **fabric: Any) -> Case:
    function, reduce = {
        "map": (Matmul(), False),
        "map to bf16": (Matmul(True, BF16), False),
        "accum": (Matmul(), True),
        "accum transposed": (Matmul(True), True),
    }[how]
    right = Tile(BF16, cols, inner) if function.transposed else Tile(BF16, inner, cols)
    config = FabricConfig(matmul_lanes=lanes, **fabric)
    return Case(function, (Tile(BF16, rows, inner), right), config, reduce=reduce)


MATMULS = [
    *((2, 2, 2, lanes) for lanes in (1, 2, 3, 4, 8, 100)),
    *((4, 4, 4, lanes) for lanes in (2, 8, 16, 32)),
    *((3, 5, 7, lanes) for lanes in (3, 8, 14, 21, 50)),
    (1, 1, 1, 1),
    (1, 6, 4, 2),
    (4, 2, 1, 3),
]


@pytest.mark.parametrize("how", ["map", "map to bf16", "accum", "accum transposed"])
@pytest.mark.parametrize("stages", [1, 4])
@pytest.mark.parametrize("rows, inner, cols, lanes", MATMULS)
def test_matmul(rows: int, inner: int, cols: int, lanes: int, stages: int, how: str) -> None:
    case = matmul_case(rows, inner, cols, lanes, how, stages=stages)
    assert (case.path.initiation_interval, case.path.latency) == case.timing()
    case.check(7, GAPS["gaps"])


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_matmul_back_to_back(lanes: int, stages: int) -> None:
    matmul_case(4, 4, 4, lanes, "accum", stages=stages).check(7, GAPS["back to back"])
    matmul_case(4, 4, 4, lanes, "map", stages=stages).check(7, GAPS["back to back"])


@pytest.mark.parametrize(
    "lanes, stages, interval, used",
    [
        (1, 4, 4096, 1),
        (16, 4, 256, 16),
        (64, 4, 64, 64),
        (64, 1, 64, 64),
        (256, 4, 64, 64),
        (256, 2, 32, 128),
        (256, 1, 16, 256),
        (4096, 1, 16, 256),
    ],
)
def test_a_square_matmul_takes_its_multiplications_over_lanes(
    lanes: int, stages: int, interval: int, used: int
) -> None:
    """As long as there are as many blocks of sums as an addition has stages; more lanes are not made."""
    case = matmul_case(16, 16, 16, lanes, "accum", stages=stages)
    assert isinstance(case.path, MatmulDatapath)
    assert case.path.initiation_interval == interval and case.path.arrangement.lanes == used
    assert case.timing() == (interval, interval + min(256 // used, stages) + min(stages, 2))


def test_formulas_agree_for_many_shapes() -> None:
    random = np.random.default_rng(9)
    for _ in range(300):
        rows, inner, cols, lanes, stages = (int(each) for each in random.integers(1, (12, 12, 12, 300, 5)))
        case = matmul_case(rows, inner, cols, lanes, "map", stages=stages)
        assert (case.path.initiation_interval, case.path.latency) == case.timing()


NARROW, WIDE = Tile(BF16, 3, 4), Tile(FP32, 3, 4)


@pytest.mark.parametrize(
    "function, tile, link",
    [(RetileCol(), WIDE, 64), (RetileCol(), Tile(BF16, 16, 4), 8), (RetileRow(), Tile(INT8, 1, 3), 8)],
)
def test_join_of_whole_tiles(function: Function, tile: Tile, link: int) -> None:
    """Columns, and rows that are no whole words."""
    case = Case(function, (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=5)
    assert (case.path.initiation_interval, case.path.latency) == case.timing() == (1, 1)
    assert not case.path.streams
    case.check(12, GAPS["gaps"])


@pytest.mark.parametrize("function", [RetileStreamify(), RetileStreamify(3), RetileStreamify(2, "col", 1)])
def test_retile_slicer(function: RetileStreamify) -> None:
    tile, piece = Tile(BF16, 3, 4), function.result_type(Tile(BF16, 3, 4))
    slicer = importlib.import_module("hw.functions.retile").datapath(
        function, Application((tile,), piece, FabricConfig())
    )
    value = patterns.tile(np.random.default_rng(10), tile)
    wanted = [playing.to_int(token.value, piece) for token in function.expand(value)]
    got = []

    async def bench(ctx: Any) -> None:
        ctx.set(slicer.operand0, playing.to_int(value, tile))
        for index in range(slicer.pieces):
            ctx.set(slicer.index, index)
            got.append(ctx.get(slicer.result))

    simulator = Simulator(slicer)
    simulator.add_testbench(bench)
    simulator.run()
    assert got == wanted


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["rtl", "model"])
@pytest.mark.parametrize("how", ["map to bf16", "accum transposed"])
@pytest.mark.parametrize("rows, inner, cols, lanes", [(16, 16, 16, 64), (3, 5, 7, 50)])
def test_matmul_in_verilator(
    rows: int, inner: int, cols: int, lanes: int, how: str, arithmetic: str, tmp_path: Path
) -> None:
    case = matmul_case(rows, inner, cols, lanes, how, arithmetic=arithmetic)
    program = Verilated(case.path, tmp_path, SOURCES if arithmetic == "model" else ())
    for gaps in GAPS.values():
        case.check(300, gaps, program)


@pytest.mark.parametrize("arithmetic", ["rtl", "model"])
def test_verilog_of_datapaths_has_only_harmless_warnings(arithmetic: str, tmp_path: Path) -> None:
    fabric = FabricConfig(matmul_lanes=8, vector_lanes=4, arithmetic=arithmetic)
    for case in (
        matmul_case(4, 4, 4, 8, "accum", arithmetic=arithmetic),
        matmul_case(4, 4, 4, 8, "map to bf16", arithmetic=arithmetic),
        Case(Add(), (NARROW, WIDE), fabric, reduce=False),
        Case(RetileCol(), (NARROW,), fabric, reduce=True),
    ):
        said = lint(case.path, tmp_path)
        assert kinds(said) <= HARMLESS, said
