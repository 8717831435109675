"""Selectors of indices, and the indices of selectors."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.scenario import ADDRESS, Bench, add, broken, builder, single
from step.functions.select import SelectAll, SelectIndices, TargetIndices
from step.language.faults import Fault
from step.language.stream import Stream
from step.language.types import Selector, Tile
from step.library import indices_of, selector_of

_INDICES = "E1 1 2 S1 E1 0 4 3 S1 D"

single("map", "select_indices", 1, _INDICES, lambda x: x.map(SelectIndices(5)), ADDRESS)
single("map", "select_indices-one", 1, "0 S1 D", lambda x: x.map(SelectIndices(1)), ADDRESS)
single("accum", "select_indices", 1, _INDICES, lambda x: x.accum(SelectIndices(5)), ADDRESS)
single("accum", "select_indices-wide", 1, "99 3 S1 64 S1 D", lambda x: x.accum(SelectIndices(100)), ADDRESS)
single(
    "accum",
    "select_indices-rank2",
    2,
    "E2 1 S1 E1 0 3 S2 1 0 S2 D",
    lambda x: x.accum(SelectIndices(4), rank=2),
    ADDRESS,
)
single("map", "target_indices", 1, "E1 3 24 S1 E1 17 6 S1 D", lambda x: x.map(TargetIndices(2)), Selector(5))
single("map", "target_indices-one", 1, "E1 8 1 S1 2 S1 D", lambda x: x.map(TargetIndices(1)), Selector(4))
single("map", "target_indices-all", 0, "31 31 31 D", lambda x: x.map(TargetIndices(5)), Selector(5))
single("map", "target_indices-only", 0, "1 1 D", lambda x: x.map(TargetIndices(1)), Selector(1))
single("map", "target_indices-long", 0, f"{(1 << 20) - 1} {(1 << 20) - 1 << 20} D",
       lambda x: x.map(TargetIndices(20)), Selector(40))  # fmt: skip


@builder
def _there_and_back(bench: Bench, text: str, rows: int) -> None:
    selectors = selector_of(bench.play("x", text, ["N"], Tile("UINT32", 1, rows)), 80)
    selectors.sink("selectors")
    indices_of(selectors, rows).sink("y")


add("accum", "select_indices-rows", _there_and_back("1 60 2 D", 3))
add("accum", "select_indices-singles", _there_and_back("1 60 2 D", 1))


def _broken(operator: str, what: str, text: str, element: Tile | Selector, apply: Callable[[Stream], Stream]) -> None:
    @builder
    def build(bench: Bench) -> None:
        apply(bench.play("x", text, ["N", "M"], element)).sink("y")

    broken(operator, what, Fault.OUT_OF_RANGE, build())


_broken("map", "select_indices", "1 S1 2 5 S1 D", ADDRESS, lambda x: x.map(SelectIndices(5)))
_broken("map", "target_indices-more", "3 S1 6 7 S1 D", Selector(5), lambda x: x.map(TargetIndices(2)))
_broken("map", "target_indices-fewer", "3 S1 6 0 S1 D", Selector(5), lambda x: x.map(TargetIndices(2)))
_broken("accum", "select_indices-range", "1 S1 2 5 S1 D", ADDRESS, lambda x: x.accum(SelectIndices(5)))
_broken("accum", "select_indices-twice", "2 1 S1 2 3 2 S1 D", ADDRESS, lambda x: x.accum(SelectIndices(5)))
_broken("accum", "select_indices-unread", "2 S1 3 3 S1 D", ADDRESS,
        lambda x: x.accum(SelectIndices(5)).map(SelectAll(1)))  # fmt: skip
