"""Rules that hold, drop, repeat and look ahead: their hardware is what they say, in every cycle, or there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any
from zlib import crc32

import further_rules
import pytest
from fabric_bench import packed, simulate
from ruled import ruled
from scenarios.scenario import Bench, random_nested
from test_units import PRESSURE

from sim_approx import backend as approx
from step.language.dtypes import BF16, INT8, INT32
from step.language.graph import Graph
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.running.interpreter import interpret

assert further_rules
ONE, THREE, PAIR = Tile(INT32), Tile(BF16, 2, 3), Tuple((Tile(INT32, 1, 2), Tile(INT8, 2, 7)))
CHOICE = Selector(1)
FABRICS = FabricConfig(link_bytes=4), FabricConfig(link_bytes=2, links={"odd": 8}), FabricConfig(
    link_bytes=8, links={"odd": 1}, channel_depth=4
)

CASES: dict[str, Sequence[Sequence[ElementType]]] = {
    "duplicate": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "every_second": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "drop_first": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "last_of_row": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "follow": [(ONE,), (THREE,), (PAIR,), (CHOICE,)],
    "thin": [(ONE,), (THREE,)],
    "hold_two": [(ONE, THREE), (PAIR, CHOICE), (THREE, PAIR)],
    "peek": [(ONE, THREE), (CHOICE, PAIR)],
    "select": [(ONE, CHOICE), (THREE, CHOICE), (PAIR, CHOICE), (CHOICE, CHOICE)],
    "held_item": [(PAIR,)],
    "thin_item": [(PAIR,), (Tuple((CHOICE, THREE)),), (Tuple((THREE, CHOICE)),)],
    "cross": [(ONE, THREE), (PAIR, CHOICE)],
    "with_before": [(ONE, THREE), (THREE, CHOICE)],
}


def given(seed: int, rank: int, element: ElementType) -> list[Token]:
    """Ragged rows with a few empties; of selectors masks."""
    nested = random_nested(Random(seed), rank, 4)
    tokens = from_nested(nested, rank)
    masks = isinstance(element, Selector)
    return [each._replace(value=each.value % 2) if masks and each.has_value else each for each in tokens]


def program(kind: str, elements: Sequence[ElementType], rank: int, seed: int) -> tuple[Graph, dict[str, Any]]:
    """The operator between sources and sinks."""
    graph = Graph("odd")
    bench, symbols = Bench(graph), ["A", "B", "C"][: rank + 1]
    dims, streams = bench.dims(symbols), []
    for port, element in enumerate(elements):
        tokens = given(seed, rank, element)
        if isinstance(element, Selector):
            streams.append(bench.choose(f"s{port}", tokens, 1, dims))
        elif isinstance(element, Tuple):
            streams.append(tuples(bench, f"s{port}", tokens, element, dims))
        else:
            streams.append(bench.play(f"s{port}", tokens, dims, element))
    for port, each in enumerate(ruled(kind, *streams, name="odd")):
        each.sink(f"y{port}")
    return graph, bench.inputs


def tuples(bench: Bench, name: str, tokens: list[Token], element: Tuple, dims: Any) -> Any:
    """A stream of tuples, zipped."""
    items = []
    for number, item in enumerate(element.items):
        if isinstance(item, Selector):
            masks = [each._replace(value=each.value % 2) if each.has_value else each for each in tokens]
            items.append(bench.choose(f"{name}_{number}", masks, 1, dims))
        else:
            items.append(bench.play(f"{name}_{number}", tokens, dims, item))
    first, *others = items
    return first.zip(*others)


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


@pytest.mark.parametrize("how", PRESSURE)
@pytest.mark.parametrize(("kind", "elements"), [(kind, each) for kind, many in CASES.items() for each in many], ids=str)
def test_rtl_is_what_the_rule_says(kind: str, elements: Sequence[ElementType], how: str) -> None:
    for number, fabric in enumerate(FABRICS):
        if all(isinstance(each, Selector) for each in elements):
            fabric = replace(fabric, links={})
        check(*program(kind, elements, 1 + number % 2, crc32(f"{kind}{number}".encode())), fabric, how)
