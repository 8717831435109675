"""A datapath has the cycles of its plan, and a unit those of the plan and of its links."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from streaming import made

from step.functions.retile import RetileCol, RetileRow
from step.functions.select import TopK
from step.language.dims import dim
from step.language.dtypes import BF16, BOOL, UINT32
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Application, Timing, UnitPlan

TILE, NUMBER = Tile(BF16, 4, 4), Tile(UINT32)


@pytest.mark.parametrize("link", [1, 4, 64])
@cases(
    (TopK(2), Tile(BF16, 1, 7)), (RetileRow(), Tile(BF16, 1, 4)), (RetileCol(), TILE),
    (RetileCol(), Tile(BOOL, 3, 3)), ids=str,
)  # fmt: skip
def test_datapaths_that_have_no_number_of_their_own(function: Any, tile: Tile, link: int) -> None:
    """They take the layout of the plan, whatever that is; the words of `test_joins` and `test_datapaths` are right."""
    reduce = not isinstance(function, TopK)
    result = function.state_type((dim(3),), tile) if reduce else function.result_type(tile)
    application = Application((tile,), result, FabricConfig(link_bytes=link, vector_lanes=16), reduce)
    plan, path = made(function, application)
    assert path.plan is plan
    assert (path.initiation_interval, path.latency, path.streams) == (
        plan.initiation_interval,
        plan.latency,
        plan.streams,
    )


@cases(
    (UnitPlan(Timing(1, 5, streams=True), (4, 2), 1), (0, 4, 5, 4)),
    (UnitPlan(Timing(1, 5), (4, 2), 1), (3, 4, 8, 4)),  # whole operands are gathered
    (UnitPlan(Timing(1, 5, streams=True), (1,), 8), (0, 8, 5, 8)),  # its words keep the unit busy
    (UnitPlan(Timing(1, 5, streams=True), (1,), 8, stored=True), (0, 1, 5, 8)),  # or only the output
    (UnitPlan(Timing(1, 0), (4,), 1, control=True), (3, 4, 4, 4)),  # the header waits for its control
    (UnitPlan(Timing(9, 2), (1,), 1), (0, 9, 2, 9)),
    (UnitPlan(None, (1, 3), 1), (0, 3, 0, 3)),  # nobody reads what would come,
    ids=str,
)
def test_a_unit_takes_what_its_function_and_its_links_take(unit: UnitPlan, cycles: tuple[int, int, int, int]) -> None:
    assert (unit.gathering, unit.initiation_interval, unit.latency, unit.burst) == cycles
