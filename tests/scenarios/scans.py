"""Scan: every state of a reduction, after its element or before it."""

from __future__ import annotations

from scenarios.scenario import STREAMS, Bench, pair, renumbered, scenario, single
from step.functions.elementwise import Add, Mul
from step.functions.matmul import Matmul
from step.functions.select import SelectAll
from step.language.dtypes import BF16, FP32
from step.language.types import Tile

for _what, _rank, _text in STREAMS:
    for _inner in range(1, _rank + 1):
        for _exclusive in (False, True):
            single(
                "scan", f"add-{_inner}-{'before' if _exclusive else 'after'}-{_what}{_rank}", _rank, _text,
                lambda x, rank=_inner, before=_exclusive: x.scan(Add(), rank=rank, exclusive=before), Tile(BF16, 2, 2),
            )  # fmt: skip

_ROWS = "1 2 3 S1 E1 4 S1 5 6 7 8 S2 E1 9 10 S2 D"
for _exclusive in (False, True):
    _name = "before" if _exclusive else "after"
    for _function in (Add(BF16), Mul()):
        single(
            "scan", f"{_function.name}-{_name}", 2, _ROWS,
            lambda x, function=_function, before=_exclusive: x.scan(function, exclusive=before), Tile(FP32, 3, 3),
        )  # fmt: skip
    single(
        "scan", f"one-word-{_name}", 2, _ROWS, lambda x, before=_exclusive: x.scan(Add(), exclusive=before), Tile(FP32)
    )
    single(
        "scan", f"unread-{_name}", 2, _ROWS,
        lambda x, before=_exclusive: x.scan(Add(), exclusive=before).map(SelectAll(2)), Tile(BF16, 2, 2),
    )  # fmt: skip
    # A product of which the sums of the next one come while the words of the last one leave, and a longer one.
    for _left, _right in (((4, 1), (1, 4)), ((2, 4), (4, 3)), ((1, 2), (2, 6))):
        pair(
            "scan", f"matmul-{_left[0]}-{_left[1]}-{_right[1]}-{_name}", 2, _ROWS, renumbered(_ROWS),
            (Tile(BF16, *_left), Tile(BF16, *_right)),
            lambda x, w, before=_exclusive: x.scan(Matmul(), w, exclusive=before),
        )  # fmt: skip


@scenario("scan", "both")
def _both(bench: Bench) -> None:
    """The state before and after, side by side, as online softmax has them."""
    x = bench.play("x", _ROWS, ["N", "M", "L"], Tile(FP32, 1, 4))
    x.scan(Add(), rank=2, exclusive=True).map(Mul(), x.scan(Add(), rank=2)).sink("y")
