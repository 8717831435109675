"""Made-up input data: programs take it, extents are what was asked for, and what can not be made up is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised
from running import NUMBER
from scenarios import Scenario, one_of

from step.errors import InputError, StreamFault, UnboundSymbol
from step.functions import Add, RetileRow
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32
from step.language.graph import Graph
from step.language.tokens import show
from step.language.types import Selector, Tile, Tuple
from step.programs.data.equality import same
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.data.npz import arrays_of, load_inputs, write_arrays
from step.programs.program import load_program
from step.running.interpreter import bind, interpret
from step.running.sample import sample

EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = [None, 0, 1, 2, 3]


def through_a_file(graph: Graph, made: BoundInputs, directory: Path) -> BoundInputs:
    write_arrays(directory / "x.npz", arrays_of(graph, made, readable=True))
    again = bind_inputs(graph, load_inputs(directory / "x.npz", graph))
    assert again == made
    return again


def plain(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16, 2, 2), [graph.symbol("N"), graph.symbol("R", ragged=True)])
    x.accum(RetileRow()).sink("y")


def equal_shapes(graph: Graph) -> None:
    dims = [graph.symbol("N"), graph.symbol("M"), graph.symbol("R", ragged=True), graph.symbol("Q", ragged=True)]
    first, second = (graph.source(name, Tile(FP32), dims) for name in "xw")
    first.map(Add(), second).accum(Add(), rank=2).sink("y")


def counted(graph: Graph) -> None:
    """Selectors of a count that is derived from a symbol."""
    chunks, _ = graph.source("x", NUMBER, [graph.symbol("N")]).reshape(3)
    which = graph.selectors("which", 2, [chunks.shape[0]])
    for port, each in enumerate(chunks.partition(which, targets=2, rank=1)):
        each.sink(f"y{port}")


def routed_twice(graph: Graph) -> None:
    """The second selector has one entry per row that the first one sends there."""
    rows = graph.source("x", NUMBER, [graph.symbol("N")]).partition(
        graph.selectors("first", 2, [graph.symbols["N"].dim]), targets=2, name="route"
    )
    again = rows[0].partition(graph.selectors("second", 2, [rows[0].shape[0]]), targets=2, name="again")
    for port, each in enumerate([rows[1], *again]):
        each.sink(f"y{port}")


def ragged_inside(graph: Graph) -> None:
    """A source that has the ragged shape that an operator makes."""
    x = graph.source("x", Tile(FP32), [graph.symbol("N"), graph.symbol("R", ragged=True)])
    chunks, _ = x.reshape(2, name="chunks")
    each = graph.source("scale", Tile(FP32), chunks.shape[:2])
    chunks.accum(Add()).map(Add(), each).sink("y")


def assumed(graph: Graph) -> None:
    """A declared symbol that follows from data."""
    rows = graph.source("x", Tile(FP32), [graph.symbol("N")]).partition(
        graph.selectors("which", 2, [graph.symbols["N"].dim]), targets=2
    )
    m = graph.symbol("M")
    first = rows[0].assume_shape([m])
    first.map(Add(), graph.source("w", Tile(FP32), [m])).sink("y")
    rows[1].sink("z")


def dynamic_tiles(graph: Graph) -> None:
    n, k = graph.symbol("N"), graph.symbol("K", ragged=True)
    graph.source("x", Tuple((Tile(INT8, k, 2), Selector(3))), [n, 2]).sink("y")


def promoted(graph: Graph) -> None:
    x = graph.source("x", NUMBER, [graph.symbol("R", ragged=True)])
    graph.source("s", NUMBER, x.promote(name="wrapped").shape[:1]).sink("y")
    graph.selectors("t", 2, [graph.symbols["R"].dim]).sink("z")


def unused(graph: Graph) -> None:
    plain(graph)
    graph.symbol("M")


def of_all_types(graph: Graph) -> None:
    for dtype in (BF16, FP32, INT8, INT32, UINT32, BOOL):
        graph.load(graph.tensor(f"t{dtype}", (2, 4), dtype), tile=(2, 2)).sink(f"l{dtype}")
        graph.source(f"s{dtype}", Tile(dtype, 2, 1), [2]).sink(f"y{dtype}")


PROGRAMS = [
    plain, equal_shapes, counted, routed_twice, ragged_inside, assumed, dynamic_tiles, promoted, of_all_types,
]  # fmt: skip


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_programs_take_what_is_made_up(
    build: Callable[[Graph], None], seed: int | None, tmp_path: Path, graph: Graph
) -> None:
    build(graph)
    interpret(graph, through_a_file(graph, sample(graph, seed=seed), tmp_path))


@pytest.mark.parametrize("spec", ["moe_simple.py", "swiglu.py"])
@pytest.mark.parametrize("seed", SEEDS)
def test_examples_take_what_is_made_up(spec: str, seed: int | None, tmp_path: Path) -> None:
    graph = load_program(str(EXAMPLES / spec)).graph
    interpret(graph, through_a_file(graph, sample(graph, seed=seed), tmp_path))


@pytest.mark.parametrize("function", ["program", "dynamic"])
def test_a_program_whose_inputs_depend_on_each_other(function: str, tmp_path: Path) -> None:
    """Every expert wants as many scores as rows: shapes do not say that of the selectors, which are kept."""
    program = load_program(f"{EXAMPLES}/moe_mixtral.py:{function}")
    with pytest.raises(StreamFault):
        interpret(program.graph, sample(program.graph, seed=1))
    kept = sample(program.graph, seed=1, own=program.inputs, keep=["routing", "choice"])
    interpret(program.graph, through_a_file(program.graph, kept, tmp_path))
    own = bind_inputs(program.graph, program.inputs)
    assert kept.streams["routing"] == own.streams["routing"] and kept.streams["choice"] == own.streams["choice"]
    assert not same(kept.tensors, own.tensors)


@pytest.mark.parametrize("scenario", one_of(5))
def test_data_for_every_scenario_is_of_the_declared_types(scenario: Scenario, tmp_path: Path) -> None:
    graph = Graph("scenario")
    scenario.build(graph)
    for seed in (None, 7):
        through_a_file(graph, sample(graph, seed=seed), tmp_path)


def test_a_seed_says_what_is_made_up(graph: Graph) -> None:
    of_all_types(graph)
    assert sample(graph, seed=5) == sample(graph, seed=5)
    assert sample(graph, seed=5) != sample(graph, seed=6)
    made = sample(graph)
    assert all(not each.any() for each in made.tensors.values())


def shown(build: Callable[[Graph], None], source: str, **options: Any) -> str:
    graph = Graph("g")
    build(graph)
    return show(
        each._replace(value=int(np.sum(each.value))) if each.has_value else each
        for each in sample(graph, **options).streams[source]
    )


@cases(
    (plain, "x", {}, "0 0 S1 0 0 S1 D"),
    (plain, "x", {"N": 0}, "D"),
    (plain, "x", {"N": 3, "R": 4}, "0 0 S1 0 S1 0 S1 D"),
    (plain, "x", {"R": 1}, "0 S1 E1 D"),
    (counted, "which", {"N": 7}, "1 1 1 D"),
    (routed_twice, "second", {"N": 5}, "1 1 1 1 1 D"),
    (ragged_inside, "scale", {"N": 2, "R": 5}, "0 0 S1 0 S1 D"),
    (assumed, "w", {"N": 3}, "0 0 0 D"),
    (promoted, "s", {"R": 0}, "D"),
    (promoted, "s", {"R": 9}, "0 D"),
    (promoted, "t", {"R": 3}, "1 1 1 D"),
)
def test_extents_that_are_asked_for(
    build: Callable[[Graph], None], source: str, bindings: dict[str, int], text: str
) -> None:
    assert shown(build, source, bindings=bindings) == text


def test_bindings_hold_with_a_seed(graph: Graph) -> None:
    equal_shapes(graph)
    for seed in range(5):
        found = bind(graph, sample(graph, seed=seed, bindings={"N": 3, "M": 2, "R": 9, "Q": 20}))
        assert {name: found[name] for name in "NMRQ"} == {"N": 3, "M": 2, "R": 9, "Q": 20}


@cases(
    (plain, {"K": 1}, UnboundSymbol, "the program has no symbol 'K'; it has N, R"),
    (plain, {"N": 0, "R": 1}, InputError, "symbol 'R' can not be 1: there is no tensor that could have elements"),
    (routed_twice, {"route_D0": 1}, InputError,
     "symbol 'route_D0' can not be chosen: it follows from the data of 'x', 'first'"),
    (routed_twice, {"route_D1": 1}, InputError,
     "symbol 'route_D1' can not be chosen: it follows from the data of 'x', 'first'"),
    (unused, {"M": 1}, InputError, "symbol 'M' is the extent of no source, so it can not be chosen"),
    (assumed, {"M": 1}, InputError, "symbol 'M' can not be chosen: it follows from the data of 'x', 'which'"),
)  # fmt: skip
def test_extents_that_can_not_be_chosen(
    build: Callable[[Graph], None], bindings: dict[str, int], kind: Any, message: str, graph: Graph
) -> None:
    build(graph)
    assert raised(kind, lambda: sample(graph, bindings=bindings)) == message


def test_what_follows_from_its_own_data() -> None:
    graph = Graph("g")
    n = graph.symbol("N")
    m = graph.symbol("M")
    x = graph.source("x", NUMBER, [n])
    edge = graph.feedback(Selector(2), [m], name="back")
    edge.stream.sink("z")
    rows = x.partition(graph.selectors("which", 2, [n]), targets=2, name="route")
    rows[1].sink("u")
    edge.close(graph.selectors("late", 2, [m]))
    rows[0].assume_shape([m]).sink("y")
    assert show(sample(graph).streams["late"]) == "1 1 D"

    graph = Graph("circle")
    k = graph.symbol("K")
    edge = graph.feedback(Tile(FP32), [k], name="back")
    rows = edge.stream.partition(graph.selectors("which", 1, [k]), targets=1, name="route")
    (again,) = rows
    again.assume_shape([k]).sink("y")
    edge.close(graph.source("x", Tile(FP32), [k]).map(Add(), graph.source("w", Tile(FP32), [k])))
    assert show(each._replace(value=0) if each.has_value else each for each in sample(graph).streams["x"]) == "0 0 D"


def test_what_can_not_be_kept(graph: Graph) -> None:
    plain(graph)
    for options, message in (
        ({"keep": ["z"], "own": {"x": []}}, "the program has no tensor or source 'z'; it has x"),
        ({"keep": ["x"]}, "input 'x' can not be kept: the program has no data"),
        ({"keep": ["x"], "own": {"x": [[], []]}, "bindings": {"N": 3}},
         "symbol 'N' can not be chosen: it follows from what is kept"),
    ):  # fmt: skip
        assert raised(InputError, sample, graph, **options) == message


def test_a_program_that_fails_on_the_way(graph: Graph) -> None:
    """What a symbol follows from is run, and that can fail."""
    n, m = graph.symbol("N"), graph.symbol("M")
    which = graph.selectors("which", 2, [n])
    rows = graph.source("x", Tile(FP32), [n]).partition(which, targets=2, name="route")
    first, second = (each.assume_shape([m]) for each in rows)
    first.map(Add(), second).sink("y")
    graph.source("late", NUMBER, [m]).sink("z")
    assert raised(InputError, lambda: sample(graph)) == (
        "source 'late' can not be made up: its M follows from the data of 'which', 'x', on which the program fails: "
        "stream route.0: the dimension M should be 0, but is [2]"
    )
