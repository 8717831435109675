"""Map: functions of one operand and of two."""

from __future__ import annotations

from contract.draft import FLOATS, Draft
from step.functions.cast import Cast
from step.functions.elementwise import Add, Mul
from step.functions.select import SelectAll
from step.functions.silu import Silu
from step.language.dtypes import BF16, FP32
from step.language.types import Tile


def contract(draft: Draft) -> None:
    if draft.number(0, 3) == 0:
        draft.sink(draft.stream().map(SelectAll(draft.number(1, 4))))
        return
    x = draft.stream(draft.tile(FLOATS))
    if draft.flag():
        draft.sink(x.map(draft.one_of(Silu(), Cast(BF16), Cast(FP32), Silu(FP32))))
        return
    rows, cols = x.element.shape
    other = Tile(draft.one_of(*FLOATS), draft.one_of(rows, 1), draft.one_of(cols, 1))
    draft.sink(x.map(draft.one_of(Add(), Mul(), Add(BF16)), draft.twin(x, other)))
