"""A datapath has the cycles of its plan, or is not made."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hw.functions.datapath import PlanError
from step.functions.cache import CacheEnd, CacheRows
from step.functions.edit import SetRow
from step.functions.elementwise import Add
from step.functions.exp import Exp
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow
from step.functions.row import RowSum
from step.functions.select import SelectValid, TopK
from step.functions.transpose import Transpose
from step.language.dims import dim
from step.language.dtypes import BF16, BOOL, FP32, UINT32
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Application, Timing, UnitPlan

TILE, NUMBER = Tile(BF16, 4, 4), Tile(UINT32)


def _later(plan: Any) -> Any:
    return Timing(plan.initiation_interval, plan.latency + 1, plan.streams)


def _of_lanes(plan: Any) -> Any:
    return replace(plan, cycles=plan.cycles - 1)


@pytest.mark.parametrize(
    ("function", "inputs", "reduce", "wrong", "text"),
    [
        (Exp(), (TILE,), False, _of_lanes, "VectorDatapath has a latency of 8 cycles, and its plan has 7"),
        (Add(), (TILE,), True, _of_lanes, "VectorDatapath has a latency of 8 cycles, and its plan has 7"),
        (
            RowSum(),
            (TILE,),
            False,
            lambda plan: replace(plan, join=1),
            "RowDatapath has a latency of 9 cycles, and its plan has 3",
        ),
        (
            Matmul(),
            (TILE, TILE),
            False,
            lambda plan: replace(plan, product=1),
            "MatmulDatapath has a latency of 23 cycles, and its plan has 22",
        ),
        (
            SetRow(),
            (TILE, NUMBER, Tile(BF16, 1, 4)),
            False,
            lambda plan: replace(plan, cycles=2),
            "EditDatapath has a latency of 1 cycles, and its plan has 2",
        ),
        (
            SetRow(),
            (Tile(FP32, 16, 16), NUMBER, Tile(FP32, 1, 16)),
            False,
            lambda plan: replace(plan, tile=replace(plan.tile, rows=15)),
            "EditDatapath is busy for 16 cycles, and its plan has an interval of 15",
        ),
        (Transpose(), (TILE,), False, _later, "TransposeDatapath has a latency of 0 cycles, and its plan has 1"),
        (
            SelectValid(),
            (Tile(BOOL),),
            False,
            _later,
            "SelectValidDatapath has a latency of 0 cycles, and its plan has 1",
        ),
        (
            CacheEnd(5, 3, 4),
            (NUMBER, NUMBER),
            False,
            _later,
            "CacheEndDatapath has a latency of 0 cycles, and its plan has 1",
        ),
        (CacheRows(3), (NUMBER,), False, _later, "CacheRowsGenerator has a latency of 0 cycles, and its plan has 1"),
    ],
    ids=lambda value: "wrong" if callable(value) else str(value),
)
def test_a_datapath_that_is_not_what_its_plan_says(
    function: Any, inputs: tuple[Tile, ...], reduce: bool, wrong: Callable[[Any], Any], text: str
) -> None:
    result = function.state_type((dim(3),), *inputs) if reduce else function.result_type(*inputs)
    application = Application(inputs, result, FabricConfig(), reduce)
    plan = importlib.import_module(f"step.lowering.plans.{function.family}").plan(function, application)
    datapath = importlib.import_module(f"hw.functions.{function.family}").datapath
    datapath(function, application, plan)
    with pytest.raises(PlanError) as caught:
        datapath(function, application, wrong(plan))
    assert str(caught.value) == text


@pytest.mark.parametrize("link", [1, 4, 64])
@pytest.mark.parametrize(
    ("function", "tile"),
    [
        (TopK(2), Tile(BF16, 1, 7)),
        (RetileRow(), Tile(BF16, 1, 4)),
        (RetileCol(), TILE),
        (RetileCol(), Tile(BOOL, 3, 3)),
    ],
    ids=str,
)
def test_datapaths_that_have_no_number_of_their_own(function: Any, tile: Tile, link: int) -> None:
    """They take the layout of the plan, whatever that is; the words of `test_joins` and `test_datapaths` are right."""
    reduce = not isinstance(function, TopK)
    result = function.state_type((dim(3),), tile) if reduce else function.result_type(tile)
    application = Application((tile,), result, FabricConfig(link_bytes=link, vector_lanes=16), reduce)
    plan = importlib.import_module(f"step.lowering.plans.{function.family}").plan(function, application)
    path = importlib.import_module(f"hw.functions.{function.family}").datapath(function, application, plan)
    assert path.plan is plan
    assert (path.initiation_interval, path.latency, path.streams) == (
        plan.initiation_interval,
        plan.latency,
        plan.streams,
    )


@pytest.mark.parametrize(
    ("unit", "cycles"),
    [
        (UnitPlan(Timing(1, 5, streams=True), (4, 2), 1), (0, 4, 5, 4)),
        (UnitPlan(Timing(1, 5), (4, 2), 1), (3, 4, 8, 4)),  # whole operands are gathered
        (UnitPlan(Timing(1, 5, streams=True), (1,), 8), (0, 8, 5, 8)),  # its words keep the unit busy
        (UnitPlan(Timing(1, 5, streams=True), (1,), 8, stored=True), (0, 1, 5, 8)),  # or only the output
        (UnitPlan(Timing(1, 0), (4,), 1, control=True), (3, 4, 4, 4)),  # the header waits for its control
        (UnitPlan(Timing(9, 2), (1,), 1), (0, 9, 2, 9)),
        (UnitPlan(None, (1, 3), 1), (0, 3, 0, 3)),  # nobody reads what would come
    ],
    ids=str,
)
def test_a_unit_takes_what_its_function_and_its_links_take(unit: UnitPlan, cycles: tuple[int, int, int, int]) -> None:
    assert (unit.gathering, unit.initiation_interval, unit.latency, unit.burst) == cycles
