"""Types, FLOPs and error texts of the function library."""

from __future__ import annotations

import pytest
import sympy

from step.errors import TypeMismatch
from step.functions.cache import CacheEnd, CacheRows, CacheTiles, ExpertTiles
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
from step.language.dims import DimKind, dim, shape, symbol
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.function import AccumFunction, FlatMapFunction, Function, MapFunction
from step.language.types import ElementType, Selector, Tile

ROWS = symbol("R")
NUMBERS = "BF16 or FP32, or all of INT8, INT32 or UINT32"
FORMATS = "BF16, FP32, INT8, INT32, UINT32, BOOL, FP16, FP8_E4M3 or FP8_E5M2"


def shown(text: str, *inputs: ElementType) -> str:
    """An error's ``text``, in which ``*`` stands for all ``inputs``, NUMBERS and FORMATS for those."""
    text = text.replace("NUMBERS", NUMBERS).replace("FORMATS", FORMATS)
    return text.replace("*", ", ".join(map(str, inputs)) or "nothing")


@pytest.mark.parametrize(
    "function, inputs, result, flops",
    [
        (Matmul(), (Tile(BF16, 2, 3), Tile(BF16, 3, 4)), Tile(FP32, 2, 4), 48),
        (Matmul(True, BF16), (Tile(BF16, 2, 3), Tile(BF16, 4, 3)), Tile(BF16, 2, 4), 48),
        (Matmul(out=INT32), (Tile(INT8, 2, 3), Tile(INT8, 3, 4)), Tile(INT32, 2, 4), 48),
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
        (Exp(), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 24),
        (Gelu(FP32), (Tile(BF16, 2, 3),), Tile(FP32, 2, 3), 48),
        (Tanh(), (Tile(BF16, 2, 3),), Tile(BF16, 2, 3), 36),
        (Reciprocal(), (Tile(FP32, 2, 3),), Tile(FP32, 2, 3), 6),
        (Rsqrt(), (Tile(FP32, 2, 3),), Tile(FP32, 2, 3), 12),
        (SelectValid(), (Tile(BOOL),), Selector(1), 0),
        (SelectAll(5), (Tile(BOOL),), Selector(5), 0),
    ],
)
def test_map_types(function: MapFunction, inputs: tuple[ElementType, ...], result: ElementType, flops: object) -> None:
    assert function.result_type(*inputs) == result
    assert sympy.simplify(function.flops(*inputs) - flops) == 0


@pytest.mark.parametrize(
    "function, reduced, inputs, state, flops",
    [
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
    ],
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


@pytest.mark.parametrize(
    "function, inputs, text",
    [
        (
            ExpertTiles(4, 2),
            (Selector(5),),
            "expert_tiles needs an expert, a Tile(UINT32, 1, 1) or a Selector(4), not *",
        ),
        (ExpertTiles(4, 0), (Tile(UINT32),), "expert_tiles needs tiles to be an integer >= 1, not 0"),
        (ExpertTiles(4, 2, -1), (Tile(UINT32),), "expert_tiles needs base to be an integer >= 0, not -1"),
        (
            ExpertTiles(4, 2, 2**32 - 7),
            (Tile(UINT32),),
            "expert_tiles needs addresses below 2^32, not up to 4294967296",
        ),
        (
            CacheTiles(4, 2, 3),
            (Tile(UINT32), Tile(INT32)),
            "cache_tiles needs a request and its length in rows, two of Tile(UINT32, 1, 1), not *",
        ),
        (CacheRows(0), (Tile(UINT32),), "cache_rows needs rows to be an integer >= 1, not 0"),
        (CacheRows(1), (Tile(INT32),), "cache_rows needs a length in rows, a Tile(UINT32, 1, 1), not *"),
    ],
)
def test_address_errors(function: FlatMapFunction, inputs: tuple[ElementType, ...], text: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        function.result_type(*inputs)
    assert str(caught.value) == shown(text, *inputs)


@pytest.mark.parametrize(
    "function, tile, result, pieces",
    [
        (RetileStreamify(), Tile(BF16, 4, 3), Tile(BF16, 1, 3), "(4,)"),
        (RetileStreamify(2, "row", 1), Tile(BF16, 4, 3), Tile(BF16, 2, 3), "(1, 2)"),
        (RetileStreamify(3, "col"), Tile(BF16, 4, 6), Tile(BF16, 4, 3), "(2,)"),
        (RetileStreamify(rank=1), Tile(BF16, ROWS, 3), Tile(BF16, 1, 3), "(1, R)"),
    ],
)
def test_splitting_types(function: FlatMapFunction, tile: Tile, result: Tile, pieces: str) -> None:
    assert function.result_type(tile) == result
    assert str(function.result_shape(tile)) == pieces


@pytest.mark.parametrize(
    "function, inputs, text",
    [
        (
            Matmul(),
            (Tile(BF16, 2, 3), Tile(BF16, 2, 3)),
            "matmul needs [M,K] and [K,N] tiles, both of BF16 or both of INT8, not *",
        ),
        (
            Matmul(transposed=True),
            (Tile(BF16, 2, 3), Tile(FP32, 2, 3)),
            "matmul needs [M,K] and [N,K] tiles, both of BF16 or both of INT8, not *",
        ),
        (Matmul(), (Tile(BF16), Tile(INT8)), "matmul needs [M,K] and [K,N] tiles, both of BF16 or both of INT8, not *"),
        (Matmul(), (Tile(INT8), Tile(INT8)), "matmul of * needs out to be INT32, not FP32"),
        (RowSum(INT32), (Tile(BF16),), "row_sum of * needs out to be BF16 or FP32, not INT32"),
        (RowSum(FP32), (Tile(INT8),), "row_sum of * needs out to be INT32, not FP32"),
        (
            RowMax(),
            (Tile(BOOL, 2, 3),),
            "row_max needs 1 tile of BF16, FP32, INT8 or INT32 with a fixed number of columns >= 1, not *",
        ),
        (
            ArgMax(),
            (Tile(UINT32, 2, 3),),
            "arg_max needs 1 tile of BF16, FP32, INT8 or INT32 with a fixed number of columns >= 1, not *",
        ),
        (Transpose(), (Selector(2),), "transpose needs one tile, not *"),
        (CacheEnd(0, 3, 4), (), "cache_end needs requests to be an integer >= 1, not 0"),
        (CacheEnd(1, 3, 6), (Tile(UINT32), Tile(UINT32)), "cache_end needs rows to be a power of two, not 6"),
        (CacheEnd(2, 3, 4), (Tile(UINT32),), "cache_end needs a request and its length in rows, two of *, not *"),
        (Matmul(), (), "matmul needs [M,K] and [K,N] tiles, both of BF16 or both of INT8, not *"),
        (Matmul(out=INT32), (Tile(BF16), Tile(BF16)), "matmul of * needs out to be BF16 or FP32, not INT32"),
        (Add(), (Tile(BF16),), "add needs 2 tiles of NUMBERS, not *"),
        (Mul(), (Tile(BF16), Selector(2)), "mul needs 2 tiles of NUMBERS, not *"),
        (Sub(), (Tile(INT8), Tile(INT32)), "sub needs 2 tiles of NUMBERS, not *"),
        (Max(), (Tile(BOOL), Tile(BOOL)), "max needs 2 tiles of NUMBERS, not *"),
        (MulAdd(), (Tile(BF16), Tile(BF16)), "mul_add needs 3 tiles of NUMBERS, not *"),
        (Min(FP32), (Tile(INT8), Tile(INT8)), "min of * needs out to be INT8, INT32 or UINT32, not FP32"),
        (Div(), (Tile(INT32), Tile(INT32)), "div needs 2 tiles of BF16 or FP32, not *"),
        (Exp(), (Tile(INT8),), "exp needs 1 tile of BF16 or FP32, not *"),
        (Gelu(INT8), (Tile(BF16),), "gelu of * needs out to be BF16 or FP32, not INT8"),
        (Scale(0.5), (Tile(INT8),), "scale of * needs constant to be an integer of INT8, not 0.5"),
        (Scale(128), (Tile(INT8),), "scale of * needs constant to be an integer of INT8, not 128"),
        (Scale(float("inf")), (Tile(BF16),), "scale of * needs constant to be a number that FP32 holds, not inf"),
        (Scale(1e39), (Tile(BF16),), "scale of * needs constant to be a number that FP32 holds, not 1e+39"),
        (Scale(1.0), (Tile(BOOL),), "scale needs 1 tile of BF16, FP32, INT8, INT32 or UINT32, not *"),
        (Compare("="), (Tile(BF16), Tile(BF16)), "compare needs relation to be one of < <= == != >= >, not '='"),
        (
            Compare("<"),
            (Tile(BOOL), Tile(INT8)),
            "compare needs 2 tiles of BF16 or FP32, or all of INT8, INT32, UINT32 or BOOL, not *",
        ),
        (
            Where(),
            (Tile(INT8), Tile(BF16), Tile(BF16)),
            "where needs a tile of BOOL and 2 tiles of the same format (FORMATS), not *",
        ),
        (
            Where(),
            (Tile(BOOL), Tile(BF16), Tile(FP32)),
            "where needs a tile of BOOL and 2 tiles of the same format (FORMATS), not *",
        ),
        (
            Cast(BF16),
            (Selector(2),),
            "cast needs 1 tile of FORMATS, not *",
        ),
        (
            Add(),
            (Tile(BF16, 2, 3), Tile(BF16, 3, 3)),
            "add needs tiles of the same shape, or with 1 row or 1 column to repeat, not *",
        ),
        (Tanh(), (Tile(INT32),), "tanh needs 1 tile of BF16 or FP32, not *"),
        (Silu(), (Tile(INT32),), "silu needs 1 tile of BF16 or FP32, not *"),
        (SelectValid(), (Tile(BF16),), "select_valid needs one padding flag, a Tile(BOOL, 1, 1), not *"),
        (SelectAll(0), (Tile(BF16),), "select_all needs targets to be an integer >= 1, not 0"),
    ],
)
def test_map_errors(function: MapFunction, inputs: tuple[ElementType, ...], text: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        function.result_type(*inputs)
    assert str(caught.value) == shown(text, *inputs)


@pytest.mark.parametrize(
    "function, inputs, text",
    [
        (Matmul(out=BF16), (Tile(BF16), Tile(BF16)), "matmul of * needs out to be FP32 in a reduction, not BF16"),
        (Add(), (Tile(BF16), Tile(BF16)), "add needs 1 tile of BF16, FP32, INT8, INT32 or UINT32, not *"),
        (Max(), (Tile(BOOL),), "max needs 1 tile of BF16, FP32, INT8, INT32 or UINT32, not *"),
        (Max(BF16), (Tile(INT8),), "max of * needs out to be INT8, INT32 or UINT32, not BF16"),
        (MulAdd(), (Tile(INT8), Tile(INT32)), "mul_add needs 2 tiles of NUMBERS, not *"),
        (RetileRow(), (Selector(2),), "retile_row needs one tile, not *"),
        (
            RetileCol(),
            (Tile(BF16, symbol("R", DimKind.RAGGED), 2),),
            "retile_col needs tiles with the same number of rows, not *",
        ),
    ],
)
def test_reduction_errors(function: AccumFunction, inputs: tuple[ElementType, ...], text: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        function.state_type(shape([2]), *inputs)
    assert str(caught.value) == shown(text, *inputs)


@pytest.mark.parametrize(
    "function, tile, text",
    [
        (RetileStreamify(3), Tile(BF16, 4, 3), "retile_streamify needs a number of rows that chunk 3 divides, not *"),
        (RetileStreamify(axis="x"), Tile(BF16), 'retile_streamify needs axis to be "row" or "col", not \'x\''),
        (RetileStreamify(rank=2), Tile(BF16), "retile_streamify needs rank to be 0 or 1, not 2"),
        (RetileStreamify(chunk=0), Tile(BF16), "retile_streamify needs chunk to be an integer >= 1, not 0"),
        (
            RetileStreamify(2),
            Tile(BF16, ROWS, 3),
            "retile_streamify needs a fixed number of rows to split into chunks of 2, not *",
        ),
    ],
)
def test_splitting_errors(function: FlatMapFunction, tile: Tile, text: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        function.result_type(tile)
    assert str(caught.value) == shown(text, tile)


@pytest.mark.parametrize("function", [Matmul(), Add(), Cast(BF16), Silu(), RetileRow(), SelectAll(1)])
def test_functions_know_their_family(function: Function) -> None:
    assert function.family == type(function).__module__.split(".")[-1]
