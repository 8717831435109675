"""Loops: streams that come back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Literal

from scenarios.scenario import Bench, add, builder, dims_of, scenario
from step.functions.cast import Cast
from step.functions.compare import Compare
from step.functions.elementwise import Add
from step.functions.select import SelectValid
from step.functions.silu import Silu
from step.language.dtypes import BF16, UINT32
from step.language.stream import Stream
from step.language.tokens import parse
from step.language.types import Selector, Tile
from step.library import parallelize

TILE = Tile(BF16, 2, 3)


@builder
def rounds(
    bench: Bench,
    items: str,
    count: int,
    body: Callable[[Stream], Stream],
    rank: int = 0,
    together: int = 1,
    order: str = "index",
) -> None:
    """Every chunk of ``items`` passes ``body`` ``count`` times; so many of them are in the loop ``together``."""
    graph = bench.graph
    x = bench.play("x", items, dims_of(rank), TILE)
    length = len(bench.inputs["x"])
    chunks = sum(each.stop >= rank and not each.done for each in bench.inputs["x"])
    passes = chunks * count
    edge = graph.feedback(TILE, [chunks * (count - 1), *x.shape[1:]], name="again")
    again = edge.stream.buffered(max(2, length))
    enter = graph.turns(2, [0] * together + [1] * (together * (count - 1)), [passes])
    gathered = graph.reassemble([x, again], enter, rank=rank, order=order).flatten(rank, rank + 1)
    y = body(gathered.assume_shape([passes, *x.shape[1:]]))
    leave = graph.turns(2, [0] * (together * (count - 1)) + [1] * together, [passes])
    back, out = y.partition(leave, targets=2, rank=rank)
    edge.close(back.assume_shape(edge.type.shape))
    out.sink("y")


def doubled(x: Stream) -> Stream:
    return x.map(Add(BF16), x)


add("reassemble", "loop", rounds("1 2 3 D", 3, doubled))
add("reassemble", "loop-together", rounds("1 2 3 4 5 6 D", 4, lambda x: x.map(Silu()).map(Cast(BF16)), together=3))
add("reassemble", "loop-once", rounds("1 2 D", 1, doubled))
add("reassemble", "loop-rows", rounds("1 2 S1 E1 3 4 5 S1 E1 D", 3, doubled, rank=1, together=2))
add("reassemble", "loop-arrival", rounds("1 2 S1 3 S1 D", 2, doubled, rank=1, order="arrival"))
add("reassemble", "loop-nothing", rounds("D", 2, doubled))


@scenario("until", "loop")
def counted_down(bench: Bench) -> None:
    """A number is doubled so often as another one says."""
    graph = bench.graph
    most, rounds = 12, graph.symbol("rounds")
    x = bench.play("x", "1 D", [1], Tile(BF16))
    more = graph.feedback(Selector(1), [rounds], name="more")
    again = graph.feedback(Tile(BF16), [graph.symbol("back")], name="again")
    enter = graph.turns(2, [0] + [1] * (most - 1)).until(more.stream).assume_shape([rounds])
    now = graph.reassemble([x, again.stream], enter, order="index").flatten(0, 1).assume_shape([rounds])
    y = now.map(Add(BF16), now)
    times = bench.play("times", "6 D", [1], Tile(UINT32)).repeat(most).flatten(0, 1)
    times = times.until(more.stream).assume_shape([rounds])
    goes_on = graph.count(reference=y).map(Compare("=="), times).map(SelectValid())
    more.close(goes_on)
    again.close(y.partition(goes_on, targets=1)[0].assume_shape(again.type.shape))
    y.sink("y")


@scenario("reassemble", "recirculated")
def recirculated(bench: Bench) -> None:
    """A row that is played once meets every other row."""
    graph = bench.graph
    x = bench.play("x", "1 2 3 S1 4 5 6 S1 7 8 9 S1 D", [3, 3], TILE)
    weights = bench.play("w", "5 6 7 S1 D", [1, 3], TILE)
    edge = graph.feedback(TILE, [2, 3], name="again")
    every = graph.reassemble([weights, edge.stream.buffered(4)], graph.turns(2, [0, 1, 1]), rank=1)
    every = every.flatten(1, 2).assume_shape([3, 3])
    (again,) = every.partition(graph.turns(1, [0, 0, []]), targets=1, rank=1)
    edge.close(again.assume_shape([2, 3]))
    x.map(Add(BF16), every).accum(Add(BF16)).sink("y")


@scenario("eager_merge", "handed-out", ordered=False)
def handed_out(bench: Bench) -> None:
    """Work for two regions of different pace, each of which gets more when it has done some."""
    graph = bench.graph
    chunks = 6
    x = bench.play("x", "1 2 S1 E1 3 S1 4 5 6 S1 7 S1 E1 D", [chunks, graph.symbol("L", ragged=True)], TILE)
    edge = graph.feedback(Selector(2), [chunks - 2], name="free")
    first = graph.turns(2)
    which = graph.reassemble([first, edge.stream], graph.turns(2, [0, 0, 1, 1, 1, 1])).flatten(0, 1)
    parts = x.partition(which.assume_shape([chunks]), targets=2, rank=1)
    merged, free = graph.eager_merge([parts[0].map(Silu()).map(Cast(BF16)), parts[1].map(Add(BF16), parts[1])], rank=1)
    (kept,) = free.assume_shape([chunks]).partition(graph.turns(1, [0, 0, 0, 0, [], []]), targets=1)
    edge.close(kept.assume_shape([chunks - 2]))
    merged.sink("y")


@builder
def parallel(
    bench: Bench,
    text: str,
    rank: int,
    regions: int,
    order: Literal["arrival", "input"],
    known: bool = False,
    early: bool = False,
) -> None:
    """Chunks for regions of different pace; ``known``: how many there are, ``early``: free once a chunk has come."""
    tokens, numbers = parse(text), count()
    chunks = sum(each.stop >= rank and not each.done for each in tokens)
    x = bench.play("x", tokens, [chunks if known else "B", *["L"] * rank], TILE)
    each = None if known or not rank else bench.play("each", f"{'1 ' * chunks}D", x.shape[:1])

    def body(part: Stream) -> Stream | tuple[Stream, Stream]:
        result = part.map(Silu()).map(Cast(BF16)) if next(numbers) % 2 == 0 else part.map(Silu(BF16))
        return (result, part) if early else result

    parallelize(x, body, regions=regions, rank=rank, order=order, chunks=each).sink("y")


_ROWS = "1 2 S1 E1 3 S1 4 5 6 S1 7 S1 E1 8 S1 D"
add("eager_merge", "parallel-rows", parallel(_ROWS, 1, 2, "arrival", known=True), ordered=False)
add("eager_merge", "parallel-in-order", parallel(_ROWS, 1, 3, "input"))
add("eager_merge", "parallel-few", parallel("1 2 D", 0, 3, "arrival"), ordered=False)
add("eager_merge", "parallel-early", parallel(_ROWS, 1, 2, "arrival", early=True), ordered=False)
add("eager_merge", "parallel-early-in-order", parallel(_ROWS, 1, 3, "input", early=True))
add("eager_merge", "parallel-nothing", parallel("D", 0, 2, "input"))
