"""Formulas of areas are fitted to designs that were synthesised."""

from __future__ import annotations

import pytest

from benchmarks.area_formulas import fit, unknown
from step_explore.areas import Area
from step_explore.areas.amounts import Amounts
from step_explore.areas.model import price


def test_what_is_new_is_fitted_beside_what_is_known() -> None:
    known = {"map": (10.0, 0.0, 0.0, 0.0), "add.BF16": (300.0, 1.0, 0.0, 0.0)}
    parts = [
        (Amounts({"map": 1, "new.lanes": lanes}), Area(price("map")[0] + 40 * lanes, 2 * lanes)) for lanes in (1, 8)
    ]
    table = fit([*parts, (Amounts({"map": 1}), Area(1000))], known)
    assert {name: tuple(each) for name, each in table.items() if name in known} == known
    assert table["new.lanes"] == pytest.approx([40, 2, 0, 0], rel=0.02)
    assert unknown(["map.bits", "new.bits", "add.INT8"], known) == ["new.bits"]
