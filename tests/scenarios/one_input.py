"""Operators and functions of one input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.scenario import STREAMS, single
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.select import SelectAll, SelectValid
from step.functions.silu import Silu
from step.language.dtypes import BF16, BOOL, FP32, INT8, UINT32
from step.language.stream import Stream
from step.language.types import Tile, Tuple

for _what, _rank, _text in STREAMS:
    _name = f"{_what}{_rank}"
    single("source", _name, _rank, _text, lambda x: x)
    single("sink", _name, _rank, _text, lambda x: x, Tuple((Tile(BF16, 2, 3), Tile(BOOL, 1, 5))))
    single("broadcast", _name, _rank, _text, lambda x: [x, x, x])
    single("map", f"silu-{_name}", _rank, _text, lambda x: x.map(Silu()), Tile(BF16, 2, 3))
    single("promote", _name, _rank, _text, lambda x: x.promote())
    for _chunk in (1, 2, 3):
        single(
            "reshape", f"{_chunk}-{_name}", _rank, _text, lambda x, n=_chunk: x.reshape(n, pad=-1.0), Tile(INT8, 1, 2)
        )
    for _high in range(1, _rank + 1):
        for _low in range(_high):
            single(
                "flatten", f"{_low}-{_high}-{_name}", _rank, _text, lambda x, low=_low, high=_high: x.flatten(low, high)
            )
    for _reduced in range(1, _rank + 1):
        single(
            "accum", f"add-{_reduced}-{_name}", _rank, _text,
            lambda x, rank=_reduced: x.accum(Add(), rank=rank), Tile(FP32, 2, 2),
        )  # fmt: skip
    for _axis in ("row", "col"):
        for _inner in (0, 1):
            single(
                "flat_map", f"{_axis}-{_inner}-{_name}", _rank, _text,
                lambda x, axis=_axis, rank=_inner: x.flat_map(RetileStreamify(2, axis, rank)), Tile(BF16, 4, 2),
            )  # fmt: skip

_COUPLE = Tuple((Tile(BF16, 1, 3), Tile(BOOL)))
single("reshape", "1-tuple", 1, "E1 1 2 S1 3 S1 D", lambda x: x.reshape(1), _COUPLE)

# Values that nobody reads: only control travels.
_PAIRS, _TEXT = Tile(BF16, 2, 2), "1 2 S1 E1 3 4 5 S2 E1 6 S2 D"
for _operator, _bare in (
    ("promote", lambda x: x.promote()),
    ("flatten", lambda x: x.flatten(0, 1)),
    ("reshape", lambda x: x.reshape(3)[0]),
    ("zip", lambda x: x.zip(x)),
    ("broadcast", lambda x: (x, x)),
    ("expand", lambda x: x.repeat(2)),
    ("flat_map", lambda x: x.flat_map(RetileStreamify())),
    ("accum", lambda x: x.accum(Add())),
    ("map", lambda x: x.map(SelectAll(3))),
):

    def _unread(x: Stream, bare: Callable[[Stream], Any] = _bare) -> list[Stream]:
        made = bare(x)
        return [each.map(SelectAll(2)) for each in (made if isinstance(made, tuple) else (made,))]

    single(_operator, "unread", 2, _TEXT, _unread, _PAIRS)

single("reshape", "flags", 1, "1 2 S1 3 4 5 6 S1 E1 D", lambda x: x.reshape(3)[1], _PAIRS)
single("reshape", "dynamic-tiles", 1, "1 2 S1 3 S1 4 5 6 S1 7 S1 D",
       lambda x: x.accum(RetileRow()).reshape(2)[0].flatten(0, 1).flat_map(RetileStreamify(1, "row")),
       Tile(BF16, 1, 4), [4, "M"])  # fmt: skip
single("expand", "repeat-tuple", 1, "E1 1 2 S1 3 S1 D", lambda x: x.repeat(3), _COUPLE)
single("flatten", "dense", 2, "1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", lambda x: x.flatten(0, 2), dims=["N", 2, 2])
single("flatten", "dense-inner", 2, "1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", lambda x: x.flatten(0, 1), dims=["N", 2, 2])
single("flatten", "dense-outer", 2, "1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", lambda x: x.flatten(1, 2), dims=["N", 2, 2])
single("flatten", "empty-outer", 2, "E2 1 2 S1 3 4 S2 E2 D", lambda x: x.flatten(0, 1), dims=["N", "M", 2])
single("promote", "static", 1, "1 2 S1 3 4 S1 D", lambda x: x.promote(), dims=[2, 2])
single("expand", "static-1", 1, "1 S1 2 S1 D", lambda x: x.expand_static(1), dims=["N", 1])
single("expand", "static-3", 1, "1 S1 2 S1 D", lambda x: x.expand_static(3), dims=["N", 1])
single("expand", "static-empties", 2, "E2 1 S1 2 S2 E2 E2 3 S2 D", lambda x: x.expand_static(2), dims=["N", "M", 1])
single("flat_map", "one-piece", 1, "E1 1 2 S1 D", lambda x: x.flat_map(RetileStreamify(4, "row", 1)), Tile(BF16, 4, 2))
single("flat_map", "bits", 1, "E1 1 2 S1 D", lambda x: x.flat_map(RetileStreamify(1, "col")), Tile(BOOL, 3, 5))
single("flat_map", "words", 1, "E1 1 2 S1 3 S1 D", lambda x: x.flat_map(RetileStreamify(2, "col")), Tile(FP32, 3, 4))
single("flat_map", "half", 1, "1 2 S1 3 4 5 S1 D", lambda x: x.flat_map(RetileStreamify(1, "col")), Tile(FP32, 3, 4))
single("map", "cast", 1, "E1 1 2 S1 D", lambda x: x.map(Cast(FP32)), Tile(BF16, 3, 3))
single("map", "select_valid", 1, "E1 1 2 S1 D", lambda x: x.map(SelectValid()), Tile(BOOL))
single("map", "select_all", 1, "E1 1 2 S1 D", lambda x: x.map(SelectAll(3)))
single("accum", "retile_row", 1, "1 2 S1 3 4 S1 D", lambda x: x.accum(RetileRow()), Tile(BF16, 2, 3), ["N", 2])
single("accum", "retile_col", 1, "1 2 3 S1 D", lambda x: x.accum(RetileCol()), Tile(UINT32, 4, 1), ["N", 3])
single(
    "accum", "retile_row-2", 3, "E3 1 2 S1 3 4 S2 5 6 S1 7 8 S3 E3 D", lambda x: x.accum(RetileRow(), rank=2),
    Tile(INT8, 1, 3), ["N", "M", 2, 2],
)  # fmt: skip
