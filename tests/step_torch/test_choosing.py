"""Tiles that an import chooses: all columns of wide weights of a single row, and nothing where it has no need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from single import Name, Operator, bf16, written

import step
import step_torch
from step_models.fabrics import PUBLISHED, WIDE
from step_torch import Tiling
from step_torch.choosing import WeightProduct, chosen


def product(x: str, rows: int, depth: int, columns: int) -> WeightProduct:
    return WeightProduct(x, rows, depth, columns, 2 * depth * columns)


ONE = [product("x", 1, 256, 512), product("x", 1, 256, 256), product("y", 1, 1024, 256)]


def test_all_columns_in_steps_of_the_depth() -> None:
    found, note = chosen(Tiling(), ONE, WIDE)
    assert found == Tiling(columns=512, depth=64)
    assert note == (
        "a row takes at least 5.7 times the 896 cycles in which memory reads all weights: additions in order, one "
        "behind the other, take 5.7 times; 1.0 times with sum='fused'"
    )
    assert chosen(Tiling(sum="fused"), ONE, PUBLISHED)[0] == Tiling(columns=512, depth=64, side_by_side=16, sum="fused")


@pytest.mark.parametrize(
    ("tiling", "products"),
    [
        (Tiling(columns=16), ONE),
        (Tiling(), [product("x", 4, 256, 512)]),
        (Tiling(), [product("x", 1, 64, 128)]),
        (Tiling(), []),
    ],
)
def test_nothing_is_chosen(tiling: Tiling, products: list[WeightProduct]) -> None:
    assert chosen(tiling, products, WIDE) == (tiling, "")


def test_the_bits_are_the_same(tmp_path: Path) -> None:
    linear = Operator("aten.linear.default", [Name("x"), Name("w")], {"y": ("bfloat16", (1, 256))})
    path = written(tmp_path / "model.pt2", [linear], {"x": bf16(1, 256)}, {"w": bf16(256, 256, seed=1)})
    wide, narrow = (step_torch.load(path, tiling=each) for each in (None, Tiling(columns=16)))
    assert not narrow.notes and wide.notes[0].startswith("a row takes at least 8.0 times the 128 cycles")
    assert wide.tiling.said == [
        "sums: ordered",
        "tiles: 4 rows of activations, 256 columns of weights, in 16 units side by side",
        "depth: up to 64 rows of weights at a time",
    ]
    runs = [step.run(each.program, "approx", values="all") for each in (wide, narrow)]
    first, second = (np.asarray(each.outputs["output"]) for each in runs)
    assert np.array_equal(first, second) and 4 * runs[0].cycles < runs[1].cycles
