"""Dimensions that a program derives from others: which there are, and what data says about their symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cases import cases
from raising import raised

import step
from step import FP32, Dim, Graph, Program, Tile, load_program
from step.errors import StreamFault, TypeMismatch, UnboundSymbol
from step.language.dims import DimKind, dim, symbol

N, M = symbol("N"), symbol("M")
R = symbol("R", DimKind.RAGGED)


@cases(
    (N + 1, "N + 1"), (1 + N, "N + 1"), (2 * N, "2*N"), (N * 2 + M, "M + 2*N"), (N * M, "M*N"), ((N + 3) - 1, "N + 2")
)
def test_expressions_are_dimensions(derived: Dim, text: str) -> None:
    assert (str(derived), derived.kind) == (text, DimKind.DYNAMIC)


def test_integers_stay_static() -> None:
    assert dim(4) + 1 == dim(5) and dim(4) - 4 == dim(0) and dim(0) == N - N and dim(0) == 0 * N


RAGGED = (
    "{} is no dimension: R is ragged, so this would differ from tensor to tensor; "
    "declare a symbol for it: graph.symbol(name, ragged=True)"
)
NEGATIVE = "{} is no dimension: it may be negative; declare a symbol for the smaller one"


@cases(
    (lambda: R + 1, RAGGED.format("R + 1")),
    (lambda: 2 * R, RAGGED.format("2 * R")),
    (lambda: N * R, RAGGED.format("N * R")),
    (lambda: N - 1, NEGATIVE.format("N - 1")),
    (lambda: 3 - N, NEGATIVE.format("3 - N")),
    (lambda: N * -1, NEGATIVE.format("N * -1")),
)
def test_what_is_no_dimension(derive: Callable[[], Dim], message: str) -> None:
    error = raised(TypeMismatch, derive)
    assert error.partition(": ")[2] == message


def test_only_integers_and_dimensions_are_summed() -> None:
    for other in (1.5, "x", None):
        with pytest.raises(TypeMismatch, match="neither one nor an integer"):
            N + other  # type: ignore[operator]


def program(*dims: Callable[[Dim, Dim], Dim]) -> Graph:
    """A graph with a source of each of ``dims``."""
    graph = Graph("derived")
    n, m = graph.symbol("N"), graph.symbol("M")
    for position, each in enumerate(dims):
        graph.source(f"x{position}", Tile(FP32), [each(n, m)]).sink(f"y{position}")
    return graph


def data(*extents: int) -> dict[str, Any]:
    return {f"x{position}": [0] * extent for position, extent in enumerate(extents)}


def test_symbols_follow_from_what_is_derived_from_them() -> None:
    graph = program(lambda n, m: 2 * n + 1, lambda n, m: n + m)
    assert step.bind(graph, data(7, 5)) == {"N": 3, "M": 2}
    assert step.bind(program(lambda n, m: 3 * n), data(0)) == {"N": 0, "M": 0}


@pytest.mark.parametrize("backend", ["interpret", "approx"])
@cases(
    ((8, 5), "stream x0: the dimension 2*N + 1 should be 7, but is [8]"),
    ((7, 2), "stream x1: the dimension N + 4 should be 7, but is [2]"),
)  # fmt: skip
def test_data_that_breaks_a_derived_dimension(extents: tuple[int, int], message: str, backend: str) -> None:
    error = raised(
        StreamFault,
        lambda: step.run(program(lambda n, m: 2 * n + 1, lambda n, m: n + 4), backend, inputs=data(*extents)),
    )
    assert error == message


def test_data_that_shows_too_little() -> None:
    graph = program(lambda n, m: n + m)
    assert step.run(graph, "interpret", inputs=data(7)).outputs["y0"].numpy().shape == (7, 1, 1)
    error = raised(UnboundSymbol, lambda: step.bind(graph, data(7)))
    assert error == "the data shows that M + N is 7, but not what each of M, N is"


def test_derived_dimensions_are_saved(tmp_path: Any) -> None:
    made = Program(program(lambda n, m: n * 2 + m, lambda n, m: n), data(7, 2))
    made.save(tmp_path / "p.json")
    assert load_program(str(tmp_path / "p.json")) == made
