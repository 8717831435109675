"""Scan: shapes and meaning."""

from __future__ import annotations

from typing import Any

from cases import cases
from running import Bench, refusal

from step.functions.elementwise import Add
from step.functions.matmul import Matmul
from step.functions.retile import RetileRow
from step.language.dtypes import BF16, FP32
from step.language.types import Tile
from step.programs.metrics import metrics

SCALAR = Tile(FP32)


@cases(
    (["N", "M"], 1, False, "1 2 3 S1 4 S1 D", "1 3 6 S1 4 S1 D"),
    (["N", "M"], 1, True, "1 2 3 S1 4 S1 D", "0 1 3 S1 0 S1 D"),
    (["N", "M", "L"], 2, False, "1 S1 2 S2 E1 3 S1 E1 S2 E2 4 S2 D", "1 S1 3 S2 E1 3 S1 E1 S2 E2 4 S2 D"),
    (["N", "M", "L"], 2, True, "1 S1 2 S1 E1 3 S2 4 S1 5 S2 D", "0 S1 1 S1 E1 3 S2 0 S1 4 S2 D"),
)
def test_scan_meaning(dims: list[Any], rank: int, exclusive: bool, text: str, states: str, bench: Bench) -> None:
    assert bench.text(bench.source("x", text, dims, SCALAR).scan(Add(), rank=rank, exclusive=exclusive)) == states


def test_a_scan_costs_what_its_reduction_does() -> None:
    found = []
    for operator in ("scan", "accum"):
        bench = Bench()
        left, right = (bench.source(name, "D", [2, 3], Tile(BF16, 4, 4)) for name in "xw")
        y = getattr(left, operator)(Matmul(), right)
        y.sink("y")
        found.append((metrics(bench.graph).flops, metrics(bench.graph).on_chip_bytes))
        assert str(y.type) == f"{'[2, 3]' if operator == 'scan' else '[2]'} of Tile(FP32, 4, 4)"
    assert found[0] == found[1]


@cases(
    (lambda b: b.source("x", "D", [3], SCALAR).scan(Add()),
     "rank must be at least 1, but this stream allows at most 0"),
    (lambda b: b.source("x", "D", [3, 3], SCALAR).scan(Add(), rank=2), "rank must be 1 to 1 here, not 2"),
    (lambda b: b.source("x", "D", [3, 3], SCALAR).scan(RetileRow()),
     "scan needs a state of one size, but that of retile_row grows"),
    (lambda b: b.source("x", "D", [3, 1], SCALAR).scan(RetileRow()),
     "scan needs a state of one size, but that of retile_row grows"),
    (lambda b: b.source("x", "D", [3, 3], Tile(FP32, b.graph.symbol("R"), 2)).scan(Add(), exclusive=True),
     "an exclusive scan needs an initial state of known size, not Tile(FP32, R, 2)"),
)  # fmt: skip
def test_scan_is_refused(build: Any, message: str) -> None:
    assert refusal("scan", build) == message
