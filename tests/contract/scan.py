"""Scan: any reduction of one size, over any inner dimensions, before and after."""

from __future__ import annotations

from contract.draft import FLOATS, Draft
from step.functions.elementwise import Add, Mul
from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.language.types import Tile


def contract(draft: Draft) -> None:
    exclusive = draft.flag()
    if draft.flag():
        x = draft.stream(Tile(BF16, 3, draft.number(1, 2)), least=1)
        other = draft.twin(x, Tile(BF16, 4, x.element.shape[1]))
        draft.sink(x.scan(Matmul(True), other, rank=draft.number(1, x.rank), exclusive=exclusive))
    else:
        x = draft.stream(draft.tile(FLOATS), least=1)
        function = draft.one_of(Add(), Mul(), Add(BF16))
        draft.sink(x.scan(function, rank=draft.number(1, x.rank), exclusive=exclusive))
