"""Quantised products of the library against NumPy, bit for bit, and as near as their scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import step
from step import BF16, FP32, INT8, Graph, Program, Tile
from step.errors import TypeMismatch
from step.functions.dequantize import packed, quantized, unpacked
from step.functions.reciprocal import Reciprocal
from step.language import numerics
from step.library import quantize_rows, quantized_matmul

SPECIAL = [
    [0, -0.0, 0, 0], [np.inf, 1, -1, 0], [1, np.nan, -np.inf, 0], [1e-38, -3e-39, 2e-38, -2e-38], [1e-45, 0, 0, 0],
    [3.3e38, -3.3e38, 1e38, 1], [63.5, -127, 0.5, 1.5], [2**-119, -(2**-119), 2**-120, 0],
]  # fmt: skip
"""Rows of zeros, of what is not finite, of the smallest numbers and of the largest ones, and with ties."""


def activations(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers and scales of rows, by their definition."""
    with numerics.quiet():
        wide = numerics.widen(x)
        largest = numerics.canonical(np.abs(wide).max(axis=-1, keepdims=True))
        scales = numerics.multiply(largest, numerics.fp32(1 / 127))
        scaled = numerics.multiply(wide, Reciprocal().apply(scales.reshape(1, -1)).reshape(scales.shape))
        exact = np.where(np.isnan(scaled), 0, np.clip(np.rint(scaled), -128, 127))
    return exact.astype(np.int8), scales


@pytest.mark.parametrize("dtype", [BF16, FP32], ids=str)
def test_rows(dtype: Any) -> None:
    random = np.random.default_rng(2)
    spread = np.exp(random.normal(0, 20, (60, 2, 1)))
    x = np.concatenate([np.array(SPECIAL).reshape(4, 2, 4), random.standard_normal((60, 2, 4)) * spread])
    x = x.astype(dtype.numpy)
    graph = Graph("rows")
    integers, scales = quantize_rows(graph.source("x", Tile(dtype, 2, 4), [len(x)]))
    integers.sink("integers")
    scales.sink("scales")
    wanted = dict(zip(("integers", "scales"), activations(x), strict=True))
    for backend, more in (("interpret", {}), ("approx", {"values": "all"})):
        run = step.run(Program(graph, {"x": x}), backend, **more)  # type: ignore[arg-type]
        for name, each in wanted.items():
            assert np.array_equal(run.outputs[name].numpy(), each, equal_nan=True)
    kept, its = wanted["integers"][4:], wanted["scales"][4:]
    assert (np.abs(kept).max(axis=-1) == 127).all()
    assert (np.abs(kept * its - x[4:].astype(np.float64)) <= its * 0.5001).all()
    special = wanted["integers"][:4].reshape(8, 4).tolist()
    assert special[:3] == [[0] * 4] * 3 and special[3:5] == [[0, 0, 127, -128], [0] * 4]
    assert special[5:] == [[127, -127, 38, 0], [64, -127, 0, 2], [127, -127, 64, 0]]
    assert wanted["scales"].ravel().astype(str).tolist()[:5] == ["0.0", "inf", "nan", "0.0", "0.0"]


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("group", "tall"), [(4, 4), (16, 16), (8, 4)])
@pytest.mark.parametrize("scale", [BF16, FP32], ids=str)
def test_product(bits: Any, group: int, tall: int, scale: Any) -> None:
    """Groups of k, in a tile each or in several, and all k in one; NaN and infinities of a row stay in it."""
    random, inner, cols = np.random.default_rng(3), 16, 6
    x = random.standard_normal((5, 3, inner)).astype(BF16.numpy)
    x[1, 1], x[2, 2, 3], x[3, 0, 0] = 0, np.nan, np.inf
    w = random.standard_normal((inner, cols))
    given, w_scales = quantized(w.T, group=group, dtype=scale, bits=bits)
    integers = (unpacked(given) if bits == 4 else given).T
    tensor = packed(integers) if bits == 4 else integers
    graph, count, tiles = Graph("quantized"), inner // group, (inner // group, group // tall)[: 1 + (tall < group)]
    rows, scales = quantize_rows(graph.source("x", Tile(BF16, 3, inner), [5]))
    loads = [
        graph.load(graph.tensor(name, shape, dtype), tile=tile, out=out, reference=rows, name=f"load_{name}")
        for name, shape, dtype, tile, out in (
            ("w", tensor.shape, INT8, (tall, tensor.shape[1]), tiles),
            ("w_scales", (count, cols), scale, (1, cols), (count,)),
        )
    ]
    parts = rows.flat_map(step.functions.RetileStreamify(tall, "col", rank=1))
    if tall < group:
        parts, _ = parts.reshape(group // tall)
    quantized_matmul(parts, scales, *loads, bits=bits, out=FP32).sink("y")
    program = Program(graph, {"x": x, "w": tensor, "w_scales": w_scales.T})
    (left, its), total = activations(x), np.zeros((5, 3, cols), np.float32)
    with numerics.quiet():
        for at in range(count):
            part = left[..., at * group : (at + 1) * group].astype(np.int32) @ integers[at * group : (at + 1) * group]
            scaled = numerics.multiply(part.astype(np.float32), w_scales.T[at].astype(np.float32))
            total = numerics.add(total, scaled)
        total = numerics.canonical(numerics.multiply(total, its))
    for backend, more in (("interpret", {}), ("approx", {"values": "all"})):
        y = step.run(program, backend, **more).outputs["y"].numpy()  # type: ignore[arg-type]
        assert np.array_equal(y, total, equal_nan=True)
    assert (y[1, 1] == 0).all() and np.isnan(y[2, 2]).all() and np.isnan(y[3, 0]).all()
    whole = np.isfinite(total)
    exact = np.where(np.isfinite(x), x, 0).astype(np.float64) @ w
    assert np.abs(y - exact)[whole].max() < {8: 0.15, 4: 1.5}[bits]


def test_what_does_not_fit() -> None:
    graph = Graph("wrong")
    x, w = graph.source("x", Tile(INT8, 1, 4), [1, 2]), graph.source("w", Tile(INT8, 3, 4), [1, 2])
    with pytest.raises(TypeMismatch, match=r"matmul .*needs \[M,K\] and \[K,N/2\] tiles"):
        quantized_matmul(x, graph.source("xs", Tile(FP32), [1]), w, graph.source("s", Tile(FP32, 1, 8), [1, 2]), bits=4)
