"""Operators and functions of several inputs."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.scenario import NUMBER, STREAMS, Bench, add, builder, dims_of, pair, renumbered, scenario
from step.functions.elementwise import Mul
from step.functions.matmul import Matmul
from step.language.dtypes import BF16, BOOL
from step.language.types import Tile

_LEFT, _RIGHT = Tile(BF16, 2, 4), Tile(BF16, 4, 3)
for _what, _rank, _text in STREAMS:
    _name, _second = f"{_what}{_rank}", renumbered(_text)
    pair("zip", _name, _rank, _text, _second, (NUMBER, Tile(BOOL, 1, 3)), lambda x, w: x.zip(w))
    pair("map", f"matmul-{_name}", _rank, _text, _second, (_LEFT, _RIGHT), lambda x, w: x.map(Matmul(), w))
    pair(
        "map", f"mul-{_name}", _rank, _text, _second, (Tile(BF16, 3, 3), Tile(BF16, 3, 3)), lambda x, w: x.map(Mul(), w)
    )
    for _reduced in range(1, _rank + 1):
        pair("accum", f"matmul-{_reduced}-{_name}", _rank, _text, _second, (_LEFT, _RIGHT),
             lambda x, w, rank=_reduced: x.accum(Matmul(), w, rank=rank))  # fmt: skip


@scenario("zip", "three")
def zip_three(bench: Bench) -> None:
    dims = bench.dims(["N"])
    first, *others = (bench.play(f"x{port}", "1 2 3 D", dims, Tile(BF16, 1, port + 1)) for port in range(3))
    first.zip(*others).sink("y")


@builder
def expand(bench: Bench, rank: int, data: str, reference: str, outer: int) -> None:
    dims = bench.dims(dims_of(outer + rank - 1))
    x = bench.play("x", data, [*dims[:outer], *[1] * rank], Tile(BF16, 2, 2))
    x.expand(bench.play("ref", reference, dims), rank=rank).sink("y")


add("expand", "rows", expand(1, "1 S1 2 S1 3 S1 D", "9 9 S1 9 S1 9 9 9 S1 D", 1))
add("expand", "empty-rows", expand(1, "1 S1 2 S1 3 S1 D", "9 S1 E1 9 9 9 S1 D", 1))
add("expand", "nested", expand(1, "1 S1 2 S2 3 S2 E2 D", "9 9 S1 9 S2 9 9 S2 E2 D", 2))
add("expand", "two", expand(2, "1 S2 2 S2 3 S2 D", "9 9 S1 9 S2 E1 9 S2 E1 E1 E1 S2 D", 1))
add("expand", "nothing", expand(1, "D", "D", 1))


@builder
def partition(
    bench: Bench, rank: int, targets: int, data: str, selectors: str, outer: int = 1, unread: bool = False
) -> None:
    dims = bench.dims(dims_of(outer + rank - 1))
    x = bench.play("x", data, dims, Tile(BF16, 1, 3))
    outputs = x.partition(bench.choose("which", selectors, targets, dims[:outer]), targets=targets, rank=rank)
    for port, stream in enumerate(outputs):
        if not unread or port != 1:
            stream.sink(f"y{port}")


add("partition", "elements", partition(0, 2, "1 2 3 4 5 D", "1 2 2 1 1 D"))
add("partition", "multi-hot", partition(0, 3, "1 2 3 4 5 D", "7 2 0 5 1 D"))
add("partition", "nested-elements", partition(0, 2, "1 2 S1 E1 3 S1 D", "1 2 S1 E1 3 S1 D", 2))
add("partition", "rows", partition(1, 2, "1 2 S1 3 S1 4 5 S1 D", "1 2 3 D"))
add("partition", "empty-rows", partition(1, 2, "1 2 S1 E1 3 S1 E1 D", "3 2 0 1 D"))
add("partition", "nested-rows", partition(1, 2, "1 2 S1 3 S2 E2 4 S1 E1 S2 D", "1 2 S1 E1 3 1 S1 D", 2))
add("partition", "deep", partition(2, 3, "1 2 S1 3 S2 E2 4 S1 E1 5 S2 D", "1 3 6 D"))
add("partition", "unread", partition(0, 3, "1 2 3 4 D", "7 2 0 5 D", unread=True))
add("partition", "nothing", partition(1, 2, "D", "D"))


@builder
def until(bench: Bench, data: str, selectors: str, rank: int = 0) -> None:
    x = bench.play("x", data, bench.dims(dims_of(rank)), Tile(BF16, 2, 3))
    x.until(bench.choose("more", selectors, 1, [bench.graph.symbol("S")])).sink("y")


add("until", "elements", until("1 2 3 4 5 D", "1 1 0 1 1 D"))
add("until", "first", until("1 2 3 D", "0 D"))
add("until", "all", until("1 2 3 D", "1 1 1 D"))
add("until", "last", until("1 2 3 D", "1 1 0 D"))
add("until", "few-selectors", until("1 2 3 4 5 D", "1 0 D"))
add("until", "many-selectors", until("1 2 3 D", "1 1 0 0 1 1 D"))
add("until", "more-selectors", until("1 2 D", "1 1 1 0 D"))
add("until", "rows", until("1 2 S1 3 S1 4 5 S1 D", "1 0 1 D", 1))
add("until", "empty-rows", until("1 2 S1 E1 3 S1 E1 D", "1 0 D", 1))
add("until", "deep", until("1 2 S1 3 S2 E2 4 S1 E1 S2 5 S2 D", "1 1 0 0 D", 2))
add("until", "nothing", until("D", "1 0 D", 1))


@builder
def reassemble(bench: Bench, rank: int, order: str, data: Sequence[str], selectors: str, outer: int = 1) -> None:
    inner = [bench.graph.symbol(f"I{level}", ragged=True) for level in range(rank)]
    streams = [bench.play(f"x{port}", text, [bench.graph.symbol(f"D{port}"), *inner]) for port, text in enumerate(data)]
    which = bench.choose("which", selectors, len(data), dims_of(outer - 1))
    bench.graph.reassemble(streams, which, rank=rank, order=order).sink("y")


for _order in ("index", "arrival"):
    add("reassemble", f"{_order}-elements", reassemble(0, _order, ["1 2 D", "3 4 5 D"], "1 2 2 1 2 D"))
    add("reassemble", f"{_order}-empty", reassemble(0, _order, ["1 2 D", "3 D"], "0 1 0 2 1 D"))
    add("reassemble", f"{_order}-rows", reassemble(1, _order, ["1 2 S1 E1 D", "3 S1 4 5 S1 D"], "2 1 2 1 D"))
    add("reassemble", f"{_order}-nested", reassemble(1, _order, ["1 S1 E1 D", "3 S1 D"], "E1 2 1 S1 E1 0 1 S1 D", 2))
    add("reassemble", f"{_order}-nothing", reassemble(1, _order, ["D", "D", "D"], "D"))
    add(
        "reassemble", f"{_order}-multi-hot",
        reassemble(1, _order, ["1 2 S1 3 S1 D", "4 S1 E1 5 6 S1 D", "7 8 S1 D"], "3 7 2 D"), ordered=_order == "index",
    )  # fmt: skip
