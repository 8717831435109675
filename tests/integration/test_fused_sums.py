"""Fused sums in RTL: values as interpreted, every token in the cycle of both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from dynamic import Rows, checked

from step import BF16, FP32, FabricConfig, Graph, Program, Tile, run
from step.errors import FabricError
from step.functions import Matmul, RowSum

pytestmark = pytest.mark.large


@pytest.mark.parametrize(
    "fabric",
    [
        {"matmul_lanes": 8, "vector_lanes": 4},
        pytest.param({"matmul_lanes": 16, "vector_lanes": 8}, marks=pytest.mark.slow),
        pytest.param({"matmul_lanes": 4, "vector_lanes": 64, "stages": 2, "link_bytes": 8}, marks=pytest.mark.slow),
        pytest.param({"matmul_lanes": 64, "stages": 1, "link_bytes": 256}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_products_and_rows(fabric: dict[str, Any]) -> None:
    """Of K that is a multiple of the terms, and that is not; side by side, and of several tiles."""
    graph, random = Graph("fused"), np.random.default_rng(0)
    inputs: dict[str, Any] = {}

    def source(name: str, rows: int, cols: int) -> Any:
        inputs[name] = random.standard_normal((3, 2, rows, cols))
        return graph.source(name, Tile(BF16, rows, cols), [3, 2])

    x, y, w, v = source("x", 1, 20), source("y", 3, 32), source("w", 20, 16), source("v", 8, 32)
    x.map(Matmul(sum="fused", terms=8), w, name="product").sink("products")
    y.accum(Matmul(True, sum="fused"), v, name="total").sink("totals")
    y.map(RowSum(BF16, "fused", 4), name="sums").sink("rows")
    x.map(RowSum(sum="fused"), name="sum").sink("row")
    checked(Program(graph, inputs, FabricConfig(**fabric)))


@cases(
    (32, {"matmul_lanes": 8, "vector_lanes": 8}),
    pytest.param(32, {"matmul_lanes": 32}, marks=pytest.mark.slow),
    pytest.param(12, {"matmul_lanes": 8, "stages": 2}, marks=pytest.mark.slow),
    ids=str,
)
def test_any_number_of_rows(inner: int, fabric: dict[str, Any]) -> None:
    rows = Rows(inner)
    tiles = rows.given()
    tiles.map(Matmul(out=BF16, sum="fused", terms=8), rows.fixed("w", Tile(BF16, inner, 5)), name="product").sink("y")
    again = tiles.repeat(2)
    again.accum(Matmul(sum="fused"), rows.fixed("v", Tile(BF16, inner, 3)).repeat(2), name="total").sink("z")
    if inner == 32:
        tiles.map(RowSum(sum="fused", terms=8), name="sums").sink("rows")
    rows.checked(dynamic_rows=16, **fabric)


def test_rows_in_words_without_whole_sums() -> None:
    rows = Rows(32, FP32)
    rows.given().map(RowSum(sum="fused"), name="sums").sink("y")
    with pytest.raises(FabricError) as caught:
        run(Program(rows.graph, rows.inputs, FabricConfig(link_bytes=32)), "approx")
    where, _, text = str(caught.value).partition(": ")
    assert where.startswith("map 'sums' (") and text == (
        "fused sums of 16 FP32 in rows of 32, of which a run tells the number, need words that are made of whole sums, "
        "but link_bytes is 32; choose another one, or an ordered sum"
    )
