"""Parameters of operators and functions have the types that they declare, or are refused where they are given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases

from step import BF16, FP32, INT8, Buffer, FabricConfig, Graph, MemoryConfig, Selector, Tile, Tuple
from step.errors import FormatError, TypeMismatch
from step.functions import Add, Cast, Compare, ExpertTiles, Matmul, RetileRow, Scale, SelectAll
from step.language.stream import Stream
from step.ops import Flatten, Reshape


def without_line(error: Exception) -> str:
    """The text of ``error``, which begins with a line of this file if types do not fit."""
    text, found = re.subn(r"^\S+test_parameters\.py:\d+: ", "", str(error))
    assert found or not isinstance(error, TypeMismatch)
    return text


Make = Callable[[Stream], Any]


@pytest.fixture
def stream() -> Stream:
    return Graph("given").source("x", Tile(BF16), [2, 3])


@cases(
    (lambda x: x.map(RetileRow()), "map needs function to be a MapFunction, not RetileRow()"),
    (lambda x: x.map(Add), "map needs function to be a MapFunction, not the class Add; did you mean Add()?"),
    (lambda x: x.accum(SelectAll(2)), "accum needs function to be an AccumFunction, not SelectAll(targets=2)"),
    (lambda x: x.flat_map("rows"), "flat_map needs function to be a FlatMapFunction, not 'rows'"),
    (lambda x: x.reshape(2.0), "reshape needs chunk to be an integer, not 2.0"),
    (lambda x: x.reshape(2, rank="0"), "reshape needs rank to be an integer, not '0'"),
    (lambda x: x.reshape(2, pad="zero"), "reshape needs pad to be a number, not 'zero'"),
    (lambda x: x.flatten(0, None), "flatten needs high to be an integer, not None"),
    (lambda x: x.flatten(True, 1), "flatten needs low to be an integer, not True"),
    (lambda x: x.bufferize(rank=1.0), "bufferize needs rank to be an integer, not 1.0"),
    (lambda x: x.partition(x.graph.selectors("s", 2, [2]), targets="2"),
     "partition needs targets to be an integer, not '2'"),
    (lambda x: x.graph.reassemble([x, x], x.graph.selectors("s", 2, [2]), order="random"),
     "reassemble needs order to be \"arrival\" or \"index\", not 'random'"),
    (lambda x: x.graph.load("w", tile=(2, 2)), "load needs tensor to be a Tensor, not 'w'"),
    (lambda x: x.graph.load(Graph("other").tensor("w", (4, 4), BF16), tile=(2, 2)),
     "load needs a tensor of the graph, not Tensor(name='w', shape=(4, 4), dtype=BF16)"),
    (lambda x: x.load_random("w", tile=(2, 2)), "load_random needs tensor to be a Tensor, not 'w'"),
    (lambda x: x.load_random(x.graph.tensor("w", (4, 4), BF16), tile=4),
     "load_random needs tile to be a list, each an integer, not 4"),
    (lambda x: x.graph.count([3], dtype=BF16), "counting needs integers, not BF16"),
    (lambda x: x.graph.source("z", "BF16", [3]),
     "source needs element to be a Tile or a Selector or a Buffer or a Tuple, not 'BF16'"),
    (lambda x: Selector("2"), "Selector needs targets to be an integer, not '2'"),
    (lambda x: Selector(0), "a selector must have at least one target, not 0"),
    (lambda x: Tuple((3,)),
     "Tuple needs items to be a tuple, each a Tile or a Selector or a Buffer or a Tuple, not (3,)"),
    (lambda x: Buffer(Tile(BF16), 4), "Buffer needs shape to be a tuple, each a Dim, not 4"),
    (lambda x: Scale(True), "scale needs constant to be a number, not True"),
    (lambda x: Compare(3), "compare needs relation to be a text, not 3"),
    (lambda x: Add(np.float32), "add needs out to be a DType or None, not the class float32"),
    (lambda x: ExpertTiles(4, True), "expert_tiles needs tiles to be an integer, not True"),
)  # fmt: skip
def test_other_types_are_refused(make: Make, message: str, stream: Stream) -> None:
    with pytest.raises(TypeMismatch) as error:
        make(stream)
    assert without_line(error.value) == message


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


FORMATS = "BF16, FP32, INT8, INT32, UINT32, BOOL, FP16, FP8_E4M3, FP8_E5M2"


@cases(
    (lambda: Tile("BF15"), "'BF15'"),
    (lambda: Cast("BF15"), "'BF15'"),
    (lambda: Graph("g").tensor("w", (4, 4), "BF15"), "'BF15'"),
    (lambda: Tile(np.float32), "<class 'numpy.float32'>"),
    (lambda: Tile(None), "None"),
    (lambda: Tile(16), "16"),
)
def test_what_is_no_format(make: Callable[[], Any], shown: str) -> None:
    with pytest.raises(FormatError) as error:
        make()
    assert without_line(error.value) == f"dtype must be one of {FORMATS}, not {shown}"


def test_a_fabric_takes_numbers_of_numpy(stream: Stream) -> None:
    assert (
        FabricConfig(stages=np.int64(2), memory=MemoryConfig(latency=np.int32(3))).to_json()["memory"]["latency"] == 3
    )
    assert stream.buffered(np.int64(4)).depth == 4
