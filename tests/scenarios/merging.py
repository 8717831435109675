"""EagerMerge."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.scenario import Bench, add, builder, scenario
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.functions.silu import Silu
from step.language.dtypes import BF16
from step.language.types import ElementType, Selector, Tile

ROW = Tile(BF16, 1, 3)


@builder
def merge(bench: Bench, rank: int, data: Sequence[str], element: ElementType = ROW, *, selectors: bool = True) -> None:
    """Sources merged at once; ``selectors``: somebody reads them."""
    inner = [bench.graph.symbol(f"I{level}", ragged=True) for level in range(rank)]
    streams = [
        bench.play(f"x{port}", text, [bench.graph.symbol(f"D{port}"), *inner], element)
        for port, text in enumerate(data)
    ]
    merged, which = bench.graph.eager_merge(streams, rank=rank)
    merged.sink("y")
    if selectors:
        which.sink("which")


for _what, _rank, _data in (
    ("elements", 0, ["1 2 3 D", "4 5 D"]),
    ("one-input", 0, ["1 2 3 D"]),
    ("one-empty", 0, ["D", "1 2 3 D", "D"]),
    ("nothing", 1, ["D", "D", "D"]),
    ("rows", 1, ["1 2 S1 3 S1 D", "4 S1 5 6 7 S1 8 S1 D"]),
    ("empty-rows", 1, ["E1 1 2 S1 E1 D", "E1 D", "D", "3 S1 E1 E1 4 5 S1 D"]),
    ("deep", 2, ["1 2 S1 3 S2 E2 4 S1 E1 S2 D", "E1 E1 S2 5 S2 E2 E2 D"]),
    ("five", 0, ["1 2 D", "3 D", "D", "4 5 6 D", "7 D"]),
):  # fmt: skip
    add("eager_merge", _what, merge(_rank, _data), ordered=False)
add("eager_merge", "selectors", merge(0, ["1 2 3 D", "2 3 1 1 D"], Selector(2)), ordered=False)
add("eager_merge", "unread", merge(1, ["1 2 S1 3 S1 D", "E1 4 S1 D"], selectors=False), ordered=False)


@scenario("eager_merge", "only-selectors", ordered=False)
def only_selectors(bench: Bench) -> None:
    """Nobody needs the values."""
    streams = [
        bench.play(f"x{port}", text, [f"D{port}", f"I{port}"], Tile(BF16, 2, 4))
        for port, text in enumerate(["1 2 S1 3 S1 D", "E1 4 S1 D"])
    ]
    bench.graph.eager_merge(streams, rank=1)[1].sink("which")


@scenario("eager_merge", "uneven", ordered=False)
def uneven(bench: Bench) -> None:
    """Inputs behind ways of different lengths and paces, merged twice."""
    tile = Tile(BF16, 2, 4)
    x, w, z = (
        bench.play(name, text, [f"N{name}", bench.graph.symbol(f"M{name}", ragged=True)], tile)
        for name, text in (
            ("x", "1 2 S1 E1 3 4 5 6 S1 D"), ("w", "7 S1 8 S1 9 S1 E1 D"), ("z", "E1 E1 1 2 3 S1 4 S1 D"),
        )
    )  # fmt: skip
    first, which = bench.graph.eager_merge([x.map(Silu()).map(Cast(BF16)), w, z.map(Add(BF16), z)], rank=1)
    rows = first.accum(Add(BF16), name="rows")
    again, other = bench.graph.eager_merge([rows, w.flatten(0, 1)])
    again.sink("y")
    which.sink("which")
    other.sink("other")
