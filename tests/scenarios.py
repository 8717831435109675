"""Small programs around one operator each, as data: what every back end's tests run.

A scenario builds its program into a graph and returns the inputs. Streams are written as text (see
`step.language.tokens.parse`); an integer n of a stream of tiles stands for a tile whose scalars follow from n, and of a
stream of selectors for the mask n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from step.functions.elementwise import Add, Cast, Mul
from step.functions.matmul import Matmul
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.select import SelectAll, SelectValid
from step.functions.silu import Silu
from step.language.dims import Dim
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.faults import Fault
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import Token, from_nested, parse
from step.language.types import ElementType, Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig, MemoryConfig

FABRIC = FabricConfig(
    tile=4,
    matmul_lanes=8,
    vector_lanes=4,
    link_bytes=8,
    outstanding=3,
    memory=MemoryConfig(beat_bytes=4, channels=2, interval=2, latency=5),
)
"""Small enough to simulate anything, and with every parameter away from the trivial value."""

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A program around one ``operator``.

    ``ordered`` is False where timing decides the order of the outputs.
    """

    name: str
    operator: str
    build: Callable[[Graph], Inputs]
    ordered: bool = True

    def __str__(self) -> str:
        return self.name


SCENARIOS: list[Scenario] = []


def add(operator: str, what: str, build: Callable[[Graph], Inputs], *, ordered: bool = True) -> None:
    """Put a scenario on the list."""
    SCENARIOS.append(Scenario(f"{operator}-{what}", operator, build, ordered))


NUMBER = Tile(INT32)


def element_value(number: int, element: ElementType) -> Any:
    """The element that ``number`` stands for."""
    if isinstance(element, Tile):
        count = int(element.elements)
        scalars = number + np.arange(count) * 3
        if element.dtype.is_float:
            scalars = (scalars % 64 - 32) / 8
        elif element.dtype == BOOL:
            scalars = scalars % 2
        elif element.dtype == INT8:
            scalars = scalars % 100
        return scalars.astype(element.dtype.numpy).reshape(element.shape)
    if isinstance(element, Tuple):
        return tuple(element_value(number, item) for item in element.items)
    return number


def tokens(text: str | list[Token], element: ElementType) -> list[Token]:
    """A stream of ``element`` from its text, or from tokens of integers."""
    parsed = parse(text) if isinstance(text, str) else text
    return [each._replace(value=element_value(each.value, element)) if each.has_value else each for each in parsed]


class Bench:
    """Adds sources to a graph, and keeps what they play."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs: Inputs = {}

    def play(
        self, name: str, text: str | list[Token], dims: Sequence[Dim | int | str], element: ElementType = NUMBER
    ) -> Stream:
        """A source of shape ``dims`` (a text is a new symbol, ragged behind the first dimension)."""
        self.inputs[name] = tokens(text, element)
        return self.graph.source(name, element, self.dims(dims))

    def choose(self, name: str, text: str | list[Token], targets: int, dims: Sequence[Dim | int | str]) -> Stream:
        """A source of selectors."""
        self.inputs[name] = parse(text) if isinstance(text, str) else text
        return self.graph.selectors(name, targets, self.dims(dims))

    def dims(self, dims: Sequence[Dim | int | str]) -> list[Dim | int]:
        return [
            self.graph.symbol(each, ragged=position > 0) if isinstance(each, str) else each
            for position, each in enumerate(dims)
        ]


def random_nested(random: Random, rank: int, most: int = 3, least: int = 0) -> Any:
    """Nested lists of integers (rank + 1 levels), each of ``least`` to ``most`` entries."""
    count = random.randint(least, most)
    if rank == 0:
        return [random.randrange(100) for _ in range(count)]
    return [random_nested(random, rank - 1, most, least) for _ in range(count)]


def random_stream(seed: int, rank: int, most: int = 3, least: int = 0) -> list[Token]:
    """A random stream of integers, with empties unless ``least`` is positive."""
    return from_nested(random_nested(Random(seed), rank, most, least), rank)


LETTERS = "NMLK"
"""Names of a stream's symbols, outermost first."""

STREAMS: list[tuple[str, int, str | list[Token]]] = [
    ("nothing", 0, "D"),
    ("one", 0, "7 D"),
    ("flat", 0, "1 2 3 4 5 D"),
    ("nothing", 1, "D"),
    ("rows", 1, "1 2 S1 3 S1 4 5 6 S1 D"),
    ("empties", 1, "E1 1 2 S1 E1 E1 3 S1 E1 D"),
    ("nested", 2, "1 2 S1 3 S2 4 S1 5 S1 6 S2 D"),
    ("empties", 2, "E1 1 S1 E1 S2 E2 E2 2 S1 E1 E1 3 S2 E1 E1 E1 S2 D"),
    ("all_empty", 2, "E2 E1 E1 S2 E1 E1 E1 S2 D"),
    ("random", 2, random_stream(1, 2, 4)),
    ("empties", 3, "E3 1 S1 2 S2 E1 E1 S3 E2 3 S3 E1 E1 S2 4 S2 E2 S3 E3 D"),
    ("random", 3, random_stream(2, 3)),
]
"""Streams that every operator of one input gets: name, rank, tokens."""


def dims_of(rank: int) -> list[str]:
    """A dynamic outermost dimension, and ragged ones."""
    return list(LETTERS[: rank + 1])


def single(
    operator: str, what: str, rank: int, text: str | list[Token], apply: Callable[[Stream], Stream | Sequence[Stream]],
    element: ElementType = NUMBER, dims: Sequence[Dim | int | str] | None = None,
) -> None:  # fmt: skip
    """A scenario of one source, one operator, and a sink at each of its outputs."""

    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        result = apply(bench.play("x", text, dims or dims_of(rank), element))
        for port, stream in enumerate([result] if isinstance(result, Stream) else result):
            stream.sink(f"y{port}")
        return bench.inputs

    add(operator, what, build)


# -- one input ------------------------------------------------------------------------------------------------------

for _what, _rank, _text in STREAMS:
    _name = f"{_what}{_rank}"
    single("source", _name, _rank, _text, lambda x: x)
    single("sink", _name, _rank, _text, lambda x: x, Tuple((Tile(BF16, 2, 3), Tile(BOOL, 1, 5))))
    single("broadcast", _name, _rank, _text, lambda x: [x, x, x])
    single("map", f"silu-{_name}", _rank, _text, lambda x: x.map(Silu()), Tile(BF16, 2, 3))
    single("promote", _name, _rank, _text, lambda x: x.promote())
    for _chunk in (1, 2, 3):
        single(
            "reshape", f"{_chunk}-{_name}", _rank, _text, lambda x, n=_chunk: x.reshape(n, pad=-1.0), Tile(INT8, 1, 2)
        )
    for _high in range(1, _rank + 1):
        for _low in range(_high):
            single(
                "flatten", f"{_low}-{_high}-{_name}", _rank, _text, lambda x, low=_low, high=_high: x.flatten(low, high)
            )
    for _reduced in range(1, _rank + 1):
        single(
            "accum", f"add-{_reduced}-{_name}", _rank, _text,
            lambda x, rank=_reduced: x.accum(Add(), rank=rank), Tile(FP32, 2, 2),
        )  # fmt: skip
    for _axis in ("row", "col"):
        for _inner in (0, 1):
            single(
                "flat_map", f"{_axis}-{_inner}-{_name}", _rank, _text,
                lambda x, axis=_axis, rank=_inner: x.flat_map(RetileStreamify(2, axis, rank)), Tile(BF16, 4, 2),
            )  # fmt: skip

_COUPLE = Tuple((Tile(BF16, 1, 3), Tile(BOOL)))
single("reshape", "1-tuple", 1, "E1 1 2 S1 3 S1 D", lambda x: x.reshape(1), _COUPLE)

# Values that nobody reads: only control travels.
_PAIRS, _TEXT = Tile(BF16, 2, 2), "1 2 S1 E1 3 4 5 S2 E1 6 S2 D"
for _operator, _bare in (
    ("promote", lambda x: x.promote()),
    ("flatten", lambda x: x.flatten(0, 1)),
    ("reshape", lambda x: x.reshape(3)[0]),
    ("zip", lambda x: x.zip(x)),
    ("broadcast", lambda x: (x, x)),
    ("expand", lambda x: x.repeat(2)),
    ("flat_map", lambda x: x.flat_map(RetileStreamify())),
    ("accum", lambda x: x.accum(Add())),
    ("map", lambda x: x.map(SelectAll(3))),
):

    def _unread(x: Stream, bare: Callable[[Stream], Any] = _bare) -> list[Stream]:
        made = bare(x)
        return [each.map(SelectAll(2)) for each in (made if isinstance(made, tuple) else (made,))]

    single(_operator, "unread", 2, _TEXT, _unread, _PAIRS)

single("reshape", "flags", 1, "1 2 S1 3 4 5 6 S1 E1 D", lambda x: x.reshape(3)[1], _PAIRS)
single("expand", "repeat-tuple", 1, "E1 1 2 S1 3 S1 D", lambda x: x.repeat(3), _COUPLE)
single("flatten", "dense", 2, "1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", lambda x: x.flatten(0, 2), dims=["N", 2, 2])
single("flatten", "dense-inner", 2, "1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", lambda x: x.flatten(0, 1), dims=["N", 2, 2])
single("flatten", "dense-outer", 2, "1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", lambda x: x.flatten(1, 2), dims=["N", 2, 2])
single("flatten", "empty-outer", 2, "E2 1 2 S1 3 4 S2 E2 D", lambda x: x.flatten(0, 1), dims=["N", "M", 2])
single("promote", "static", 1, "1 2 S1 3 4 S1 D", lambda x: x.promote(), dims=[2, 2])
single("expand", "static-1", 1, "1 S1 2 S1 D", lambda x: x.expand_static(1), dims=["N", 1])
single("expand", "static-3", 1, "1 S1 2 S1 D", lambda x: x.expand_static(3), dims=["N", 1])
single("expand", "static-empties", 2, "E2 1 S1 2 S2 E2 E2 3 S2 D", lambda x: x.expand_static(2), dims=["N", "M", 1])
single("flat_map", "one-piece", 1, "E1 1 2 S1 D", lambda x: x.flat_map(RetileStreamify(4, "row", 1)), Tile(BF16, 4, 2))
single("flat_map", "bits", 1, "E1 1 2 S1 D", lambda x: x.flat_map(RetileStreamify(1, "col")), Tile(BOOL, 3, 5))
single("flat_map", "words", 1, "E1 1 2 S1 3 S1 D", lambda x: x.flat_map(RetileStreamify(2, "col")), Tile(FP32, 3, 4))
single("map", "cast", 1, "E1 1 2 S1 D", lambda x: x.map(Cast(FP32)), Tile(BF16, 3, 3))
single("map", "select_valid", 1, "E1 1 2 S1 D", lambda x: x.map(SelectValid()), Tile(BOOL))
single("map", "select_all", 1, "E1 1 2 S1 D", lambda x: x.map(SelectAll(3)))
single("accum", "retile_row", 1, "1 2 S1 3 4 S1 D", lambda x: x.accum(RetileRow()), Tile(BF16, 2, 3), ["N", 2])
single("accum", "retile_col", 1, "1 2 3 S1 D", lambda x: x.accum(RetileCol()), Tile(UINT32, 4, 1), ["N", 3])
single(
    "accum", "retile_row-2", 3, "E3 1 2 S1 3 4 S2 5 6 S1 7 8 S3 E3 D", lambda x: x.accum(RetileRow(), rank=2),
    Tile(INT8, 1, 3), ["N", "M", 2, 2],
)  # fmt: skip


# -- several inputs -------------------------------------------------------------------------------------------------


def pair(operator: str, what: str, rank: int, text: str | list[Token], second: str | list[Token],
         elements: tuple[ElementType, ElementType], apply: Callable[[Stream, Stream], Stream]) -> None:  # fmt: skip
    """A scenario of two sources of the same shape."""

    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        dims = bench.dims(dims_of(rank))
        first = bench.play("x", text, dims, elements[0])
        apply(first, bench.play("w", second, dims, elements[1])).sink("y")
        return bench.inputs

    add(operator, what, build)


def renumbered(text: str | list[Token]) -> list[Token]:
    """The same stream with other values."""
    parsed = parse(text) if isinstance(text, str) else text
    return [each._replace(value=each.value * 7 + 11) if each.has_value else each for each in parsed]


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


def _zip_three(graph: Graph) -> Inputs:
    bench = Bench(graph)
    dims = bench.dims(["N"])
    first, *others = (bench.play(f"x{port}", "1 2 3 D", dims, Tile(BF16, 1, port + 1)) for port in range(3))
    first.zip(*others).sink("y")
    return bench.inputs


add("zip", "three", _zip_three)


def _expand(rank: int, data: str, reference: str, outer: int) -> Callable[[Graph], Inputs]:
    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        dims = bench.dims(dims_of(outer + rank - 1))
        x = bench.play("x", data, [*dims[:outer], *[1] * rank], Tile(BF16, 2, 2))
        x.expand(bench.play("ref", reference, dims), rank=rank).sink("y")
        return bench.inputs

    return build


add("expand", "rows", _expand(1, "1 S1 2 S1 3 S1 D", "9 9 S1 9 S1 9 9 9 S1 D", 1))
add("expand", "empty-rows", _expand(1, "1 S1 2 S1 3 S1 D", "9 S1 E1 9 9 9 S1 D", 1))
add("expand", "nested", _expand(1, "1 S1 2 S2 3 S2 E2 D", "9 9 S1 9 S2 9 9 S2 E2 D", 2))
add("expand", "two", _expand(2, "1 S2 2 S2 3 S2 D", "9 9 S1 9 S2 E1 9 S2 E1 E1 E1 S2 D", 1))
add("expand", "nothing", _expand(1, "D", "D", 1))


def _partition(
    rank: int, targets: int, data: str, selectors: str, outer: int = 1, unread: bool = False
) -> Callable[[Graph], Inputs]:
    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        dims = bench.dims(dims_of(outer + rank - 1))
        x = bench.play("x", data, dims, Tile(BF16, 1, 3))
        outputs = x.partition(bench.choose("which", selectors, targets, dims[:outer]), targets=targets, rank=rank)
        for port, stream in enumerate(outputs):
            if not unread or port != 1:
                stream.sink(f"y{port}")
        return bench.inputs

    return build


add("partition", "elements", _partition(0, 2, "1 2 3 4 5 D", "1 2 2 1 1 D"))
add("partition", "multi-hot", _partition(0, 3, "1 2 3 4 5 D", "7 2 0 5 1 D"))
add("partition", "nested-elements", _partition(0, 2, "1 2 S1 E1 3 S1 D", "1 2 S1 E1 3 S1 D", 2))
add("partition", "rows", _partition(1, 2, "1 2 S1 3 S1 4 5 S1 D", "1 2 3 D"))
add("partition", "empty-rows", _partition(1, 2, "1 2 S1 E1 3 S1 E1 D", "3 2 0 1 D"))
add("partition", "nested-rows", _partition(1, 2, "1 2 S1 3 S2 E2 4 S1 E1 S2 D", "1 2 S1 E1 3 1 S1 D", 2))
add("partition", "deep", _partition(2, 3, "1 2 S1 3 S2 E2 4 S1 E1 5 S2 D", "1 3 6 D"))
add("partition", "unread", _partition(0, 3, "1 2 3 4 D", "7 2 0 5 D", unread=True))
add("partition", "nothing", _partition(1, 2, "D", "D"))


def _reassemble(
    rank: int, order: str, data: Sequence[str], selectors: str, outer: int = 1
) -> Callable[[Graph], Inputs]:
    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        inner = [graph.symbol(f"I{level}", ragged=True) for level in range(rank)]
        streams = [bench.play(f"x{port}", text, [graph.symbol(f"D{port}"), *inner]) for port, text in enumerate(data)]
        which = bench.choose("which", selectors, len(data), dims_of(outer - 1))
        graph.reassemble(streams, which, rank=rank, order=order).sink("y")
        return bench.inputs

    return build


for _order in ("index", "arrival"):
    add("reassemble", f"{_order}-elements", _reassemble(0, _order, ["1 2 D", "3 4 5 D"], "1 2 2 1 2 D"))
    add("reassemble", f"{_order}-empty", _reassemble(0, _order, ["1 2 D", "3 D"], "0 1 0 2 1 D"))
    add("reassemble", f"{_order}-rows", _reassemble(1, _order, ["1 2 S1 E1 D", "3 S1 4 5 S1 D"], "2 1 2 1 D"))
    add("reassemble", f"{_order}-nested", _reassemble(1, _order, ["1 S1 E1 D", "3 S1 D"], "E1 2 1 S1 E1 0 1 S1 D", 2))
    add("reassemble", f"{_order}-nothing", _reassemble(1, _order, ["D", "D", "D"], "D"))
    add(
        "reassemble", f"{_order}-multi-hot",
        _reassemble(1, _order, ["1 2 S1 3 S1 D", "4 S1 E1 5 6 S1 D", "7 8 S1 D"], "3 7 2 D"), ordered=_order == "index",
    )  # fmt: skip


# -- off-chip memory ------------------------------------------------------------------------------------------------


def _load(
    shape: Sequence[int],
    tile: tuple[int, int],
    reference: str | None = None,
    rank: int = 0,
    dtype: Any = BF16,
    **walk: Any,
) -> Callable[[Graph], Inputs]:
    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        x = graph.tensor("a", shape, dtype)
        ref = bench.play("ref", reference, dims_of(rank)) if reference is not None else None
        graph.load(x, tile=tile, reference=ref, **walk).sink("y")
        bench.inputs["a"] = (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype.numpy)
        return bench.inputs

    return build


add("linear_off_chip_load", "one-beat", _load([4, 2], (2, 1)))
add("linear_off_chip_load", "whole", _load([4, 6], (2, 3)))
add("linear_off_chip_load", "three-dims", _load([2, 4, 4], (2, 4)))
add("linear_off_chip_load", "one-tile", _load([4, 4], (4, 4)))
add("linear_off_chip_load", "bits", _load([2, 12], (2, 3), dtype=BOOL))
add("linear_off_chip_load", "strided", _load([4, 8], (2, 2), out=(3, 2), stride=(0, 3), offset=1))
add("linear_off_chip_load", "backward", _load([2, 8], (2, 2), out=(4,), stride=(-1,), offset=3))
add("linear_off_chip_load", "flat", _load([8, 8], (2, 2), out=(4, 4), stride=(4, 1)))
for _what, _rank, _text in STREAMS[:9]:
    add("linear_off_chip_load", f"reference-{_what}{_rank}", _load([4, 4], (2, 2), _text, _rank))  # type: ignore[arg-type]
add("linear_off_chip_load", "reference-single", _load([4, 4], (2, 2), "1 S1 E1 2 3 S1 D", 1, out=(1,), offset=2))
add("linear_off_chip_load", "reference-wide", _load([4, 4], (4, 4), "1 S1 E1 2 3 S1 D", 1, out=(2,), stride=(0,)))


def _store(element: Tile, rank: int, text: str | list[Token]) -> Callable[[Graph], Inputs]:
    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        bench.play("x", text, dims_of(rank), element).store("y")
        return bench.inputs

    return build


for _what, _rank, _text in STREAMS[:9]:
    add("linear_off_chip_store", f"{_what}{_rank}", _store(Tile(BF16, 3, 3), _rank, _text))
add("linear_off_chip_store", "one-beat", _store(Tile(INT8, 1, 3), 1, "1 2 S1 E1 3 S1 D"))
add("linear_off_chip_store", "bits", _store(Tile(BOOL, 3, 3), 1, "1 2 S1 E1 3 S1 D"))


# -- programs that break a contract ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Broken:
    """A program whose data makes ``operator`` meet ``fault``."""

    name: str
    operator: str
    fault: Fault
    build: Callable[[Graph], Inputs]

    def __str__(self) -> str:
        return self.name


BROKEN: list[Broken] = []


def broken(operator: str, what: str, fault: Fault, build: Callable[[Graph], Inputs]) -> None:
    """Put a broken program on the list."""
    BROKEN.append(Broken(f"{operator}-{what}", operator, fault, build))


def _unequal(apply: Callable[[Stream, Stream], Stream], left: str, right: str) -> Callable[[Graph], Inputs]:
    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        dims = bench.dims(["N", "M"])
        tile = Tile(BF16, 2, 2)
        apply(bench.play("x", left, dims, tile), bench.play("w", right, dims, tile)).sink("y")
        return bench.inputs

    return build


for _operator, _apply in (
    ("map", lambda x, w: x.map(Mul(), w)),
    ("zip", lambda x, w: x.zip(w)),
    ("accum", lambda x, w: x.accum(Matmul(), w)),
):
    broken(_operator, "stop", Fault.STOPS_DISAGREE, _unequal(_apply, "1 2 S1 3 S1 D", "1 S1 3 S1 D"))
    broken(_operator, "bare", Fault.STOPS_DISAGREE, _unequal(_apply, "1 2 S1 3 S1 D", "1 2 S1 E1 D"))
    broken(_operator, "done", Fault.STOPS_DISAGREE, _unequal(_apply, "1 2 S1 3 S1 D", "1 2 S1 D"))

broken("expand", "stop", Fault.STOPS_DISAGREE, _expand(1, "1 S1 2 S2 D", "9 9 S1 9 9 S1 9 S2 D", 2))
broken("expand", "done", Fault.STOPS_DISAGREE, _expand(1, "1 S1 D", "9 9 S1 9 S1 D", 1))
broken("expand", "empty", Fault.STOPS_DISAGREE, _expand(1, "E2 D", "9 9 S2 D", 2))
broken("partition", "missing", Fault.MISSING_DATA, _partition(1, 2, "1 2 S1 D", "1 2 D"))
broken("partition", "leftover", Fault.LEFTOVER_DATA, _partition(1, 2, "1 2 S1 3 S1 D", "1 D"))
broken("partition", "missing-empty", Fault.MISSING_DATA, _partition(0, 2, "1 S1 D", "1 S1 E1 D", 2))
broken("partition", "stop", Fault.STOPS_DISAGREE, _partition(1, 2, "1 2 S1 3 S2 D", "1 S1 2 S1 D", 2))
broken("partition", "bare", Fault.STOPS_DISAGREE, _partition(0, 2, "1 S1 E1 D", "1 S1 2 S1 D", 2))
broken("partition", "not-bare", Fault.STOPS_DISAGREE, _partition(0, 2, "1 S1 2 S1 D", "1 S1 E1 D", 2))
for _order in ("index", "arrival"):
    broken("reassemble", f"{_order}-missing", Fault.MISSING_DATA, _reassemble(0, _order, ["1 D", "2 D"], "1 2 2 D"))
    broken("reassemble", f"{_order}-leftover", Fault.LEFTOVER_DATA, _reassemble(0, _order, ["1 D", "2 3 D"], "1 2 D"))


# -- empties that a release once lost ---------------------------------------------------------------------------------

single("accum", "static-one-empty", 2, "1 2 S2 E1 S2 D", lambda x: x.accum(Add()), Tile(FP32), [2, 1, "R"])
single("flatten", "static-one-empty", 2, "1 2 S2 E1 S2 D", lambda x: x.flatten(1, 2), Tile(FP32), [2, 1, "R"])
single("promote", "empty-row-accum", 1, "E1 D", lambda x: x.promote().accum(Add()), Tile(FP32), ["N", "R"])


def _routed_sum(rank: int, order: str, data: str, selectors: str) -> Callable[[Graph], Inputs]:
    """Chunks that go through two targets, are gathered again, and summed per selector."""

    def build(graph: Graph) -> Inputs:
        bench = Bench(graph)
        x = bench.play("x", data, dims_of(rank), Tile(FP32))
        which = bench.choose("which", selectors, 2, x.shape[:1])
        parts = x.partition(which, targets=2, rank=rank)
        graph.reassemble(parts, which, rank=rank, order=order).accum(Add(), rank=rank + 1).sink("y")
        return bench.inputs

    return build


for _order in ("index", "arrival"):
    add("reassemble", f"{_order}-empty-accum", _routed_sum(0, _order, "1 2 3 4 D", "1 0 3 0 D"))
    add("reassemble", f"{_order}-empty-rows-accum", _routed_sum(1, _order, "1 2 S1 3 S1 E1 4 S1 D", "1 0 3 2 D"))

# -- control that becomes other control, and an arrival that is nobody's but one input's ----------------------------

single("map", "select_all-of-selectors", 1, "1 0 S1 E1 1 S1 D", lambda x: x.map(SelectAll(3)), Selector(1))
for _order in ("index", "arrival"):
    add("reassemble", f"{_order}-one-input", _reassemble(1, _order, ["1 2 S1 E1 3 S1 D"], "1 0 1 1 D"))
