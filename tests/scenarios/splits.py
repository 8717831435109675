"""Reshape of dimensions that are not the innermost one."""

from __future__ import annotations

from scenarios.scenario import ADDRESS, NUMBER, single
from step.functions.select import SelectAll
from step.language.dtypes import BF16, BOOL
from step.language.types import Selector, Tile, Tuple

_SQUARE = "1 S1 E1 2 3 S1 E1 S2 E1 4 S1 5 S1 6 7 8 S2 D"
_DEEP = "1 2 S1 E1 S2 E1 3 S1 S3 E3 E1 E1 S2 4 S1 5 S3 D".replace("3 S1 S3", "3 S3")
for _what, _text, _dims, _rank, _chunks in (
    ("rows", _SQUARE, ["N", 4, "L"], 1, (1, 2, 4)),
    ("outermost", _SQUARE, [2, 4, "L"], 2, (1, 2)),
    ("outermost-rows", "1 S1 E1 2 3 S1 4 S1 5 S1 E1 D", [6, "M"], 1, (2, 3, 6)),
    ("nothing", "D", ["N", 4, "L"], 1, (2,)),
    ("none-of-them", "E2 E2 D", ["N", 0, "L"], 1, (2,)),
    ("middle", _DEEP, ["N", "M", 2, "K"], 1, (1, 2)),
    ("above-empties", "E2 1 S1 2 S2 E2 E2 D", [4, "M", "L"], 2, (2,)),
):
    for _chunk in _chunks:
        single(
            "reshape", f"split-{_rank}-{_chunk}-{_what}", len(_dims) - 1, _text,
            lambda x, chunk=_chunk, rank=_rank: x.reshape(chunk, rank=rank), Tile(BF16, 2, 3), _dims,
        )  # fmt: skip
for _element in (NUMBER, ADDRESS, Selector(3), Tuple((Tile(BF16, 1, 3), Tile(BOOL)))):
    single(
        "reshape", f"split-{_element}", 1, "1 S1 2 S1 E1 3 4 S1 D",
        lambda x: x.reshape(2, rank=1)[0], _element, [4, "M"],
    )  # fmt: skip
single(
    "reshape", "split-unread", 1, "1 S1 2 S1 E1 3 4 S1 D",
    lambda x: x.reshape(2, rank=1)[0].map(SelectAll(2)), Tile(BF16, 2, 3), [4, "M"],
)  # fmt: skip
single(
    "reshape", "split-flags", 1, "1 S1 2 S1 E1 3 4 S1 D", lambda x: x.reshape(2, rank=1)[1], Tile(BF16, 2, 3), [4, "M"]
)
