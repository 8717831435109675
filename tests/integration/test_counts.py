"""Counts that must come out even, the rows of a retile, and waits that no counter limits, for an order of arrival."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from everywhere import faults, same
from scenarios import FABRIC, Bench

from cosim import backend as rtl
from sim_approx import backend as approx
from step.errors import StreamFault
from step.functions import RetileRow
from step.language.checker import StreamChecker
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.tokens import DONE, Token
from step.language.types import Tile
from step.programs.program import Program
from step.running.interpreter import interpret

pytestmark = pytest.mark.large

TILE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


class Unchecked(StreamChecker):
    """Takes every token."""

    def see(self, token: Token) -> None:
        pass


def retile() -> Graph:
    """Joins pairs of tiles; that they are pairs is only assumed, so that the data can be other than that."""
    graph = Graph("counted")
    x = graph.source("x", Tile(BF16, 2, 3), [graph.symbol("N"), graph.symbol("R", ragged=True)])
    x.assume_shape([x.shape[0], 2]).accum(RetileRow(), name="rows").sink("y")
    return graph


@cases(
    ([2, 1], "token 2 of x is a value with S1"),
    ([2, 3, 2], "token 4 of x is a value with S1"),
    # One and a multiple too many: the count must not wrap around.
    ([4], "token 3 of x is a value with S1"),
    ([2, 10], "token 11 of x is a value with S1"),
    ([0, 2], "token 0 of x is an empty of rank 1"),
    ids=str,
)
def test_a_wrong_count_is_the_same_fault_everywhere(counts: list[int], token: str, monkeypatch: Any) -> None:
    inputs = {"x": [[TILE] * count for count in counts]}
    with pytest.raises(StreamFault, match=r"^source 'x' .*: stream x of shape \[N, 2\]: token \d+ "):
        interpret(retile(), inputs)
    monkeypatch.setattr("step.running.contracts.StreamChecker", Unchecked)  # the broken promise would be told first
    wanted = (
        "accum 'rows' (test_counts.py:LINE): a reduction did not get the number of elements that its static shape "
        f"promises\n  {token}"
    )
    exact, model = faults(retile(), inputs, FABRIC, wanted)
    assert exact.cycles == model.cycles


def gathering(waiting: int) -> Program:
    """Two streams that wait until ``waiting`` empty selectors have passed: then one selector names both."""
    graph = Graph("waiting")
    bench = Bench(graph)
    far = bench.play("far", "1 D", ["F"])
    far = far.promote().flatten(0, 1).promote().flatten(0, 1)  # its token is there a few cycles later
    near = bench.play("near", "2 D", ["M"])
    selectors = [Token(0, 0)] * waiting + [Token(3, 0), DONE]
    which = bench.choose("which", selectors, 2, ["W"])
    graph.reassemble([far, near], which, name="gather").sink("out")
    return Program(graph, bench.inputs, FABRIC)


def test_who_came_first_is_never_forgotten() -> None:
    """However long the two wait, the one that came first goes first: no counter runs full."""
    program = gathering(waiting=70_000)
    exact = rtl.run(program.graph, program.inputs, program.fabric, events=True, optimize=False)
    model = approx.run(program.graph, program.inputs, program.fabric, events=True)
    assert exact.arrivals == model.arrivals == {"gather": [1, 0]}
    assert exact.cycles == model.cycles > 70_000
    same(exact, model)
    assert exact.outputs is not None
    assert [int(token.value[0, 0]) for token in exact.outputs["out"] if token.has_value] == [2, 1]
