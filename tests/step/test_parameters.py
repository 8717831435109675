"""Numbers of NumPy, and names of formats, as parameters of operators, functions and fabrics."""

from __future__ import annotations

import numpy as np
import pytest

from step import BF16, FP32, INT8, FabricConfig, Graph, MemoryConfig, Tile
from step.functions import Add, Cast, Matmul, Scale
from step.language.stream import Stream
from step.ops import Flatten, Reshape


@pytest.fixture
def stream() -> Stream:
    return Graph("given").source("x", Tile(BF16), [2, 3])


def test_numbers_of_numpy_are_numbers(stream: Stream) -> None:
    assert Reshape(np.int64(2), np.uint8(0)) == Reshape(2, 0)
    assert [type(each) for each in (Reshape(np.int64(2)).chunk, Scale(np.float32(0.5)).constant)] == [int, float]
    assert Flatten(np.int8(0), np.int8(1)) == Flatten(0, 1)


def test_names_of_formats_are_formats() -> None:
    assert (Cast("INT8"), Matmul(out="BF16"), Add("FP32"), Tile("BF16", 2, 3)) == (
        Cast(INT8), Matmul(out=BF16), Add(FP32), Tile(BF16, 2, 3),
    )  # fmt: skip
    graph = Graph("named")
    assert graph.tensor("w", (4, 4), "INT8").dtype is INT8
    assert graph.constant(1, [2], dtype="FP32").element == Tile(FP32)
    assert graph.count([3], dtype="INT8").element == Tile(INT8)


def test_a_fabric_takes_numbers_of_numpy(stream: Stream) -> None:
    fabric = FabricConfig(stages=np.int64(2), memory=MemoryConfig(latency=np.int32(3)))
    assert fabric.to_json()["memory"]["latency"] == 3
    assert stream.buffered(np.int64(4)).depth == 4
