"""Products of tiles with a dynamic number of rows in RTL: values as interpreted, every token in its cycle."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from dynamic import Rows

from step import BF16, Tile
from step.functions import Matmul

pytestmark = pytest.mark.large

MORE: list[tuple[int, int, int, dict[str, Any]]] = [
    (16, 4, 64, {"link_bytes": 256}),  # four products share a turn
    (16, 16, 16, {}),
    (16, 16, 64, {}),
    (8, 32, 4, {"link_bytes": 32, "stages": 1}),
    (40, 3, 8, {"link_bytes": 128}),
    (1, 16, 16, {}),
    (12, 16, 96, {"link_bytes": 128}),  # two share a turn
]
"""Of the products; their datapaths by themselves are played in tests/functions/test_matmul_rows.py."""


@cases(
    (24, 8, 4, {"stages": 3, "link_bytes": 16}),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE),
    ids=str,
)
@pytest.mark.parametrize("transposed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_products(inner: int, cols: int, lanes: int, fabric: dict[str, Any], transposed: bool) -> None:
    rows = Rows(inner)
    right = rows.fixed("w", Tile(BF16, cols, inner) if transposed else Tile(BF16, inner, cols))
    rows.given().map(Matmul(out=BF16, transposed=transposed), right, name="product").sink("y")
    rows.checked(matmul_lanes=lanes, dynamic_rows=16, **fabric)


SUMS: list[tuple[int, int, int, dict[str, Any]]] = [
    (40, 3, 8, {"link_bytes": 128}),
    (16, 16, 16, {}),
    (16, 64, 8, {"link_bytes": 32}),
    (24, 8, 4, {"stages": 3, "link_bytes": 16}),
]
"""More of the reductions."""


@cases(
    (8, 16, 4, {"link_bytes": 16, "dynamic_rows": 64}),  # sums in block RAM: turns are longer
    *(pytest.param(*each, marks=pytest.mark.slow) for each in SUMS),
    ids=str,
)
def test_reductions(inner: int, cols: int, lanes: int, fabric: dict[str, Any]) -> None:
    """Of two products each, and of none."""
    rows = Rows(inner)
    tiles = rows.given().repeat(2)
    right = rows.fixed("w", Tile(BF16, inner, cols)).repeat(2)
    tiles.accum(Matmul(), right, name="total").sink("y")
    rows.checked(matmul_lanes=lanes, **{"dynamic_rows": 16, **fabric})
