"""Datapaths: the right bits exactly `latency` cycles behind a start, at the initiation interval and with gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import patterns
import pytest
from cases import cases
from driving import drive
from scripted import GAPS
from streaming import Case, made
from verilated import HARMLESS, kinds, lint

from hw.design.emit import emit
from hw.links.packing import pack_element
from step.errors import FabricError
from step.functions.cache import CacheEnd
from step.functions.edit import AppendRow, FilterLastTile
from step.functions.elementwise import Add
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.row import RowMax, RowSum
from step.functions.select import KeepTopK, TargetIndices, TopK
from step.functions.transpose import Transpose
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.function import Function
from step.language.graph import Graph
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.plans.plan import Application

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
    case = Case(function, (tile,), FabricConfig(vector_lanes=lanes))
    assert case.formula() == (*timing, False)
    for gaps in GAPS:
        case.check(40, gaps)


@pytest.mark.parametrize(("k", "targets"), [(1, 1), (1, 5), (3, 3), (3, 40), (20, 64)])
@pytest.mark.parametrize("gaps", GAPS)
def test_indices_of_selectors(k: int, targets: int, gaps: list[int]) -> None:
    random, case = np.random.default_rng(5), Case(TargetIndices(k), (Selector(targets),), FabricConfig())
    assert case.formula() == (k, k, False)
    case.draw = lambda *_: sum(1 << int(at) for at in random.permutation(targets)[:k])  # type: ignore[method-assign]
    case.check(20, gaps)


@cases((RetileCol(), Tile(FP32, 3, 3), 64), (RetileCol(), Tile(INT8, 9, 4), 64), (RetileRow(), Tile(INT8, 1, 3), 8))
def test_join_of_whole_tiles(function: Function, tile: Tile, link: int) -> None:
    """Columns that are no parts of a word or small ones, and rows that are no whole words."""
    case = Case(function, (tile,), FabricConfig(link_bytes=link), reduce=True, tiles=5)
    assert case.formula() == (1, 1, False)
    case.check(12, GAPS[1])


@pytest.mark.parametrize("function", [RetileStreamify(), RetileStreamify(3), RetileStreamify(2, "col", 1)])
def test_retile_slicer(function: RetileStreamify) -> None:
    tile, piece = Tile(BF16, 3, 4), function.result_type(Tile(BF16, 3, 4))
    _, slicer = made(function, Application((tile,), piece, FabricConfig()))
    value = patterns.tile(np.random.default_rng(10), tile)
    wanted = [pack_element(token.value, piece) for token in function.expand(value)]
    got = []

    async def bench(ctx: Any) -> None:
        ctx.set(slicer.operand0, pack_element(value, tile))
        for index in range(slicer.pieces):
            ctx.set(slicer.index, index)
            got.append(ctx.get(slicer.result))

    drive(slicer, bench)
    assert got == wanted


def test_a_tile_that_registers_can_not_hold() -> None:
    """16 columns of half links more than Amaranth has for a value; of whole links they wait in memory."""
    for columns, is_wide in ((304, True), (512, False)):
        graph = Graph("joined")
        graph.source("x", Tile(BF16, 1, columns), [1, 16]).accum(RetileCol()).sink("y")
        netlist = lower(graph, FabricConfig(link_bytes=64))
        if is_wide:
            says = (
                ": 77,824 bits wait in registers, and a value of Verilog has at most 65,536 here: tiles in whole "
                "links, or whole parts of one, wait in memory"
            )
            with pytest.raises(FabricError) as caught:
                emit(netlist, probes=False)
            assert str(caught.value).startswith("accum") and str(caught.value).endswith(says)
        else:
            emit(netlist, probes=False)


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["rtl", "model"])
def test_verilog_of_datapaths_has_only_harmless_warnings(arithmetic: str, tmp_path: Path) -> None:
    fabric = FabricConfig(vector_lanes=4, arithmetic=arithmetic)
    cases = (
        Case(Add(), (NARROW, WIDE), fabric),
        Case(RetileCol(), (NARROW,), fabric, reduce=True),
        Case(RowSum(BF16), (WIDE,), fabric),
        Case(RowMax(), (Tile(INT8, 3, 5),), fabric),
        Case(Transpose(), (NARROW,), fabric),
        Case(TopK(2), (Tile(BF16, 1, 3),), fabric),
        Case(KeepTopK(2), (Tile(BF16, 2, 3),), fabric),
        Case(AppendRow(), (Tile(BF16, 4, 3), Tile(UINT32), Tile(BF16, 1, 3)), fabric),
        Case(FilterLastTile(1.0, "col"), (Tile(BOOL, 4, 3), Tile(UINT32)), fabric),
        Case(CacheEnd(5, 3, 4), (Tile(UINT32), Tile(UINT32)), fabric),
        Case(Matmul(out=INT32), (Tile(INT8, 2, 3), Tile(INT8, 3, 2)), fabric),
    )
    said = lint(tmp_path, *(each.path for each in cases))
    assert kinds(said) <= HARMLESS, said
