"""Reductions of which every state leaves: none is overtaken by the next one."""

from __future__ import annotations

from typing import Any

import pytest
from grids import samples
from streaming import Case

from step.functions.elementwise import Add, Mul
from step.functions.matmul import Matmul
from step.language.dtypes import BF16, FP32
from step.language.types import Tile
from step.lowering.fabric import FabricConfig

REDUCTIONS: list[tuple[Any, tuple[Tile, ...]]] = [
    (Add(), (Tile(BF16, 4, 4),)),
    (Add(BF16), (Tile(FP32, 3, 5),)),
    (Mul(), (Tile(FP32),)),
    (Matmul(), (Tile(BF16, 4, 1), Tile(BF16, 1, 4))),
    (Matmul(), (Tile(BF16, 4, 2), Tile(BF16, 2, 8))),
    (Matmul(True), (Tile(BF16, 1, 4), Tile(BF16, 6, 4))),
]


@samples(reduction=REDUCTIONS, lanes=[1, 4, 16], link=[2, 8, 64], stages=[1, 4])
def test_every_state_leaves(reduction: tuple[Any, tuple[Tile, ...]], lanes: int, link: int, stages: int) -> None:
    fabric = FabricConfig(vector_lanes=lanes, matmul_lanes=lanes, link_bytes=link, stages=stages)
    Case(*reduction, fabric, reduce=True).check(12, [0, 0, 0, 2], scan=True)


@pytest.mark.parametrize("shape, lanes, link", [((8, 7), 8, 32), ((5, 8), 6, 16)], ids=str)
def test_sums_do_not_overtake_the_words_of_the_last_state(shape: tuple[int, int], lanes: int, link: int) -> None:
    """Blocks of several rows are written before the words of the last row have left: so they go elsewhere."""
    rows, cols = shape
    inputs = Tile(BF16, rows, 1), Tile(BF16, 1, cols)
    Case(Matmul(), inputs, FabricConfig(matmul_lanes=lanes, link_bytes=link), reduce=True).check(12, [0], scan=True)
