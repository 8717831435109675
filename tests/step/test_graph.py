"""Graphs: names, feedback edges, refinements, depths, checks, broadcasts and the netlist."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised, raising
from running import NUMBER, Bench, here, play, text_of

from step.errors import Deadlock, GraphError, ProgramError, StreamFault, TypeMismatch
from step.functions import Add, Mul, SelectAll
from step.language.dtypes import BF16, FP32, INT32
from step.language.graph import Graph, Node
from step.language.location import Location
from step.language.operator import OPERATORS, Names, Operator, Process, StreamType, Surroundings
from step.language.tokens import DONE
from step.language.types import Tile
from step.language.validate import check
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import insert_broadcasts, lower
from step.ops import Zip
from step.running.interpreter import bind, interpret

# -- names ----------------------------------------------------------------------------------------------------------


def test_names_count_per_operator(bench: Bench) -> None:
    x = bench.source("x", "D", [1])
    assert [str(x.promote()), str(x.promote()), str(x.map(SelectAll(1)))] == ["promote_0", "promote_1", "map_0"]


def test_counted_names_step_aside_for_given_ones(bench: Bench) -> None:
    x = bench.source("x", "D", [1])
    x.promote(name="promote_0")
    assert str(x.promote()) == "promote_1"


@pytest.mark.parametrize("name", ["1st", "a b", "a-b", "", "é"])
def test_bad_names(name: str) -> None:
    message = f"a name must be letters, digits and underscores, and start with no digit, not {name!r}"
    for make in (
        lambda: Graph(name),
        lambda: Graph("g").symbol(name),
        lambda: Graph("g").tensor(name, (1, 1), BF16),
        lambda: Graph("g").feedback(NUMBER, [1], name=name),
    ):
        assert raised(GraphError, make) == message
    if name:
        assert raised(GraphError, lambda: Graph("g").source(name, NUMBER, [1])) == message


def test_names_used_twice() -> None:
    graph = Graph("twice")
    graph.feedback(NUMBER, [1], name="x")
    with raising(GraphError, f"the name 'x' is used twice: {here(1)} and {here(-1)}"):
        graph.source("x", NUMBER, [1])
    graph.source("y", NUMBER, [1])
    with raising(GraphError, f"the name 'y' is used twice: {here(1)} and {here(-1)}"):
        graph.feedback(NUMBER, [1], name="y")


def test_symbols_and_tensors_used_twice() -> None:
    graph = Graph("twice")
    graph.symbol("N")
    with raising(GraphError, f"the symbol 'N' is used twice: {here(1)} and {here(-1)}"):
        graph.symbol("N")
    graph.tensor("a", (1, 1), BF16)
    with raising(GraphError, "tensor 'a' is declared twice"):
        graph.tensor("a", (2, 2), BF16)


@pytest.mark.parametrize("dims", [[4], [], [4, 0], [-1, 4]])
def test_bad_tensors(dims: list[Any]) -> None:
    error = raised(GraphError, lambda: Graph("g").tensor("a", dims, BF16))
    assert error == f"tensor 'a' must have at least two dimensions, integers >= 1, not {dims}"


@pytest.mark.parametrize("extent", [2.5, float("nan"), "4"])
def test_tensors_have_integers(extent: Any) -> None:
    with raising(TypeMismatch, f"{here(-1)}: tensor needs dims[1] to be an integer, not {extent!r}"):
        Graph("g").tensor("a", [4, extent], BF16)


def test_unknown_operators_are_told_apart_from_known_ones(bench: Bench) -> None:
    x = bench.source("x", "D", [1])
    with pytest.raises(
        AttributeError, match=r"^a stream has no operator 'flaten'; did you mean 'flatten'\? it has accum, .*flatten"
    ):
        x.flaten(0, 1)
    with pytest.raises(
        AttributeError, match=r"^a graph has no operator 'lod'; did you mean 'load'\? it has .*, load, .*, source, "
    ):
        bench.graph.lod()
    for name, where in (("row_max", "functions.RowMax"), ("softmax", "library.softmax")):
        with pytest.raises(
            AttributeError, match=rf"^a stream has no operator '{name}', but there is step\.{where}; it has"
        ):
            getattr(x, name)
    assert {"accum", "flatten", "buffered"} <= set(dir(x))


def test_symbols_know_where_they_were_born(graph: Graph) -> None:
    graph.symbol("N")
    assert str(graph.symbols["N"].born) == here(1) and graph.symbols["N"].of == "g"


# -- streams of another graph, and what is no stream ----------------------------------------------------------------


def test_a_stream_of_another_graph() -> None:
    one, other = Graph("one"), Graph("other")
    x, y = one.source("x", NUMBER, [1]), other.source("y", NUMBER, [1])
    with raising(GraphError, f"zip at {here(-1)} reads y of graph 'other', which nobody writes in graph 'one'"):
        x.zip(y)


# -- depth ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, 1, -3])
def test_bad_depths(depth: Any) -> None:
    error = raised(ProgramError, lambda: Bench().source("x", "D", [1]).buffered(depth))
    assert error == f"a channel's depth must be an integer >= 2, not {depth!r}"


def test_a_depth_belongs_to_one_reader(bench: Bench) -> None:
    x = bench.source("x", "D", [1])
    x.buffered(7).sink("a")
    x.sink("b")
    depths = {channel.consumer: channel.depth for channel in lower(bench.graph, FabricConfig(channel_depth=3)).channels}
    assert depths == {("x_broadcast", 0): 3, ("a", 0): 7, ("b", 0): 3}


# -- feedback -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Delay(Operator):
    """A zero in front of the stream, whose last element is not waited for; ends by itself after ``count`` elements."""

    count: int

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        return inputs

    def process(self, node: Node, around: Surroundings) -> Process:
        around.emit(0, play("0 D", Tile(FP32))[0])
        for _ in range(self.count - 1):
            around.emit(0, (yield 0))
        around.emit(0, DONE)


del OPERATORS[Delay.name]  # it is no operator of the language


def running_sums(graph: Graph, *, delayed: bool) -> Any:
    """y[n] = x[n] + y[n-1], as a loop that is left open; not ``delayed`` it asks for y[n] and can not begin."""
    x = graph.source("x", Tile(FP32), [3])
    edge = graph.feedback(Tile(FP32), [3], name="before")
    before = graph.add(Delay(3), [edge.stream], name="delay")[0] if delayed else edge.stream
    y = x.map(Add(), before, name="y")
    return edge, y


def test_a_cycle_that_runs(graph: Graph) -> None:
    edge, y = running_sums(graph, delayed=True)
    edge.close(y)
    y.sink("sums")
    assert check(graph) == []
    assert text_of(interpret(graph, {"x": play("1 2 3 D", Tile(FP32))}).outputs["sums"]) == "1 3 6"


def test_a_shape_may_be_assumed_while_an_edge_is_open(bench: Bench) -> None:
    bench.graph.feedback(NUMBER, [3], name="before").stream.sink("y")
    first, _ = route(bench, "1 2 1 D")
    assert str(first.assume_shape([2]).type) == "[2] of Tile(INT32, 1, 1)"


def test_a_stream_that_feeds_an_edge_is_read(bench: Bench) -> None:
    first, _ = route(bench, "1 2 1 D")
    bench.graph.feedback(NUMBER, first.shape, name="back").close(first)
    with pytest.raises(GraphError, match=r"must stand before the first reader of the stream$"):
        first.assume_shape([2])


def test_a_cycle_without_a_first_token_starves(graph: Graph) -> None:
    edge, y = running_sums(graph, delayed=False)
    edge.close(y)
    assert raised(Deadlock, lambda: interpret(graph, {"x": play("1 2 3 D", Tile(FP32))})) == (
        "the program ended before every stream did; these operators wait for a token that never comes:\n"
        f"  {graph.nodes['y'].describe()} waits for token 0 of y"
    )


def test_a_feedback_edge_that_nobody_closes(graph: Graph) -> None:
    edge, _ = running_sums(graph, delayed=True)
    for look in (lambda: check(graph), lambda: interpret(graph, {}), lambda: lower(graph, FabricConfig())):
        error = raised(GraphError, look)
        assert error == f"feedback 'before' ({edge.location}) is read, but nobody writes it; close it with a stream"


def test_a_feedback_edge_of_another_type(graph: Graph) -> None:
    edge = graph.feedback(Tile(FP32), [3], name="before")
    born = here(1)
    x = graph.source("x", Tile(BF16), [3])
    with pytest.raises(TypeMismatch) as error:
        edge.close(x)
    assert str(error.value) == (
        f"{here(2)}: feedback 'before' ({born}) was declared as [3] of Tile(FP32, 1, 1), "
        "but x is [3] of Tile(BF16, 1, 1)"
    )


def test_a_feedback_edge_closed_twice(graph: Graph) -> None:
    edge = graph.feedback(NUMBER, [3], name="before")
    born = here(1)
    edge.close(graph.source("x", NUMBER, [3]))
    with raising(GraphError, f"feedback 'before' ({born}) is closed already, by x"):
        edge.close(graph.source("y", NUMBER, [3]))


def test_a_feedback_edge_of_another_graph() -> None:
    graph, other = Graph("one"), Graph("other")
    edge = graph.feedback(NUMBER, [3], name="before")
    with pytest.raises(
        GraphError, match=r"^feedback 'before' .* reads x of graph 'other', which nobody writes in graph 'one'$"
    ):
        edge.close(other.source("x", NUMBER, [3]))


def test_a_cycle_that_no_feedback_edge_cuts() -> None:
    """Only possible by hand: a node whose input is its own output."""
    graph = Graph("cycle")
    x = graph.source("x", NUMBER, [1])
    (y,) = graph.add(Zip(), [x, x], name="y")
    node = graph.nodes["y"]
    object.__setattr__(node, "inputs", (x, y))
    error = raised(GraphError, lambda: check(graph))
    assert error == f"these operators form a cycle without a declared feedback edge:\n  {node.describe()}"


# -- refinements ----------------------------------------------------------------------------------------------------


def route(bench: Bench, which: str) -> Any:
    x = bench.source("x", "1 2 3 D", [3])
    return x.partition(bench.choose("which", which, 2, [3]), targets=2, name="route")


def test_assume_shape_gives_the_shape(bench: Bench) -> None:
    first, second = route(bench, "1 2 1 D")
    assert str(first.assume_shape([2]).type) == "[2] of Tile(INT32, 1, 1)"
    assert bench.texts(first, second) == ["1 3 D", "2 D"]


def test_a_wrong_static_assumption_is_found_when_it_runs(bench: Bench) -> None:
    first, _ = route(bench, "1 2 2 D")
    refined = first.assume_shape([2])
    error = raised(StreamFault, lambda: bench.text(refined))
    node = bench.graph.nodes["route"]
    assert error == (f"{node.describe()}: stream route.0 of shape [2]: token 1 ends a dimension of extent 2 after 1")


def test_a_wrong_dynamic_assumption_is_found_when_it_runs() -> None:
    """Said to be as many as the source, which has three: the run and the binding of symbols both check it."""
    bench = Bench(N=False)
    n = bench.symbols["N"]
    x = bench.source("x", "1 2 3 D", [n])
    first, _ = x.partition(bench.choose("which", "1 2 1 D", 2, [n]), targets=2, name="route")
    first.assume_shape([n]).sink("y")
    for run in (interpret, bind):
        with pytest.raises(StreamFault, match=r"N") as error:
            run(bench.graph, bench.inputs)
        assert "route.0" in str(error.value) or "x" in str(error.value)


@cases(
    ([3], "zip_0 has the dimension 2, so it can not have 3 there"),
    ([2, 1], "zip_0 has 1 dimensions, so it can not have the shape [2, 1]"),
)
def test_assumptions_against_what_is_known(dims: list[int], message: str, bench: Bench) -> None:
    y = bench.source("x", "D", [2]).zip(bench.source("y", "D", [2]))
    with raising(TypeMismatch, f"{here(-1)}: {message}"):
        y.assume_shape(dims)


def test_assumptions_come_before_the_first_reader(bench: Bench) -> None:
    first, _ = route(bench, "1 2 2 D")
    first.sink("y")
    error = raised(GraphError, lambda: first.assume_shape([1]))
    assert error == "assume_shape(route.0) must stand before the first reader of the stream"


# -- warnings -------------------------------------------------------------------------------------------------------


def test_unread_outputs_are_reported_but_for_optional_ones(bench: Bench) -> None:
    first, _ = route(bench, "1 2 2 D")
    first.reshape(2)[0].sink("y")  # nobody reads the padding flags, and that is fine
    where = bench.graph.nodes["route"].describe()
    assert check(bench.graph) == [f"{where}: nobody reads route.1; its tokens are dropped"]


def test_unread_outputs_do_not_stop_a_run(bench: Bench) -> None:
    first, _ = route(bench, "1 2 2 D")
    first.sink("y")
    assert text_of(interpret(bench.graph, bench.inputs).outputs["y"]) == "1"


# -- broadcasts and netlist -----------------------------------------------------------------------------------------


def test_every_reader_gets_a_copy_in_the_order_of_placement(bench: Bench) -> None:
    x = bench.source("x", "1 D", [1])
    x.sink("b")
    x.zip(x, name="z").sink("c")
    lowered = insert_broadcasts(bench.graph)
    assert list(lowered.nodes) == ["x", "x_broadcast", "b", "z", "c"]
    assert [str(each) for name in ("b", "z") for each in lowered.nodes[name].inputs] == [
        "x_broadcast.0", "x_broadcast.1", "x_broadcast.2"
    ]  # fmt: skip
    assert list(bench.graph.nodes) == ["x", "b", "z", "c"]  # the program itself stays as it is


def test_a_broadcast_of_one_of_several_outputs_is_named_after_it(bench: Bench) -> None:
    _, second = route(bench, "1 2 2 D")
    second.sink("a")
    second.sink("b")
    assert "route_1_broadcast" in insert_broadcasts(bench.graph).nodes


def test_a_broadcast_steps_aside_for_a_node_of_its_name(bench: Bench) -> None:
    x = bench.source("x", "1 D", [1])
    x.sink("x_broadcast")
    x.sink("y")
    assert list(insert_broadcasts(bench.graph).nodes) == ["x", "x_broadcast_", "x_broadcast", "y"]


def test_lowering_does_not_change_what_a_program_means(bench: Bench) -> None:
    x = bench.source("x", "1 2 D", [2], Tile(FP32))
    x.map(Mul(), x).map(Add(), x).sink("y")
    lowered = insert_broadcasts(bench.graph)
    plain = interpret(bench.graph, bench.inputs)
    again = interpret(lowered, bench.inputs)
    assert text_of(plain.outputs["y"]) == text_of(again.outputs["y"]) == "2 6"


def test_the_netlist_numbers_channels_by_their_producers(bench: Bench) -> None:
    x = bench.source("x", "1 D", [1])
    y = bench.source("y", "1 D", [1])
    y.zip(x, name="z").sink("out")
    x.sink("copy")
    netlist = lower(bench.graph, FabricConfig())
    assert [unit.name for unit in netlist.units] == ["x", "x_broadcast", "y", "z", "out", "copy"]
    assert [(each.index, each.name, each.producer, each.consumer) for each in netlist.channels] == [
        (0, "x", ("x", 0), ("x_broadcast", 0)),
        (1, "x_broadcast.0", ("x_broadcast", 0), ("z", 1)),
        (2, "x_broadcast.1", ("x_broadcast", 1), ("copy", 0)),
        (3, "y", ("y", 0), ("z", 0)),
        (4, "z", ("z", 0), ("out", 0)),
    ]
    z = netlist.graph.nodes["z"]
    assert [each.index for each in netlist.inputs(z)] == [3, 1]
    assert [each.index for each in netlist.outputs(z) if each] == [4]


def test_an_unread_output_has_no_channel(bench: Bench) -> None:
    first, _ = route(bench, "1 2 2 D")
    first.sink("y")
    netlist = lower(bench.graph, FabricConfig())
    channels = netlist.outputs(netlist.graph.nodes["route"])
    assert [each and each.name for each in channels] == ["route.0", None]


def test_a_feedback_edge_is_a_channel_with_the_readers_depth() -> None:
    graph = Graph("loop")
    edge = graph.feedback(NUMBER, [3], name="before")
    edge.stream.buffered(9).sink("y")
    edge.close(graph.source("x", NUMBER, [3]))
    (channel,) = lower(graph, FabricConfig()).channels
    assert (channel.name, channel.producer, channel.consumer, channel.depth) == ("x", ("x", 0), ("y", 0), 9)


def test_inputs_of_a_graph_are_named(graph: Graph) -> None:
    graph.load(graph.tensor("a", (2, 2), INT32), tile=(2, 2)).store("y")
    assert interpret(graph, {"a": np.zeros((2, 2), np.int32)}).outputs["y"][0].stop == 2


def test_help_and_dir_show_the_operators() -> None:
    code = "import pydoc, step; print(pydoc.plain(pydoc.render_doc(step.{}))); print(dir(step.Graph()))"
    for thing, lines in {
        "Stream": ("promote(stream: 'Stream', *, name:", "Wrap the whole stream into one more dimension"),
        "Graph": ("reassemble(graph: 'Graph', inputs:", "Gather, per selector, one chunk"),
    }.items():
        done = subprocess.run([sys.executable, "-c", code.format(thing)], capture_output=True, text=True, check=True)
        assert all(line in done.stdout for line in lines), done.stdout
        assert "'eager_merge'" in done.stdout
    assert {"partition", "map", "shape"} <= set(dir(Bench().source("x", "D", [1])))


def test_operators_stand_where_they_are_said_to() -> None:
    """What others made a graph of is named in errors, not the lines that place the operators."""
    graph, model = Graph("placed"), Location("model.py", 7)
    x = graph.source("x", NUMBER, [2])
    with graph.at(model):
        y = x.map(Mul(), x, name="y")
        with graph.at(Location("model.py", 8)), pytest.raises(TypeMismatch, match=r"map 'z' \(model\.py:8\): "):
            y.map(SelectAll(2), y, y, name="z")
        y.sink("inside")
    y.sink("outside")
    assert [graph.nodes[name].location for name in ("y", "inside")] == [model, model]
    assert graph.nodes["outside"].location.file.endswith("test_graph.py")
