"""Weights of few bits: what they are, where they are kept, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from raising import raising

from step import BF16, FP32, INT8, Graph, Program, Tile, interpret, metrics, run
from step.errors import TypeMismatch
from step.functions import Dequantize, Matmul
from step.functions.dequantize import packed, quantized, unpacked


def test_integers_of_four_bits() -> None:
    """The lower bits are the lower column."""
    assert unpacked(np.array([[0x21, -0x80, 0x7F]], np.int8)).tolist() == [[1, 2, 0, -8, -1, 7]]
    every = np.arange(-128, 128).astype(np.int8).reshape(4, 64)
    assert (packed(unpacked(every)) == every).all()


@pytest.mark.parametrize("dtype", [BF16, FP32])
def test_every_integer_times_a_scale_is_rounded_once(dtype: Any) -> None:
    integers = np.arange(-128, 128).astype(np.int8)[None]
    for scale in (0.1, -3.0, 2.0**-130, 1e38, np.inf, np.nan, 0.0):
        scales = np.array([[scale]], dtype.numpy)
        with np.errstate(all="ignore"):
            flushed = np.where(np.abs(scales.astype(np.float64)) < 2.0**-126, 0, scales.astype(np.float64))
            exact = (integers * flushed).astype(np.float32)
        assert np.array_equal(Dequantize(out=FP32).apply(integers, scales), exact, equal_nan=True)
        rounded = Dequantize().apply(integers, scales)
        assert np.array_equal(rounded.astype(np.float32), exact.astype(BF16.numpy).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("group", [None, 16])
def test_quantized_weights_are_as_near_as_their_scales(bits: Any, group: int | None) -> None:
    weights = np.random.default_rng(3).standard_normal((8, 64))
    weights[2] = 0
    given, scales = quantized(weights, bits=bits, group=group, dtype=FP32)
    assert given.shape == (8, 64 * bits // 8) and scales.shape == (8, 64 // (group or 64))
    error = np.abs(Dequantize(bits, FP32).apply(given, scales) - weights).reshape(8, scales.shape[1], -1).max(axis=2)
    assert (error <= scales * 0.5001).all()


@pytest.mark.parametrize("bits", [8, 4])
def test_a_product_with_quantized_weights(bits: Any) -> None:
    """Off-chip memory has the bits of the weights, and the product what they stand for."""
    random, graph = np.random.default_rng(4), Graph("quantized")
    weights, x = random.standard_normal((16, 32)), random.standard_normal((3, 2, 32)).astype(BF16.numpy)
    given, scales = quantized(weights, bits=bits, group=8)
    tensors = graph.tensor("w", given.shape, INT8), graph.tensor("scales", scales.shape, BF16)
    rows = graph.source("x", Tile(BF16, 2, 32), [3])
    loads = [
        graph.load(each, tile=(16, each.shape[1]), out=(1,), reference=rows, name=f"load_{each.name}").flatten(0, 1)
        for each in tensors
    ]
    full = loads[0].map(Dequantize(bits), loads[1], name="weights")
    rows.map(Matmul(transposed=True), full).sink("y")
    assert metrics(graph).off_chip_bytes == 3 * (16 * 32 * bits // 8 + 16 * 4 * 2)
    program = Program(graph, {"x": x, "w": given, "scales": scales})
    y = np.array([each.value for each in interpret(graph, program.inputs).outputs["y"] if each.has_value])
    exact = Dequantize(bits).apply(given, scales).astype(np.float64)
    assert np.allclose(y, x.astype(np.float64) @ exact.T, rtol=1e-5, atol=1e-5)
    assert run(program, "approx").result.off_chip_bytes == 3 * (16 * 32 * bits // 8 + 16 * 4 * 2)


def test_bad_parameters() -> None:
    with pytest.raises(TypeMismatch) as caught:
        Dequantize(3)  # type: ignore[arg-type]
    assert str(caught.value).endswith("dequantize needs bits to be 8 or 4, not 3")
    with raising(TypeMismatch, "quantized needs group to be a divisor of the 8 columns, not 3"):
        quantized(np.ones((2, 8)), group=3)
    with raising(TypeMismatch, "quantized needs an even number of columns, as an INT8 has two of 4 bits, not 7"):
        quantized(np.ones((2, 7)), bits=4)
