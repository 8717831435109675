"""Loops in all back ends: one that nobody starts, and data that is left over in one that ends."""

from __future__ import annotations

import pytest
from everywhere import TIMED, failed, faults, text
from scenarios import FABRIC, Bench

from step.errors import Deadlock
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.programs.program import Program
from step.running.interpreter import interpret

TILE = Tile(BF16, 1, 2)


def rounds(order: list[int], stays: list[int]) -> Program:
    """Elements enter a loop as ``order`` says (0: from outside), and leave it as ``stays`` says (0: they stay)."""
    graph = Graph("rounds")
    bench = Bench(graph)
    x = bench.play("x", "1 2 D", [2], TILE)
    edge = graph.feedback(TILE, [stays.count(0)], name="back")
    enter, leave = graph.turns(2, order, name="enter"), graph.turns(2, stays, name="leave")
    gathered = graph.reassemble([x, edge.stream], enter, name="gather")
    y = gathered.flatten(0, 1, name="all").assume_shape([len(order)])
    again, out = y.partition(leave, targets=2, name="split")
    edge.close(again.assume_shape([stays.count(0)]))
    out.sink("y")
    return Program(graph, bench.inputs, FABRIC)


@pytest.mark.parametrize("backend", TIMED)
def test_rounds(backend: str) -> None:
    program = rounds([0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1])
    options = {"values": "all"} if backend == "approx" else {}
    result = TIMED[backend](program.graph, program.inputs, program.fabric, **options)
    assert result.outputs is not None
    wanted = interpret(program.graph, program.inputs).outputs["y"]
    assert [str(each) for each in result.outputs["y"]] == [str(each) for each in wanted]


MEANT = """\
the program ended before every stream did; these operators wait for a token that never comes:
  {gather} waits for token 0 of split.0
  {all} waits for token 0 of gather
  {split} waits for token 0 of all
  {y} waits for token 0 of split.1"""

REPORT = """\
deadlock: from cycle 3 on nothing can move, and 7 of 7 operators are not finished
no depths clear it: a token that is waited for is never made
who waits for what:
  {x} waits for space in x -> gather (depth 2, full)
  {enter} waits for space in enter -> gather (depth 2, full)
  {leave} waits for space in leave -> split (depth 2, full)
  {gather} waits for a token of split.0 -> gather (depth 2, empty)
  {all} waits for a token of gather -> all (depth 2, empty)
  {split} waits for a token of all -> split (depth 2, empty)
  {y} waits for a token of split.1 -> y (depth 2, empty)
the cycle of waits:
  gather waits for a token of split.0 -> gather (depth 2, empty)
  split waits for a token of all -> split (depth 2, empty)
  all waits for a token of gather -> all (depth 2, empty)"""


def test_a_loop_that_nobody_starts() -> None:
    """The first element is taken from the loop, where there is none yet."""
    program = rounds([1, 0, 0, 1], [0, 0, 1, 1])
    places = {name: text(node.describe()) for name, node in program.graph.nodes.items()}
    failed(Deadlock, interpret, program.graph, program.inputs, wanted=MEANT.format(**places))
    for run in TIMED.values():
        failed(Deadlock, run, program.graph, program.inputs, FABRIC, wanted=REPORT.format(**places))


def test_data_that_is_left_over_in_a_loop() -> None:
    """Done comes out in time, but what is still in the loop is a fault."""
    program = rounds([0, 0, 1], [0, 0, 1])
    wanted = (
        "reassemble 'gather' (test_exact_loops.py:LINE): data is left over after the last selector\n"
        "  token 2 of x is Done\n"
        "  token 1 of split.0 is a value\n"
        "  token 3 of enter is Done"
    )
    faults(program.graph, program.inputs, FABRIC, wanted)
