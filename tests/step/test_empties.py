"""Empties that once were lost or refused on the way: a row without elements has a sum, and stays a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from running import Bench, text_of

from sim_approx import backend as approx
from step.functions.elementwise import Add
from step.language.dtypes import FP32
from step.language.stream import Stream
from step.running.interpreter import interpret


def routed(bench: Bench, x: Stream) -> Stream:
    """``x`` through two targets and together again, and the sum per selector, of which the second names nothing."""
    which = bench.choose("which", "1 0 3 D", 2, x.shape[:1])
    parts = x.partition(which, targets=2, rank=x.rank)
    return bench.graph.reassemble(parts, which, rank=x.rank, order="index").accum(Add(), rank=x.rank + 1)


CASES = {
    "a cache of length 0": ([2, 1, "R"], "1 2 S2 E1 S2 D", lambda bench, x: x.accum(Add()), "3 S1 0 S1 D"),
    "its rows": ([2, 1, "R"], "1 2 S2 E1 S2 D", lambda bench, x: x.flatten(1, 2), "1 2 S1 E1 D"),
    "its elements": ([2, 1, "R"], "1 2 S2 E1 S2 D", lambda bench, x: x.flatten(0, 1), "1 2 S1 E1 D"),
    "a promoted row": (["N", "R"], "E1 D", lambda bench, x: x.promote(), "E1 S2 D"),
    "its sum": (["N", "R"], "E1 D", lambda bench, x: x.promote().accum(Add()), "0 S1 D"),
    "nobody selected": (["N"], "1 2 3 D", routed, "1 0 6 D"),
    "no row selected": (["N", "R"], "1 2 S1 3 S1 E1 D", routed, "3 0 0 D"),
}
"""What: dimensions, tokens, what is done with them, and what comes out."""


@pytest.mark.parametrize("floor", ["interpreter", "fast model"])
@pytest.mark.parametrize(("dims", "text", "apply", "expected"), CASES.values(), ids=list(CASES))
def test_empties(
    dims: list[Any], text: str, apply: Callable[[Bench, Stream], Stream], expected: str, floor: str, bench: Bench
) -> None:
    apply(bench, bench.tile_source("x", text, dims, FP32)).sink("y")
    if floor == "interpreter":
        found = interpret(bench.graph, bench.inputs).outputs
    else:
        found = approx.run(bench.graph, bench.inputs, values="all").outputs or {}
    assert text_of(found["y"]) == expected.removesuffix(" D")
