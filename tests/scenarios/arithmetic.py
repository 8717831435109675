"""Functions of single scalars, in all formats."""

from __future__ import annotations

from typing import Any

from scenarios.scenario import Bench, dims_of, pair, renumbered, scenario, single
from step.functions.cast import Cast
from step.functions.compare import Compare, Where
from step.functions.dequantize import Dequantize
from step.functions.elementwise import Abs, Add, Clamp, Max, Min, Mul, MulAdd, Relu, Scale, Sub
from step.functions.exp import Exp
from step.functions.gelu import Gelu
from step.functions.log import Log
from step.functions.reciprocal import Div, Reciprocal
from step.functions.rounding import Round
from step.functions.rsqrt import Rsqrt, Sqrt
from step.functions.silu import Sigmoid
from step.functions.sine import Cos, Sin
from step.functions.tanh import Erf, Tanh
from step.functions.threefry import Threefry
from step.language.dtypes import BF16, BOOL, DTYPES, FP32, INT8, INT32, UINT32
from step.language.types import Tile

_TEXT, _ROWS = "E1 1 2 S1 E1 3 41 S1 D", "E1 1 2 S1 3 S1 E1 40 5 6 S1 D"
_ROW_BF16, _BF16, _FP32 = Tile(BF16, 1, 4), Tile(BF16, 3, 4), Tile(FP32, 3, 4)

for _name, _function, _tile in (
    ("exp", Exp(), _BF16),
    ("exp-fp32", Exp(), Tile(FP32, 2, 3)),
    ("exp-wide", Exp(FP32), _ROW_BF16),
    ("gelu", Gelu(), Tile(BF16, 2, 3)),
    ("gelu_by_tanh", Gelu(approximate="tanh"), Tile(FP32, 1, 3)),
    ("tanh", Tanh(), Tile(BF16, 2, 3)),
    ("reciprocal", Reciprocal(), _BF16),
    ("rsqrt", Rsqrt(BF16), _FP32),
    ("scale", Scale(-0.1), _BF16),
    ("relu", Relu(), _BF16),
    ("abs", Abs(), _BF16),
    ("clamp", Clamp(-1, 6), _BF16),
    ("sigmoid", Sigmoid(), _BF16),
    ("sqrt", Sqrt(), _BF16),
    ("erf", Erf(), _BF16),
    ("log", Log(), _BF16),
    ("sin", Sin(), _BF16),
    ("cos", Cos(), Tile(FP32, 2, 3)),
    ("floor", Round(direction="floor"), _BF16),
    ("scale-int8", Scale(7), Tile(INT8, 2, 5)),
):
    single("map", _name, 1, _TEXT, lambda x, function=_function: x.map(function), _tile)

for _source in DTYPES.values():
    for _out in DTYPES.values():
        _usual = INT8 if BOOL in (_source, _out) else FP32 if _source.is_stored or _out.is_stored else None
        if _usual in (None, _source, _out):
            single(
                "map", f"cast-{_source}-{_out}".lower(), 1, "E1 1 70 S1 D",
                lambda x, out=_out: x.map(Cast(out)), Tile(_source, 2, 3),
            )  # fmt: skip

_PAIRS: tuple[tuple[str, Any, Tile, Tile], ...] = (
    ("sub", Sub(), _BF16, Tile(BF16, 3, 1)),
    ("sub-uint32", Sub(), Tile(UINT32, 2, 2), Tile(UINT32, 1, 1)),
    ("add-int32", Add(), Tile(INT32, 2, 3), Tile(INT32, 2, 3)),
    ("threefry", Threefry(), Tile(UINT32, 2, 2), Tile(UINT32, 1, 1)),
    ("mul-int32", Mul(), Tile(INT32, 1, 3), Tile(INT32, 3, 1)),
    ("mul-int8", Mul(INT32), Tile(INT8, 2, 3), Tile(INT8, 2, 3)),
    ("max", Max(), _FP32, Tile(BF16, 1, 4)),
    ("min", Min(), _BF16, _BF16),
    ("max-int8", Max(), Tile(INT8, 3, 3), Tile(INT8, 3, 1)),
    ("div", Div(), _BF16, Tile(BF16, 3, 1)),
    ("div-fp32", Div(BF16), _FP32, _FP32),
    ("dequantize", Dequantize(), Tile(INT8, 3, 4), Tile(BF16, 3, 1)),
    ("dequantize-groups", Dequantize(4), Tile(INT8, 3, 12), Tile(BF16, 3, 4)),
    ("dequantize-fp32", Dequantize(4, FP32), Tile(INT8, 2, 3), Tile(FP32, 1, 3)),
    ("dequantize-int32", Dequantize(out=FP32), Tile(INT32, 2, 3), Tile(BF16, 1, 3)),
    ("compare", Compare("<="), _BF16, Tile(FP32, 1, 4)),
    ("compare-int32", Compare("=="), Tile(INT32, 2, 2), Tile(INT32, 1, 1)),
)
for _name, _function, _first, _second in _PAIRS:
    pair("map", _name, 1, _TEXT, renumbered(_TEXT), (_first, _second), lambda x, w, f=_function: x.map(f, w))

_FOLDS: tuple[tuple[str, Any, Tile], ...] = (
    ("max", Max(), _BF16), ("max-bf16", Max(BF16), Tile(BF16, 1, 4)), ("min-uint32", Min(), Tile(UINT32, 1, 1)),
    ("max-int8", Max(INT8), Tile(INT8, 3, 5)), ("add-int8", Add(), Tile(INT8, 2, 3)),
    ("mul-int32", Mul(), Tile(INT32, 1, 2)),
)  # fmt: skip
for _name, _function, _tile in _FOLDS:
    single("accum", _name, 1, _ROWS, lambda x, function=_function: x.accum(function), _tile)
    single("accum", f"{_name}-2", 2, "E2 1 2 S1 E1 3 S2 E1 S2 7 S2 D", lambda x, f=_function: x.accum(f, rank=2), _tile)

for _name, _function, _scale, _value in (
    ("mul_add", MulAdd(), Tile(BF16, 3, 1), _BF16),
    ("mul_add-fp32", MulAdd(), Tile(FP32, 2, 1), Tile(FP32, 2, 2)),
    ("mul_add-int32", MulAdd(), Tile(INT32, 1, 2), Tile(INT32, 2, 2)),
):
    pair("accum", _name, 1, _ROWS, renumbered(_ROWS), (_scale, _value), lambda x, w, f=_function: x.accum(f, w))


def _three(name: str, function: Any, *tiles: Tile) -> None:
    """A function of three operands."""

    @scenario("map", name)
    def _(bench: Bench) -> None:
        dims = bench.dims(dims_of(1))
        first, *others = (bench.play(f"x{port}", _TEXT, dims, tile) for port, tile in enumerate(tiles))
        first.map(function, *others).sink("y")


_three("mul_add", MulAdd(), _BF16, Tile(BF16, 3, 1), _FP32)
_three("mul_add-bf16", MulAdd(), _ROW_BF16, _ROW_BF16, _ROW_BF16)
_three("mul_add-int8", MulAdd(), Tile(INT8, 2, 2), Tile(INT8, 2, 2), Tile(INT8, 2, 1))
_three("where", Where(), Tile(BOOL, 3, 4), _BF16, _BF16)
_three("where-row", Where(), Tile(BOOL, 3, 1), Tile(INT32, 3, 2), Tile(INT32, 1, 2))
_three("where-bool", Where(), Tile(BOOL, 2, 2), Tile(BOOL, 2, 2), Tile(BOOL, 2, 2))
