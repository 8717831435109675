"""Functions that give scalars other columns: the right words exactly `latency` cycles behind a start."""

from __future__ import annotations

import numpy as np
from cases import cases
from grids import samples
from scripted import GAPS
from streaming import Case

from step.functions.pick import Column, RotateHalf
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.types import Tile
from step.lowering.fabric import FabricConfig


@samples(
    tile=[
        Tile(BF16, 3, 4), Tile(FP32, 5, 16), Tile(BF16, 1, 64), Tile(BF16, 3, 6), Tile(FP32, 2, 2), Tile(BF16, 7, 24),
    ],
    link=[1, 2, 8, 16, 64],
    gaps=GAPS,
)  # fmt: skip
def test_halves(tile: Tile, link: int, gaps: list[int]) -> None:
    Case(RotateHalf(), (tile,), FabricConfig(link_bytes=link)).check(9, gaps)


@samples(
    case=[
        (Tile(BF16, 3, 4), 1), (Tile(FP32, 1, 40), 39), (Tile(FP32, 40, 1), 0), (Tile(BOOL, 9, 5), 2),
        (Tile(INT8, 33, 3), 0), (Tile(UINT32, 1, 3), 2), (Tile(UINT32), 0), (Tile(INT32, 2, 3), 1),
    ],
    link=[1, 2, 8, 16, 64],
    gaps=GAPS,
)  # fmt: skip
def test_columns(case: tuple[Tile, int], link: int, gaps: list[int]) -> None:
    tile, index = case
    Case(Column(index), (tile,), FabricConfig(link_bytes=link)).check(9, gaps)


@cases(
    (Tile(BF16, 8, 16), 64, (4, 1)),  # two rows a word
    (Tile(BF16, 8, 64), 64, (16, 2)),  # a half is a word
    (Tile(BF16, 8, 128), 64, (32, 3)),  # or two
    (Tile(BF16, 8, 24), 64, (6, 2)),  # windows of three words, which have four rows,
)
def test_halves_leave_when_they_are_there(tile: Tile, link: int, cycles: tuple[int, int]) -> None:
    plan = Case(RotateHalf(), (tile,), FabricConfig(link_bytes=link)).plan
    assert (plan.initiation_interval, plan.latency) == cycles


def test_what_they_do() -> None:
    tile = np.array([[1, 2, -3, np.nan], [0, -0.0, np.inf, 1e-40]], np.float32)
    turned = RotateHalf().apply(tile)
    assert str(turned.tolist()) == "[[3.0, nan, 1.0, 2.0], [-inf, -9.99994610111476e-41, 0.0, -0.0]]"
    assert turned.view(np.uint32)[0, 1] == tile.view(np.uint32)[0, 3] ^ 1 << 31
    twice = RotateHalf().apply(RotateHalf().apply(tile.astype(BF16.numpy)))
    assert (twice.view(np.uint16) == tile.astype(BF16.numpy).view(np.uint16) ^ 1 << 15).all()
    assert (Column(2).apply(tile) == [[-3], [np.inf]]).all()
