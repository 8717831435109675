"""FlatMap with a number of pieces that values say."""

from __future__ import annotations

import numpy as np

from scenarios.scenario import ADDRESS, STREAMS, Bench, Inputs, add, dims_of, scenario
from step.functions.counting import CountFrom
from step.functions.select import SelectAll
from step.language.graph import Graph
from step.language.tokens import Token, parse


def _number(value: int) -> np.ndarray:
    return np.array([[value]], np.uint32)


def _counts(text: str | list[Token], seed: int) -> tuple[list[Token], list[Token]]:
    """First numbers and counts, 0 to 4, in the shape of a stream."""
    shape = parse(text) if isinstance(text, str) else text
    firsts = [each._replace(value=_number(each.value * 1_000_003)) if each.has_value else each for each in shape]
    counts = [each._replace(value=_number(each.value * seed % 5)) if each.has_value else each for each in shape]
    return firsts, counts


def _count(what: str, rank: int, text: str | list[Token], seed: int, *, unread: bool = False) -> None:
    @scenario("flat_map", what)
    def _(bench: Bench) -> None:
        dims = bench.dims(dims_of(rank))
        bench.inputs["first"], bench.inputs["count"] = _counts(text, seed)
        first, count = (bench.graph.source(name, ADDRESS, dims) for name in bench.inputs)
        numbers = first.flat_map(CountFrom(), count)
        (numbers.map(SelectAll(2)) if unread else numbers).sink("y")


for _what, _rank, _text in STREAMS:
    _count(f"count-{_what}{_rank}", _rank, _text, 3)
_count("count-none", 1, "5 10 S1 15 S1 E1 20 S1 D", 1)
_count("count-unread", 1, "1 2 S1 E1 5 3 S1 D", 2, unread=True)


def _wraps(graph: Graph) -> Inputs:
    """Numbers beyond the largest one begin at 0 again."""
    first, count = (graph.source(name, ADDRESS, [2]) for name in ("first", "count"))
    first.flat_map(CountFrom(), count).sink("y")
    return {
        "first": [Token(_number(2**32 - 2)), Token(_number(7)), *parse("D")],
        "count": [Token(_number(4)), Token(_number(1)), *parse("D")],
    }


add("flat_map", "count-wraps", _wraps)
