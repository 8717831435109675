"""Deadlocks: the exact text, and depths that are enough but not more than that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import cases

from sim_approx.backend import run
from step.errors import Deadlock, FabricError, Runaway, StreamFault
from step.functions.cast import Cast
from step.functions.elementwise import Add
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.tokens import Token, parse
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs
from step.running.interpreter import interpret
from step.running.result import RunResult, Status

HERE = str(Path(__file__).relative_to(Path.cwd())) if Path(__file__).is_relative_to(Path.cwd()) else __file__
FABRIC = FabricConfig()
STREAM = [[1, 2, 3, 4, 5], [1, 2]]


def timing_of(*_: object) -> Timing:
    return Timing(1, 2)


def fork_join(depth: int | None = None) -> Graph:
    """A row and its sum joined again: the row waits in the channel until the sum is known."""
    graph = Graph("fork_join")
    x = graph.source("x", Tile(BF16), [graph.symbol("N"), graph.symbol("M", ragged=True)])
    total = x.accum(Add(), name="total").repeat(1, name="one")
    direct = x if depth is None else x.buffered(depth)
    total.expand(direct, name="spread").sink("y")
    return graph


TEXT = """\
deadlock: from cycle 4 on nothing can move, and 7 of 7 operators are not finished
the smallest depths that clear it:
  x_broadcast.1: 5 instead of 2 (input 1 of expand 'spread' ({here}:40): x.buffered(5), from {here}:37)
who waits for what:
  source 'x' ({here}:37) waits for space in x -> x_broadcast (depth 2, full)
  broadcast 'x_broadcast' ({here}:37) waits for space in x_broadcast.1 -> spread (depth 2, full)
  accum 'total' ({here}:38) waits for a token of x_broadcast.0 -> total (depth 2, empty)
  reshape 'one_chunks' ({here}:38) waits for a token of total -> one_chunks (depth 2, empty)
  expand 'one' ({here}:38) waits for a token of one_chunks -> one (depth 2, empty)
  expand 'spread' ({here}:40) waits for a token of one -> spread (depth 2, empty)
  sink 'y' ({here}:40) waits for a token of spread -> y (depth 2, empty)
the cycle of waits:
  x_broadcast waits for space in x_broadcast.1 -> spread (depth 2, full)
  spread waits for a token of one -> spread (depth 2, empty)
  one waits for a token of one_chunks -> one (depth 2, empty)
  one_chunks waits for a token of total -> one_chunks (depth 2, empty)
  total waits for a token of x_broadcast.0 -> total (depth 2, empty)"""


def test_text() -> None:
    with pytest.raises(Deadlock) as caught:
        run(fork_join(), {"x": STREAM}, FABRIC, timing_of=timing_of)
    assert str(caught.value) == TEXT.format(here=HERE)
    result = caught.value.result
    assert result is not None
    assert (result.status, result.cycles, result.error) == (Status.DEADLOCK, 4, str(caught.value))
    assert result.channels["x_broadcast.1"].peak == 2


def test_depth_is_enough_and_not_too_much() -> None:
    assert run(fork_join(5), {"x": STREAM}, FABRIC, timing_of=timing_of).status == Status.FINISHED
    with pytest.raises(Deadlock, match=r"x_broadcast\.1: 5 instead of 4"):
        run(fork_join(4), {"x": STREAM}, FABRIC, timing_of=timing_of)


def test_depths_without_changing_the_program() -> None:
    result = run(fork_join(), {"x": STREAM}, FABRIC, depths={"x_broadcast.1": 5}, timing_of=timing_of)
    assert result.channels["x_broadcast.1"].capacity == 5


@cases(({"nothing": 4}, "there is no channel 'nothing'"), ({"x": 1}, "must be an integer >= 2, not 1"))
def test_bad_depths(depths: dict[str, int], message: str) -> None:
    with pytest.raises(FabricError, match=message):
        run(fork_join(), {"x": STREAM}, FABRIC, depths=depths)


def test_two_channels(graph: Graph) -> None:
    """Two joins, each of which needs its own depth."""
    x = graph.source("x", Tile(BF16), [graph.symbol("N"), graph.symbol("M", ragged=True)])
    for name in "ab":
        x = x.accum(Add(), name=f"total_{name}").repeat(1, name=f"one_{name}").expand(x, name=f"spread_{name}")
    x.sink("y")
    with pytest.raises(Deadlock) as caught:
        run(graph, {"x": STREAM}, FABRIC, timing_of=timing_of)
    lines = str(caught.value).splitlines()
    assert lines[1] == "the smallest depths that clear it:"
    advice = lines[2 : lines.index("who waits for what:")]
    assert [line.split(" (")[0] for line in advice] == [
        "  x_broadcast.1: 5 instead of 2",
        "  spread_a_broadcast.1: 5 instead of 2",
    ]


def test_waits_alike_are_grouped(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16), [graph.symbol("N"), graph.symbol("M", ragged=True)])
    for number in range(5):
        total = x.accum(Add(), name=f"sum{number}").repeat(1, name=f"one{number}")
        total.expand(x, name=f"e{number}").sink(f"y{number}")
    with pytest.raises(Deadlock) as caught:
        run(graph, {"x": STREAM}, FABRIC, timing_of=timing_of)
    text = str(caught.value)
    assert "accum 'sum0', 'sum1', 'sum2' and 2 more" in text
    assert "wait for a token of 5 channels like x_broadcast.0 -> sum0 (depth 2, empty)" in text


def test_no_depth_clears_it(graph: Graph) -> None:
    """A feedback edge that nobody starts."""
    edge = graph.feedback(Tile(BF16), [graph.symbol("N")], name="edge")
    y = edge.stream.map(Cast(BF16), name="again")
    edge.close(y)
    y.sink("y")
    with pytest.raises(Deadlock, match="no depths clear it: a token that is waited for is never made"):
        run(graph, {}, FABRIC, timing_of=timing_of)


def test_runaway(graph: Graph) -> None:
    graph.source("x", Tile(BF16), [graph.symbol("N")]).sink("y")
    inputs = {"x": list(range(100))}
    cycles = run(graph, inputs, FABRIC).cycles
    assert cycles == 102
    assert run(graph, inputs, FABRIC, max_cycles=cycles).cycles == cycles
    with pytest.raises(Runaway, match="did not end within 101 cycles") as caught:
        run(graph, inputs, FABRIC, max_cycles=cycles - 1)
    result = caught.value.result
    assert isinstance(result, RunResult)
    assert (result.status, result.cycles) == (Status.RUNAWAY, 101)


def test_runaway_while_a_write_becomes_visible() -> None:
    """All units stand still, one way or the other, long before memory shows the last tile."""
    stands, ends = fork_join(), Graph("ends")
    for graph in (stands, ends):
        graph.source("t", Tile(BF16), [graph.symbol("T")]).store("s")
    with pytest.raises(Deadlock, match="from cycle 29 on"):
        run(stands, {"x": STREAM, "t": [1, 2]}, FABRIC, max_cycles=29, timing_of=timing_of)
    assert run(ends, {"t": [1, 2]}, FABRIC, max_cycles=29).cycles == 29
    for graph, data in ((stands, {"x": STREAM, "t": [1, 2]}), (ends, {"t": [1, 2]})):
        with pytest.raises(Runaway, match="did not end within 28 cycles") as caught:
            run(graph, data, FABRIC, max_cycles=28, timing_of=timing_of)
        assert caught.value.result is not None and caught.value.result.cycles == 28


def test_fault_has_the_interpreter_s_text(graph: Graph) -> None:
    dims = [graph.symbol("N"), graph.symbol("M", ragged=True)]
    x, y = (graph.source(name, Tile(BF16), dims) for name in "xy")
    x.zip(y).sink("z")

    def tokens(text: str) -> list[Token]:
        zero = np.zeros((1, 1), BF16.numpy)
        return [each._replace(value=zero) if each.has_value else each for each in parse(text)]

    data = BoundInputs({}, {"x": tokens("1 2 S1 3 S1 D"), "y": tokens("1 2 S1 3 4 S1 D")})
    with pytest.raises(StreamFault) as expected:
        interpret(graph, data)
    with pytest.raises(StreamFault) as caught:
        run(graph, data, FABRIC)
    assert str(caught.value) == str(expected.value)
    assert caught.value.result is not None
    # The zip puts two words for each of two pairs.
    assert (caught.value.result.status, caught.value.result.cycles) == (Status.FAULT, 5)
