"""Types, FLOPs and error texts of the function library."""

from __future__ import annotations

import pytest
import sympy
from cases import cases

from step.functions.cache import CacheEnd
from step.functions.cast import Cast
from step.functions.compare import Compare, Where
from step.functions.dequantize import Dequantize
from step.functions.edit import AppendRow, CausalMask, FilterLastTile, SetRow
from step.functions.elementwise import Add, Max, Min, Mul, MulAdd, Scale, Sub
from step.functions.exp import Exp
from step.functions.gelu import Gelu
from step.functions.matmul import Matmul
from step.functions.pick import Column, RotateHalf
from step.functions.reciprocal import Div, Reciprocal
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.row import ArgMax, RowMax, RowSum
from step.functions.rsqrt import Rsqrt
from step.functions.select import KeepTopK, SelectAll, SelectValid, TopK
from step.functions.silu import Silu
from step.functions.tanh import Tanh
from step.functions.transpose import Transpose
from step.language.dims import dim, shape, symbol
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.function import AccumFunction, FlatMapFunction, Function, MapFunction
from step.language.types import ElementType, Selector, Tile

ROWS = symbol("R")


@cases(
    (Matmul(), (Tile(BF16, 2, 3), Tile(BF16, 3, 4)), Tile(FP32, 2, 4), 48),
    (Matmul(True, BF16), (Tile(BF16, 2, 3), Tile(BF16, 4, 3)), Tile(BF16, 2, 4), 48),
    (Matmul(out=INT32), (Tile(INT8, 2, 3), Tile(INT8, 3, 4)), Tile(INT32, 2, 4), 48),
    (Matmul(out=INT32, bits=4), (Tile(INT8, 2, 3), Tile(INT8, 3, 4)), Tile(INT32, 2, 8), 96),
    (Matmul(True, INT32, bits=4), (Tile(INT8, ROWS, 6), Tile(INT8, 4, 3)), Tile(INT32, ROWS, 4), 48 * ROWS.extent),
    (RowSum(), (Tile(BF16, 2, 3),), Tile(FP32, 2, 1), 6),
    (RowSum(BF16), (Tile(FP32, ROWS, 3),), Tile(BF16, ROWS, 1), 3 * ROWS.extent),
    (RowSum(), (Tile(INT8, 2, 3),), Tile(INT32, 2, 1), 6),
    (RowMax(), (Tile(INT8, 2, 3),), Tile(INT8, 2, 1), 6),
    (ArgMax(), (Tile(BF16, ROWS, 3),), Tile(UINT32, ROWS, 1), 3 * ROWS.extent),
    (Transpose(), (Tile(BOOL, ROWS, 3),), Tile(BOOL, 3, ROWS), 0),
    (RotateHalf(), (Tile(BF16, ROWS, 4),), Tile(BF16, ROWS, 4), 0),
    (Column(2), (Tile(BOOL, ROWS, 3),), Tile(BOOL, ROWS, 1), 0),
    (SetRow(), (Tile(BF16, 3, 4), Tile(UINT32), Tile(BF16, 1, 4)), Tile(BF16, 3, 4), 0),
    (AppendRow(), (Tile(INT8, 8, 4), Tile(UINT32), Tile(INT8, 1, 4)), Tile(INT8, 8, 4), 0),
    (FilterLastTile(1.0), (Tile(BOOL, 2, 3), Tile(UINT32)), Tile(BOOL, 2, 3), 0),
    (CausalMask(), (Tile(FP32, ROWS, 3), Tile(UINT32), Tile(UINT32)), Tile(FP32, ROWS, 3), 0),
    (TopK(2), (Tile(FP32, 1, 3),), Selector(3), 0),
    (KeepTopK(2), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 0),
    (CacheEnd(2, 3, 4), (Tile(UINT32), Tile(UINT32)), Tile(UINT32), 0),
    (Matmul(), (Tile(BF16, ROWS, 3), Tile(BF16, 3, 4)), Tile(FP32, ROWS, 4), 24 * ROWS.extent),
    (Add(), (Tile(BF16, 2, 3), Tile(BF16, 2, 3)), Tile(BF16, 2, 3), 6),
    (Add(), (Tile(BF16, 2, 3), Tile(FP32, 1, 3)), Tile(FP32, 2, 3), 6),
    (Mul(BF16), (Tile(FP32, 1, 3), Tile(FP32, 2, 1)), Tile(BF16, 2, 3), 6),
    (Mul(), (Tile(BF16, ROWS, 3), Tile(BF16, 1, 3)), Tile(BF16, ROWS, 3), 3 * ROWS.extent),
    (Cast(FP32), (Tile(BF16, 2, 3),), Tile(FP32, 2, 3), 0),
    (Silu(), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 48),
    (Silu(BF16), (Tile(FP32, ROWS, 3),), Tile(BF16, ROWS, 3), 24 * ROWS.extent),
    (Sub(), (Tile(BF16, 2, 3), Tile(BF16, 2, 1)), Tile(BF16, 2, 3), 6),
    (Add(), (Tile(INT8, 2, 3), Tile(INT8, 2, 3)), Tile(INT8, 2, 3), 6),
    (Mul(INT32), (Tile(INT8, 2, 3), Tile(INT8, 2, 3)), Tile(INT32, 2, 3), 6),
    (Max(), (Tile(UINT32, 2, 3), Tile(UINT32, 1, 3)), Tile(UINT32, 2, 3), 6),
    (Min(BF16), (Tile(FP32, 2, 3), Tile(BF16, 2, 3)), Tile(BF16, 2, 3), 6),
    (Div(), (Tile(BF16, ROWS, 3), Tile(BF16, ROWS, 1)), Tile(BF16, ROWS, 3), 3 * ROWS.extent),
    (MulAdd(), (Tile(BF16, 2, 3), Tile(BF16, 2, 1), Tile(FP32, 1, 3)), Tile(FP32, 2, 3), 12),
    (MulAdd(), (Tile(INT8, 2, 3), Tile(INT8, 2, 1), Tile(INT8, 1, 3)), Tile(INT8, 2, 3), 12),
    (Scale(0.5), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 6),
    (Scale(127), (Tile(INT8, 2, 3),), Tile(INT8, 2, 3), 6),
    (Scale(1e-50), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 6),
    (Compare("<"), (Tile(BF16, 2, 3), Tile(FP32, 1, 3)), Tile(BOOL, 2, 3), 6),
    (Compare("=="), (Tile(BOOL, 2, 3), Tile(BOOL, 2, 3)), Tile(BOOL, 2, 3), 6),
    (Where(), (Tile(BOOL, 2, 1), Tile(INT8, 2, 3), Tile(INT8, 1, 3)), Tile(INT8, 2, 3), 0),
    (Cast(INT8), (Tile(FP32, 2, 3),), Tile(INT8, 2, 3), 0),
    (Cast(BF16), (Tile(BOOL, 2, 3),), Tile(BF16, 2, 3), 0),
    (Dequantize(4), (Tile(INT8, 2, 3), Tile(FP32, 1, 2)), Tile(BF16, 2, 6), 12),
    (Dequantize(out=FP32), (Tile(INT32, ROWS, 4), Tile(BF16, 1, 4)), Tile(FP32, ROWS, 4), 4 * ROWS.extent),
    (Exp(), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 24),
    (Gelu(FP32), (Tile(BF16, 2, 3),), Tile(FP32, 2, 3), 48),
    (Tanh(), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 36),
    (Reciprocal(), (Tile(FP32, 2, 3),), Tile(FP32, 2, 3), 6),
    (Rsqrt(), (Tile(FP32, 2, 3),), Tile(FP32, 2, 3), 12),
    (SelectValid(), (Tile(BOOL),), Selector(1), 0),
    (SelectAll(5), (Tile(BOOL),), Selector(5), 0),
)
def test_map_types(function: MapFunction, inputs: tuple[ElementType, ...], result: ElementType, flops: object) -> None:
    assert function.result_type(*inputs) == result
    assert sympy.simplify(function.flops(*inputs) - flops) == 0


@cases(
    (Matmul(), [7], (Tile(BF16, 2, 3), Tile(BF16, 3, 4)), Tile(FP32, 2, 4), 48),
    (Add(), [7], (Tile(BF16, 2, 3),), Tile(FP32, 2, 3), 6),
    (Mul(BF16), [7], (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 6),
    (Max(), [7], (Tile(BF16, 2, 3),), Tile(FP32, 2, 3), 6),
    (Min(), [7], (Tile(INT8, 2, 3),), Tile(INT32, 2, 3), 6),
    (Add(INT8), [7], (Tile(UINT32, 2, 3),), Tile(INT8, 2, 3), 6),
    (Mul(), [7], (Tile(UINT32, 2, 3),), Tile(UINT32, 2, 3), 6),
    (MulAdd(), [7], (Tile(BF16, 2, 1), Tile(BF16, 2, 3)), Tile(FP32, 2, 3), 12),
    (RetileRow(), [2, 3], (Tile(BF16, 2, 3),), Tile(BF16, 12, 3), 0),
    (RetileCol(), [3], (Tile(FP32, 2, 3),), Tile(FP32, 2, 9), 0),
)
def test_reduction_types(
    function: AccumFunction, reduced: list[int], inputs: tuple[ElementType, ...], state: Tile, flops: int
) -> None:
    assert function.state_type(shape(reduced), *inputs) == state
    assert function.flops(*inputs) == flops


def test_joining_a_dynamic_number_of_tiles_makes_a_dynamic_tile() -> None:
    state = RetileRow().state_type((ROWS, dim(2)), Tile(BF16, 2, 3))
    assert str(state) == "Tile(BF16, 4*R, 3)" and not state.is_static
    assert RetileRow().initial(state).shape == (0, 3)


@cases(
    (RetileStreamify(), Tile(BF16, 4, 3), Tile(BF16, 1, 3), "(4,)"),
    (RetileStreamify(2, "row", 1), Tile(BF16, 4, 3), Tile(BF16, 2, 3), "(1, 2)"),
    (RetileStreamify(3, "col"), Tile(BF16, 4, 6), Tile(BF16, 4, 3), "(2,)"),
    (RetileStreamify(rank=1), Tile(BF16, ROWS, 3), Tile(BF16, 1, 3), "(1, R)"),
)
def test_splitting_types(function: FlatMapFunction, tile: Tile, result: Tile, pieces: str) -> None:
    assert function.result_type(tile) == result
    assert str(function.result_shape(tile)) == pieces


@pytest.mark.parametrize("function", [Matmul(), Add(), Cast(BF16), Silu(), RetileRow(), SelectAll(1)])
def test_functions_know_their_family(function: Function) -> None:
    assert function.family == type(function).__module__.split(".")[-1]
