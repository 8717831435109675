"""Quantised products in RTL: values as interpreted, every token in the cycle of both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from dynamic import Rows, checked

from step import BF16, FP32, INT8, FabricConfig, Graph, Program, Tile
from step.functions import Dequantize, Matmul, RetileStreamify
from step.language.dtypes import INT32
from step.library import quantize_rows, quantized_matmul

pytestmark = pytest.mark.large

SLOW = pytest.mark.slow


@cases(
    (4, 8, BF16, {"matmul_lanes": 8, "vector_lanes": 4}, 8),
    pytest.param(4, 6, FP32, {"matmul_lanes": 5, "vector_lanes": 16, "stages": 2, "link_bytes": 8}, 8, marks=SLOW),
    pytest.param(8, 4, BF16, {"matmul_lanes": 64, "stages": 1, "link_bytes": 256}, 4000, marks=SLOW),
    ids=str,
)
def test_products(bits: Any, cols: int, scale: Any, fabric: dict[str, Any], count: int) -> None:
    """Of random rows, and of some that are zeros, not finite, tiny and huge; two groups of 8 k."""
    graph, random = Graph("quantized"), np.random.default_rng(cols)
    x = random.standard_normal((count, 2, 16)).astype(BF16.numpy)
    x[0, 0], x[1, 1, 3], x[2, 0, 5], x[3, 0], x[4, 1] = 0, np.nan, -np.inf, 1e-38, 3e38
    inputs = {
        "x": x,
        "w": random.integers(-128, 128, (count, 2, 8, cols * bits // 8)),
        "scales": random.standard_normal((count, 2, 1, cols)),
    }
    rows, scales = quantize_rows(graph.source("x", Tile(BF16, 2, 16), [count]))
    weights = graph.source("w", Tile(INT8, 8, cols * bits // 8), [count, 2])
    parts = rows.flat_map(RetileStreamify(8, "col", rank=1))
    quantized_matmul(parts, scales, weights, graph.source("scales", Tile(scale, 1, cols), [count, 2]), bits=bits).sink(
        "y"
    )
    checked(Program(graph, inputs, FabricConfig(**fabric)))


@cases(
    (4, {"matmul_lanes": 4, "vector_lanes": 4, "link_bytes": 16}),
    pytest.param(8, {"matmul_lanes": 16, "stages": 2}, marks=SLOW),
)
def test_any_number_of_rows(bits: Any, fabric: dict[str, Any]) -> None:
    rows = Rows(8)
    integers, scales = quantize_rows(rows.given())
    products = integers.map(Matmul(out=INT32, bits=bits), rows.fixed("w", Tile(INT8, 8, bits // 2)), name="product")
    products.map(Dequantize(out=FP32), rows.fixed("s", Tile(BF16, 1, 4)), name="scaled").sink("y")
    scales.sink("scales")
    rows.checked(dynamic_rows=16, **fabric)
