"""Off-chip memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios.scenario import STREAMS, Bench, add, builder, dims_of
from step.language.dtypes import BF16, BOOL, FP8_E4M3, FP8_E5M2, FP16, INT8
from step.language.tokens import Token
from step.language.types import Tile


@builder
def _load(
    bench: Bench,
    shape: Sequence[int],
    tile: tuple[int, int],
    reference: str | None = None,
    rank: int = 0,
    dtype: Any = BF16,
    **walk: Any,
) -> None:
    x = bench.graph.tensor("a", shape, dtype)
    ref = bench.play("ref", reference, dims_of(rank)) if reference is not None else None
    bench.graph.load(x, tile=tile, reference=ref, **walk).sink("y")
    bench.inputs["a"] = (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype.numpy)


add("linear_off_chip_load", "one-beat", _load([4, 2], (2, 1)))
add("linear_off_chip_load", "whole", _load([4, 6], (2, 3)))
add("linear_off_chip_load", "three-dims", _load([2, 4, 4], (2, 4)))
add("linear_off_chip_load", "one-tile", _load([4, 4], (4, 4)))
add("linear_off_chip_load", "bits", _load([2, 12], (2, 3), dtype=BOOL))
add("linear_off_chip_load", "stored", _load([2, 12], (2, 3), dtype=FP8_E4M3))
add("linear_off_chip_load", "strided", _load([4, 8], (2, 2), out=(3, 2), stride=(0, 3), offset=1))
add("linear_off_chip_load", "backward", _load([2, 8], (2, 2), out=(4,), stride=(-1,), offset=3))
add("linear_off_chip_load", "flat", _load([8, 8], (2, 2), out=(4, 4), stride=(4, 1)))
for _what, _rank, _text in STREAMS[:9]:
    add("linear_off_chip_load", f"reference-{_what}{_rank}", _load([4, 4], (2, 2), _text, _rank))  # type: ignore[arg-type]
add("linear_off_chip_load", "reference-single", _load([4, 4], (2, 2), "1 S1 E1 2 3 S1 D", 1, out=(1,), offset=2))
add("linear_off_chip_load", "reference-wide", _load([4, 4], (4, 4), "1 S1 E1 2 3 S1 D", 1, out=(2,), stride=(0,)))


@builder
def _store(bench: Bench, element: Tile, rank: int, text: str | list[Token]) -> None:
    bench.play("x", text, dims_of(rank), element).store("y")


for _what, _rank, _text in STREAMS[:9]:
    add("linear_off_chip_store", f"{_what}{_rank}", _store(Tile(BF16, 3, 3), _rank, _text))
add("linear_off_chip_store", "one-beat", _store(Tile(INT8, 1, 3), 1, "1 2 S1 E1 3 S1 D"))
add("linear_off_chip_store", "stored", _store(Tile(FP16, 2, 3), 1, "1 2 S1 E1 3 S1 D"))
add("linear_off_chip_store", "stored-bytes", _store(Tile(FP8_E5M2, 1, 3), 1, "1 2 S1 E1 3 S1 D"))
add("linear_off_chip_store", "bits", _store(Tile(BOOL, 3, 3), 1, "1 2 S1 E1 3 S1 D"))
