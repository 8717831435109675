"""Streams that programs make themselves."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.scenario import STREAMS, Bench, add, builder, dims_of, scenario, single
from step.functions.elementwise import Add
from step.language.dtypes import BF16, FP32, INT8, INT32, UINT32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Selector, Tile

TALL = [[1, -2, 0.5], [3, 4, -0.25], [7, 8, 9]]


@builder
def alone(bench: Bench, make: Callable[[Graph], Stream]) -> None:
    make(bench.graph).sink("y")


add("generate", "constant", alone(lambda graph: graph.constant(TALL, [3])))
add("generate", "constant-nested", alone(lambda graph: graph.constant([[1.5, 2]], [2, 1, 3], dtype=FP32)))
add("generate", "control", alone(lambda graph: graph.constant(4294967295, [3], dtype=UINT32)))
add("generate", "listed-control", alone(lambda graph: graph.generate(Tile(UINT32), [0, 3, 9], [2])))
add("generate", "nothing", alone(lambda graph: graph.constant(1, [0, 2])))
add("generate", "count", alone(lambda graph: graph.count([7])))
add("generate", "count-nested", alone(lambda graph: graph.count([2, 3], start=-5, step=-3, dtype=INT32)))
add("generate", "count-again", alone(lambda graph: graph.generate(Tile(INT8), range(100, -100, -90), [2, 2, 2])))
add("generate", "turns", alone(lambda graph: graph.turns(3, dims=[7])))
add("generate", "order", alone(lambda graph: graph.turns(2, [0, [0, 1], [], 1])))
add(
    "generate", "before-and-behind",
    alone(lambda graph: graph.generate(Selector(2), [1, 3], [3], before=[2, 2], behind=[0, 1, 2])),
)  # fmt: skip
_FIRST, _SECOND, _BEFORE, _BEHIND = (((each, 2), (3, 4)) for each in (1, 5, -1, 9))
add(
    "generate", "tiles-before-and-behind",
    alone(lambda graph: graph.generate(
        Tile(INT32, 2, 2), [_FIRST, _SECOND], [3], before=[_BEFORE], behind=[_BEHIND, _FIRST])),
)  # fmt: skip
for _what, _rank, _text in STREAMS:
    _name = f"{_what}{_rank}"
    single("generate", f"each-{_name}", _rank, _text, lambda x: x.graph.turns(3, [0, [1, 2], 2], reference=x))
    if _what == "empties":
        single("generate", f"several-{_name}", _rank, _text, lambda x: x.graph.count([2, 3], reference=x))
        single("generate", f"constants-{_name}", _rank, _text, lambda x: x.graph.constant(TALL, [2], reference=x))
    if _rank == 0 and _what != "one":
        single(
            "generate", f"around-{_name}", _rank, _text,
            lambda x: x.graph.generate(Selector(2), [1, 2], before=[3, 0], behind=[0, 3, 0], reference=x),
        )  # fmt: skip
        single("generate", f"behind-{_name}", _rank, _text,
               lambda x: x.graph.generate(Selector(1), [1], behind=[0, 0], reference=x))  # fmt: skip
single(
    "generate", "numbers", 1, "1 2 S1 E1 3 S1 D", lambda x: x.graph.count(start=(1 << 31) - 2, dtype=INT32, reference=x)
)


@scenario("generate", "unread")
def unread(bench: Bench) -> None:
    """Nobody needs the values."""
    x = bench.play("x", "1 2 S1 3 S1 D", dims_of(1), Tile(BF16, 2, 3))
    ones = bench.graph.constant(1.0, reference=x)
    again = x.accum(Add(), rank=1).repeat(1).expand(ones, rank=1)
    again.sink("y")
    bench.graph.count([3], reference=bench.graph.turns(4, [0, 3], [5])).sink("z")
