"""Rules that hold, drop, repeat and look ahead: their hardware is what they say, in every cycle, or there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import further_rules
import pytest
from approx.same import both
from fabric_bench import packed, simulate
from integration.dynamic import Rows
from ruled import ruled
from scenarios.scenario import Bench, random_nested
from test_units import PRESSURE

from hw.fabric import elaborate
from hw.rules.words import HardwareError
from sim_approx import backend as approx
from step.language.dtypes import BF16, INT8, INT32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.running.interpreter import interpret

ONE, THREE, PAIR = Tile(INT32), Tile(BF16, 2, 3), Tuple((Tile(INT32, 1, 2), Tile(INT8, 2, 7)))
CHOICE = Selector(1)
FABRICS = (
    FabricConfig(link_bytes=4),
    FabricConfig(link_bytes=2, links={"odd": 8}),
    FabricConfig(link_bytes=8, links={"odd": 1}, channel_depth=4),
)

RULES = Path(further_rules.__file__).read_text().splitlines()

CASES: dict[str, Sequence[Sequence[ElementType]]] = {
    "duplicate": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "every_second": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "follow": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "hold_two": [(ONE, THREE), (PAIR, CHOICE), (THREE, PAIR)],
    "peek": [(ONE, THREE), (CHOICE, PAIR)],
    "select": [(ONE, CHOICE), (THREE, CHOICE), (PAIR, CHOICE), (CHOICE, CHOICE)],
    "held_item": [(PAIR,)],
    "thin_item": [(PAIR,), (Tuple((CHOICE, THREE)),), (Tuple((THREE, CHOICE)),)],
    "cross": [(ONE, THREE), (PAIR, CHOICE)],
    "with_before": [(ONE, THREE), (THREE, CHOICE)],
}


def given(seed: int, rank: int) -> list[Token]:
    """Ragged rows of integers, with a few empties."""
    return from_nested(random_nested(Random(seed), rank, 4), rank)


def program(kind: str, elements: Sequence[ElementType], rank: int, seed: int) -> tuple[Graph, dict[str, Any]]:
    """The operator between sources and sinks."""
    bench = Bench(Graph("odd"))
    place(bench, "odd", kind, elements, given(seed, rank), bench.dims(["A", "B", "C"][: rank + 1]))
    return bench.graph, bench.inputs


def place(
    bench: Bench, name: str, kind: str, elements: Sequence[ElementType], tokens: list[Token], dims: Sequence[Any]
) -> None:
    """One of ``kind`` called ``name``, between sources of its own and sinks."""
    streams = [play(bench, f"{name}_s{port}", tokens, each, dims) for port, each in enumerate(elements)]
    for port, each in enumerate(ruled(kind, *streams, name=name)):
        each.sink(f"{name}_y{port}")


def play(bench: Bench, name: str, tokens: list[Token], element: ElementType, dims: Sequence[Any]) -> Stream:
    """A source; of tuples those of their items, side by side."""
    if isinstance(element, Tuple):
        items = [play(bench, f"{name}_{at}", tokens, each, dims) for at, each in enumerate(element.items)]
        return items[0].zip(*items[1:])
    if isinstance(element, Selector):
        masks = [each._replace(value=each.value % 2) if each.has_value else each for each in tokens]
        return bench.choose(name, masks, 1, dims)
    return bench.play(name, tokens, dims, element)


def check(graph: Graph, inputs: dict[str, Any], fabric: FabricConfig, how: str) -> None:
    """RTL sends the words that the rule's meaning has, and in the cycles of the timing model."""
    idle, pressure = PRESSURE[how]
    expected = interpret(graph, inputs, record=True).streams
    run = simulate(graph, inputs, fabric, idle=idle, pressure=pressure, seed=crc32(how.encode()))
    assert run.finished and not run.faults
    for channel in run.fabric.channels:
        name = channel.edge.name
        wanted = [packed(token, channel) for token in expected[name]]
        assert [(header, words) for _, header, words in run.entered[name]] == wanted, name
    if how == "free":
        timed = approx.run(graph, inputs, fabric, events=True, engine="python")
        assert timed.events is not None
        cycles = {each.edge.name: run.cycles(each.edge.name) for each in run.fabric.channels}
        assert {name: list(each.cycles) for name, each in timed.events.items()} == cycles


def cases() -> Iterator[Any]:
    """Slow are all but the first elements of each kind, free and under both kinds of pressure in turn."""
    for turn, (kind, many) in enumerate(CASES.items()):
        for number, elements in enumerate(many):
            for how in PRESSURE:
                some = number == 0 and how == ("free", "both")[turn % 2]
                marks = [] if some else [pytest.mark.slow]
                yield pytest.param(kind, elements, how, marks=marks, id=f"{kind}{number}-{how}")


@pytest.mark.parametrize(("kind", "elements", "how"), [*cases()])
def test_rtl_is_what_the_rule_says(kind: str, elements: Sequence[ElementType], how: str) -> None:
    for number, fabric in enumerate(FABRICS):
        if all(isinstance(each, Selector) for each in elements):
            fabric = replace(fabric, links={})
        check(*program(kind, elements, 1 + number % 2, crc32(f"{kind}{number}".encode())), fabric, how)


def together(names: Sequence[str], rank: int) -> tuple[Graph, dict[str, Any]]:
    """All of ``names`` with all that `CASES` has for them, in one program."""
    bench = Bench(Graph("many"))
    for number, (kind, elements) in enumerate((name, each) for name in names for each in CASES[name]):
        dims = bench.dims([f"{letter}{number}" for letter in "ABC"[: rank + 1]])
        place(bench, f"{kind}{number}", kind, elements, given(number, rank), dims)
    return bench.graph, bench.inputs


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 2])
def test_both_engines_are_what_the_rule_says(rank: int) -> None:
    graph, inputs = together([*CASES], rank)
    netlist = lower(graph, FABRICS[0])
    for values in ("control", "all"):
        both(netlist, bind_inputs(netlist.graph, inputs), values=values)  # type: ignore[arg-type]
    timed = approx.run(graph, inputs, FABRICS[0], values="all")
    assert timed.engine == "compiled" and timed.outputs is not None
    expected = interpret(graph, inputs).outputs
    for name, tokens in timed.outputs.items():
        assert list(map(str, tokens)) == list(map(str, expected[name])), name


def test_words_behind_dynamic_tiles_are_dropped_when_they_come(graph: Graph) -> None:
    tiles = graph.source("tiles", Tile(BF16, graph.symbol("R", ragged=True), 5), [3])
    ruled("thin_item", tiles.zip(graph.source("behind", THREE, [3])).promote())[0].sink("y")
    line = RULES.index("            return None", RULES.index("class ThinItem(Machine):")) + 1
    with pytest.raises(HardwareError) as caught:
        elaborate(lower(graph, FabricConfig(dynamic_rows=4)))
    assert str(caught.value) == (
        f"{further_rules.__file__}:{line}: no hardware can be made of words of input 0 that come behind tiles of "
        "dynamic size; a firing takes what it puts of them, and returns COMPUTES"
    )


DYNAMIC = (
    "duplicate", "follow", "peek", "cross", "with_before", "before_with", "held_item", "every_second",
    "thin_item",
)  # fmt: skip


def place_dynamic(rows: Rows, kind: str) -> None:
    """One of ``kind`` in a program of tiles of dynamic size, beside static ones."""
    tiles, fixed = rows.given(f"{kind}_tiles"), rows.fixed(f"{kind}_fixed", Tile(BF16, 1, 9))
    match kind:
        case "peek" | "cross" | "before_with":
            streams = [fixed, tiles]
        case "with_before":
            streams = [tiles, fixed]
        case "held_item":
            streams = [tiles.zip(fixed)]
        case "thin_item":
            streams = [fixed.zip(tiles).promote()]
        case _:
            streams = [tiles.promote()]
            fixed.sink(f"{kind}_beside")
    for port, each in enumerate(ruled(kind.replace("before_with", "with_before"), *streams, name=kind)):
        each.sink(f"{kind}_{port}")


@pytest.mark.parametrize("kind", DYNAMIC)
def test_tiles_of_dynamic_size(kind: str) -> None:
    rows = Rows(5)
    place_dynamic(rows, kind)
    check(rows.graph, rows.inputs, FabricConfig(link_bytes=4, dynamic_rows=16), "free")


@pytest.mark.slow
def test_tiles_of_dynamic_size_on_all_floors() -> None:
    rows = Rows(5)
    for kind in DYNAMIC:
        place_dynamic(rows, kind)
    rows.checked(link_bytes=4, dynamic_rows=16)
