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
from cases import cases
from verilated import HARMLESS, Verilated, kinds, lint

from hw.functions.datapath import Datapath
from step.functions.cache import CacheEnd
from step.functions.edit import AppendRow, FilterLastTile
from step.functions.elementwise import Add
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.row import RowMax, RowSum
from step.functions.select import KeepTopK, TargetIndices, TopK
from step.functions.transpose import Transpose
from step.language.dims import dim
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.function import Function
from step.language.types import ElementType, Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Application


def made(function: Function, application: Application) -> Any:
    """The hardware of ``function``, as its plan says."""
    plan = importlib.import_module(f"step.lowering.plans.{function.family}").plan(function, application)
    return importlib.import_module(f"hw.functions.{function.family}").datapath(function, application, plan)


GAPS = {"back to back": [0], "gaps": [0, 0, 3, 0, 1, 7]}


class Case:
    """A function with types on a fabric, its datapath, and random elements with what should become of them."""

    def __init__(
        self, function: Any, inputs: tuple[ElementType, ...], fabric: FabricConfig, *, reduce: bool, tiles: int = 3
    ) -> None:
        self.function, self.inputs, self.reduce, self.tiles = function, inputs, reduce, tiles
        self.result = function.state_type((dim(tiles),), *inputs) if reduce else function.result_type(*inputs)
        self.application = Application(inputs, self.result, fabric, reduce)
        self.path: Datapath = made(function, self.application)

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


NARROW, WIDE = Tile(BF16, 3, 4), Tile(FP32, 3, 4)


@cases(
    (Transpose(), Tile(BF16, 3, 4), 1, (1, 0)),
    (Transpose(), Tile(BOOL, 2, 5), 1, (1, 0)),
    (TopK(1), Tile(BF16, 1, 1), 16, (1, 2)),
    (TopK(2), Tile(BF16, 1, 8), 16, (4, 5)),
    (TopK(3), Tile(FP32, 1, 8), 64, (1, 2)),
    (TopK(3), Tile(INT8, 1, 7), 15, (4, 5)),
    (TopK(5), Tile(INT32, 1, 5), 4, (5, 6)),
    (KeepTopK(1), Tile(BF16, 1, 1), 16, (2, 2)),
    (KeepTopK(2), Tile(BF16, 1, 8), 16, (5, 5)),
    (KeepTopK(2), Tile(FP32, 3, 4), 64, (4, 4)),
    (KeepTopK(3), Tile(INT8, 2, 7), 15, (9, 9)),
    (KeepTopK(2), Tile(BF16, 5, 3), 1, (16, 16)),
)
def test_functions_of_whole_tiles(function: Any, tile: Tile, lanes: int, timing: tuple[int, int]) -> None:
    """What can not go through in words."""
    case = Case(function, (tile,), FabricConfig(vector_lanes=lanes), reduce=False)
    assert (case.path.initiation_interval, case.path.latency) == timing
    assert not case.path.streams
    for gaps in GAPS.values():
        case.check(40, gaps)


@pytest.mark.parametrize(("k", "targets"), [(1, 1), (1, 5), (3, 3), (3, 40), (20, 64)])
@pytest.mark.parametrize("gaps", GAPS)
def test_indices_of_selectors(k: int, targets: int, gaps: str) -> None:
    function, random = TargetIndices(k), np.random.default_rng(5)
    result = function.result_type(Selector(targets))
    path = made(function, Application((Selector(targets),), result, FabricConfig()))
    assert (path.initiation_interval, path.latency, path.streams) == (k, k, False)
    masks = [sum(1 << int(at) for at in random.permutation(targets)[:k]) for _ in range(20)]
    starts = playing.schedule(len(masks), path.initiation_interval, GAPS[gaps])
    got = playing.play_amaranth(path, [(each,) for each in masks], [0] * len(masks), starts)
    assert got == [playing.to_int(function.apply(each), result) for each in masks]


@cases((RetileCol(), Tile(FP32, 3, 3), 64), (RetileCol(), Tile(INT8, 9, 4), 64), (RetileRow(), Tile(INT8, 1, 3), 8))
def test_join_of_whole_tiles(function: Function, tile: Tile, link: int) -> None:
    """Columns that are no parts of a word or small ones, and rows that are no whole words."""
    case = Case(function, (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=5)
    assert (case.path.initiation_interval, case.path.latency) == (1, 1)
    assert not case.path.streams
    case.check(12, GAPS["gaps"])


@pytest.mark.parametrize("function", [RetileStreamify(), RetileStreamify(3), RetileStreamify(2, "col", 1)])
def test_retile_slicer(function: RetileStreamify) -> None:
    tile, piece = Tile(BF16, 3, 4), function.result_type(Tile(BF16, 3, 4))
    slicer = made(function, Application((tile,), piece, FabricConfig()))
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
def test_verilog_of_datapaths_has_only_harmless_warnings(arithmetic: str, tmp_path: Path) -> None:
    fabric = FabricConfig(vector_lanes=4, arithmetic=arithmetic)
    cases = (
        Case(Add(), (NARROW, WIDE), fabric, reduce=False),
        Case(RetileCol(), (NARROW,), fabric, reduce=True),
        Case(RowSum(BF16), (WIDE,), fabric, reduce=False),
        Case(RowMax(), (Tile(INT8, 3, 5),), fabric, reduce=False),
        Case(Transpose(), (NARROW,), fabric, reduce=False),
        Case(TopK(2), (Tile(BF16, 1, 3),), fabric, reduce=False),
        Case(KeepTopK(2), (Tile(BF16, 2, 3),), fabric, reduce=False),
        Case(AppendRow(), (Tile(BF16, 4, 3), Tile(UINT32), Tile(BF16, 1, 3)), fabric, reduce=False),
        Case(FilterLastTile(1.0, "col"), (Tile(BOOL, 4, 3), Tile(UINT32)), fabric, reduce=False),
        Case(CacheEnd(5, 3, 4), (Tile(UINT32), Tile(UINT32)), fabric, reduce=False),
        Case(Matmul(out=INT32), (Tile(INT8, 2, 3), Tile(INT8, 3, 2)), fabric, reduce=False),
    )
    said = lint(tmp_path, *(each.path for each in cases))
    assert kinds(said) <= HARMLESS, said
