"""Accum: any reduction over any inner dimensions."""

from __future__ import annotations

from math import prod

from contract.draft import FLOATS, Draft
from step.functions.elementwise import Add, Mul
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow
from step.language.dtypes import BF16
from step.language.types import Tile


def contract(draft: Draft) -> None:
    kind = draft.one_of("fold", "product", "join")
    if kind == "product":
        x = draft.stream(Tile(BF16, 2, 3), least=1)
        draft.sink(x.accum(Matmul(True), draft.twin(x, Tile(BF16, 4, 3)), rank=draft.number(1, x.rank)))
        return
    x = draft.stream(draft.tile(FLOATS) if kind == "fold" else draft.tile(most=2), least=1)
    rank = draft.number(1, x.rank)
    reduced = x.shape[-rank:]
    if kind == "join" and all(each.is_static for each in reduced) and 0 < prod(int(each) for each in reduced) <= 4:
        draft.sink(x.accum(draft.one_of(RetileRow(), RetileCol()), rank=rank))
    elif x.element in [Tile(each, *x.element.shape) for each in FLOATS]:
        draft.sink(x.accum(draft.one_of(Add(), Mul(), Add(BF16)), rank=rank))
    else:
        draft.sink(x)
