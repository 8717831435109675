"""Work for whoever is free: every chunk is done once, by one region, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from cases import cases
from raising import raising
from running import here
from scenarios import FABRIC, Bench

from sim_approx import backend as approx
from step.errors import ProgramError
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import DONE, Token, parse, to_nested
from step.language.types import Tile
from step.language.validate import check
from step.library import parallelize
from step.running.interpreter import interpret

TILE = Tile(BF16, 1, 2)

Body = Callable[[Stream], Stream]


def doubled() -> Body:
    """Every copy takes longer than the one before."""
    delays = count()

    def body(x: Stream) -> Stream:
        y = x.map(Add(BF16), x)
        for _ in range(4 * next(delays)):
            y = y.map(Cast(BF16))
        return y

    return body


def total() -> Body:
    """A sum for every chunk."""
    slow = doubled()
    return lambda x: slow(x).accum(Add(), rank=x.rank)


def nested(tokens: list[Token], rank: int) -> list[Any]:
    """What left the program, with values as text."""
    texts = [each._replace(value=str(each.value)) if each.has_value else each for each in tokens]
    return to_nested([*texts, DONE], rank)


TEXTS = {0: ["D", "1 D", "1 2 3 4 5 6 7 8 9 D"], 1: ["D", "E1 D", "1 2 S1 D", "1 2 S1 E1 3 S1 4 5 6 S1 E1 E1 7 S1 D"]}


@pytest.mark.parametrize("order", ["arrival", "input"])
@pytest.mark.parametrize("regions", [1, 2, 4])
@cases(
    (0, doubled, "static"), (0, doubled, "data"), (0, doubled, "chunks"),
    (1, doubled, "static"), (1, doubled, "chunks"), (1, total, "chunks"),
)  # fmt: skip
def test_every_chunk_is_done_once(rank: int, body: Callable[[], Body], known: str, regions: int, order: Any) -> None:
    """``known``: how many chunks there are is a number, told by a stream, or by the data itself."""
    for text in TEXTS[rank]:
        graph, tokens = Graph("parallel"), parse(text)
        bench = Bench(graph)
        chunks = sum(each.stop >= rank and not each.done for each in tokens)
        inner = [graph.symbol("L", ragged=True)] * rank
        x = bench.play("x", tokens, [chunks if known == "static" else graph.symbol("B"), *inner], TILE)
        body()(x).sink("wanted")
        each = bench.play("each", f"{'1 ' * chunks}D", x.shape[:1]) if known == "chunks" else None
        done = parallelize(x, body(), regions=regions, rank=rank, order=order, chunks=each)
        done.sink("y")
        assert done.shape[0] == x.shape[0]
        result = approx.run(graph, bench.inputs, FABRIC, values="all")
        meant = interpret(graph, bench.inputs, arrivals=result.arrivals).outputs
        assert result.outputs is not None
        found, wanted, replayed = (
            nested(each, done.rank) for each in (result.outputs["y"], meant["wanted"], meant["y"])
        )
        assert found == replayed
        if order == "arrival":
            found, wanted = sorted(found), sorted(wanted)
        assert found == wanted


@pytest.mark.parametrize("order", ["arrival", "input"])
@pytest.mark.parametrize("text", TEXTS[1])
def test_a_region_that_is_free_before_it_has_a_result(text: str, order: Any) -> None:
    """Results wait for a chunk of their own; the next one comes when the numbers have been taken."""
    graph, tokens = Graph("parallel"), parse(text)
    bench = Bench(graph)
    chunks = sum(each.stop >= 1 and not each.done for each in tokens)

    def body(x: Stream) -> tuple[Stream, Stream]:
        return doubled()(x).accum(Add()), x

    x = bench.play("x", tokens, [graph.symbol("B"), graph.symbol("L", ragged=True)], TILE)
    each = bench.play("each", f"{'1 ' * chunks}D", x.shape[:1])
    body(x)[0].sink("wanted")
    parallelize(x, body, regions=3, rank=1, order=order, chunks=each).sink("y")
    assert check(graph) == []
    result = approx.run(graph, bench.inputs, FABRIC, values="all")
    assert result.outputs is not None
    found, wanted = nested(result.outputs["y"], 0), nested(result.outputs["wanted"], 0)
    assert found == wanted if order == "input" else sorted(found) == sorted(wanted)


def test_regions_inside_of_regions() -> None:
    """A loop in a loop: every region hands out what it gets once more."""
    graph, tokens = Graph("nested"), parse("1 2 S1 E1 3 S1 4 5 6 S1 E1 E1 7 S1 D")
    bench = Bench(graph)
    x = bench.play("x", tokens, ["n", "r"], TILE)
    each = bench.play("each", "0 0 0 0 0 0 0 D", [x.shape[0]])
    inner = count()

    def outer(chunks: Stream) -> Stream:
        sums = chunks.accum(Add())
        return parallelize(sums, doubled(), regions=2, order="input", name=f"inner{next(inner)}")

    parallelize(x, outer, regions=2, rank=1, chunks=each, order="input").sink("y")
    meant = interpret(graph, bench.inputs)
    timed = approx.run(graph, bench.inputs, FABRIC, values="all")
    values = [float(token.value[0, 0]) for token in bench.inputs["x"] if token.has_value]
    sums = [sum(values[:2]), 0.0, values[2], sum(values[3:6]), 0.0, 0.0, values[6]]
    for outputs in (meant.outputs, timed.outputs or {}):
        assert [float(token.value[0, 0]) for token in outputs["y"]] == [2 * each for each in sums]


def test_a_region_that_is_free_earlier_gets_more() -> None:
    """It works on several chunks at once, so there is less time between them."""

    def cycles(early: bool) -> int:
        graph = Graph("parallel")
        bench = Bench(graph)

        def body(x: Stream) -> Any:
            y = x
            for _ in range(12):
                y = y.map(Cast(BF16))
            return (y, x) if early else y

        x = bench.play("x", f"{'1 ' * 20}D", [20], TILE)
        parallelize(x, body, regions=2).sink("y")
        return approx.run(graph, bench.inputs, FABRIC).cycles

    assert 2 * cycles(early=True) < cycles(early=False)


def test_a_slow_region_gets_less(graph: Graph) -> None:
    bench = Bench(graph)
    regions = count()

    def body(x: Stream) -> Stream:
        return x.repeat(12).accum(Add(BF16)) if next(regions) == 0 else x.map(Cast(BF16))

    x = bench.play("x", f"{'1 ' * 20}D", [20], TILE)
    parallelize(x, body, regions=2).sink("y")
    arrivals = approx.run(graph, bench.inputs, FABRIC).arrivals["parallel_merge"]
    assert len(arrivals) == 20
    assert 2 <= arrivals.count(0) <= 5


@cases(
    ({"regions": 0}, "regions must be an integer >= 1, not 0"),
    ({"rank": 0}, "chunks of rank 0 are handed out of a stream of rank 0, "
                  "but x is [B, 3] of Tile(BF16, 1, 2)"),
    ({}, "B is not known when a chunk of x begins; "
         "give chunks=, a stream of shape [B] with an element for each of them"),
)  # fmt: skip
def test_what_can_not_be_handed_out(options: dict[str, Any], message: str) -> None:
    graph = Graph("parallel")
    x = graph.source("x", TILE, [graph.symbol("B"), 3])
    with raising(ProgramError, f"parallelize 'parallel' ({here(-1)}): {message}"):
        parallelize(x, doubled(), **{"regions": 2, "rank": 1, **options})


def test_other_chunks(graph: Graph) -> None:
    x = graph.source("x", TILE, [graph.symbol("B")])
    other = graph.source("each", TILE, [3])
    message = "chunks must be a stream of shape [B], but each is [3] of Tile(BF16, 1, 2)"
    with raising(ProgramError, f"parallelize 'work' ({here(-1)}): {message}"):
        parallelize(x, doubled(), regions=2, chunks=other, name="work")


def test_a_body_that_changes_the_number_of_chunks() -> None:
    graph = Graph("parallel")
    x = graph.source("x", TILE, [4])
    message = (
        "the body must give one chunk for each that it gets, but in region 0 it makes "
        "[ceiling(parallel_parts_D0/2), 2] of Tile(BF16, 1, 2) of [parallel_parts_D0] of Tile(BF16, 1, 2)"
    )
    with raising(ProgramError, f"parallelize 'parallel' ({here(-1)}): {message}"):
        parallelize(x, lambda part: part.reshape(2)[0], regions=2)
