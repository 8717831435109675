"""What only a run knows is neither true nor false while a program is made."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases

import step
from step import BOOL, FP32, Graph, Tile
from step.errors import TypeMismatch
from step.functions import Max, Min, Where

HERE = os.path.relpath(__file__)


class Given:
    """Streams, and what else a program is made of."""

    def __init__(self) -> None:
        self.graph = Graph("given")
        self.n = self.graph.symbol("N")
        self.x, self.y = (self.graph.source(name, Tile(FP32), [3, self.n]) for name in "xy")
        self.w = self.graph.tensor("w", (4, 4), FP32)
        self.back = self.graph.feedback(Tile(FP32), [3], name="back")


def refused(make: Callable[[Given], Any]) -> str:
    """The error without the line of ``make``, which it begins with."""
    with pytest.raises(TypeMismatch) as error:
        make(Given())
    line = f"{HERE}:{make.__code__.co_firstlineno}: "
    assert str(error.value).startswith(line)
    return str(error.value).removeprefix(line)


def _while(stream: Any) -> None:
    while stream:
        pass


@cases(
    (lambda g: bool(g.x), "x"),
    (lambda g: 1 if g.x > 1 else 2, "map_0"),
    (lambda g: 2 < g.x < 8, "map_0"),
    (lambda g: g.x and g.y, "x"),
    (lambda g: g.x or g.y, "x"),
    (lambda g: not g.x, "x"),
    (lambda g: max(g.x, g.y), "map_0"),
    (lambda g: min(g.x, g.y), "map_0"),
    (lambda g: max([g.x, 3]), "map_0"),
    (lambda g: max(g.w, g.x), "map_0"),
    (lambda g: sorted([g.x, g.y]), "map_0"),
    (lambda g: any([g.x, g.y]), "x"),
    (lambda g: all([g.x > 1]), "map_0"),
    (lambda g: [1 for _ in "a" if g.x], "x"),
    (lambda g: np.maximum(np.array([g.x], object), 1), "map_0"),
)
def test_a_stream_is_neither_true_nor_false(ask: Any, asked: str) -> None:
    assert refused(ask) == (
        f"{asked} is a stream, whose values only a run has, so it is neither true nor false: if, while, and, or, not, "
        "any, all, sorted, Python's max and min, and a < x < b can not ask for that. Write "
        "(x > y).map(Where(), x, y) to choose, x.map(Max(), y) and x.map(Min(), y) for the larger and the smaller "
        "one, p.map(Where(), q, p) for p and q of BOOL, and partition(...) for two ways"
    )


def test_a_stream_in_a_loop() -> None:
    with pytest.raises(TypeMismatch, match="x is a stream, whose values only a run has, so it is neither true"):
        _while(Given().x)


@cases(
    (lambda g: g.x == 1, "1"),
    (lambda g: g.x != g.y, "y"),
    (lambda g: g.y in [g.x], "y"),
    (lambda g: 3.5 in [g.x], "3.5"),
    (lambda g: [g.x].index(g.y), "y"),
    (lambda g: g.x == None, "None"),  # noqa: E711,
)
def test_streams_are_not_compared_by_python(ask: Any, other: str) -> None:
    assert refused(ask) == (
        f"x is a stream, whose values only a run has, so Python's ==, != and in can not compare it with {other}: "
        'write x.compare("==", y), or x is y to ask whether two are one stream'
    )


def test_a_stream_is_itself() -> None:
    given = Given()
    assert given.x == given.x and given.x in [given.x, given.y] and [given.x].index(given.x) == 0
    assert {given.x: 1, given.y: 2}[given.y] == 2
    assert len({given.x, given.y, given.x}) == 2


def test_what_the_message_says_to_write() -> None:
    given = Given()
    x, y = given.x, given.y
    for made in ((x > y).map(Where(), x, y), x.map(Max(), y), x.map(Min(), y)):
        assert made.element == Tile(FP32)
    p, q = x > 2, x < 8
    assert p.map(Where(), q, p).element == Tile(BOOL)
    graph = Graph("both")
    x = graph.source("x", Tile(FP32), [4])
    (x > 2).map(Where(), x < 8, x > 2).sink("y")
    (tokens,) = step.run(graph, "interpret", inputs={"x": [1, 3, 7, 9]}).outputs.values()
    assert [bool(each) for each in np.asarray(tokens).reshape(-1)] == [False, True, True, False]


def test_tensors_and_feedback() -> None:
    assert refused(lambda g: g.w and 1) == (
        "tensor 'w' is neither true nor false: its values are read with graph.load(...)"
    )
    assert refused(lambda g: not g.back) == (
        "feedback 'back' is neither true nor false: its values are those of its stream"
    )


ONLY_A_RUN = (
    " is known in a run only, so a program can not depend on it: what it makes has to be right for all extents of its "
    "symbols, or give integers to the function that makes it"
)


@cases(
    (lambda g: g.n > 3, "N > 3"),
    (lambda g: g.n < 3, "N < 3"),
    (lambda g: g.n >= 1, "N >= 1"),
    (lambda g: g.n + 1 <= 3, "N + 1 <= 3"),
    (lambda g: max(g.n, 3), "N < 3"),
    (lambda g: g.n == 3, "N == 3"),
    (lambda g: g.n != 3, "N == 3"),
    (lambda g: 3 in g.x.shape[1:], "N == 3"),
)
def test_a_symbol_is_known_in_a_run_only(ask: Any, what: str) -> None:
    assert refused(ask) == what + ONLY_A_RUN


def test_what_is_known_of_dimensions() -> None:
    given = Given()
    n, (first, _) = given.n, given.x.shape
    assert first == 3 and first != 4 and first > 2 and first <= 3 and max(first, 2) == 3
    assert n >= 0 and n > -1 and n + 4 > 3 and n < n + 1 and n == n and n + 1 != n
    assert hash(first) == hash(3) and first not in (True, 3.0, "3", None)
    assert sorted([n + 2, n, n + 1]) == [n, n + 1, n + 2]
    with pytest.raises(TypeError):
        _ = n > 1.5


@cases(
    (lambda g: g.graph.source("z", Tile(FP32), []), "source 'z' (HERE): "),
    (lambda g: g.graph.selectors("z", 2, ()), "source 'z' (HERE): "),
    (lambda g: g.graph.feedback(Tile(FP32), [], name="z"), "HERE: "),
)
def test_streams_have_a_dimension(make: Any, where: str) -> None:
    with pytest.raises(TypeMismatch) as error:
        make(Given())
    where = where.replace("HERE", f"{HERE}:{make.__code__.co_firstlineno}")
    assert str(error.value) == f"{where}a stream must have at least one dimension, [1] for a single element, not []"


def test_tuples_and_buffers_of_nothing() -> None:
    assert refused(lambda g: step.Tuple(())) == "a tuple must have at least one item, not ()"
    assert refused(lambda g: step.Buffer(Tile(FP32), ())) == "a buffer must have at least one dimension, not []"
