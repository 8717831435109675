"""Linear loads and stores: the affine walk, references with empties, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised
from running import Bench, refusal

from step.errors import TypeMismatch
from step.language.dims import format_shape
from step.language.dtypes import BF16, FP32, INT32
from step.language.graph import Graph
from step.language.types import Selector, Tile
from step.running.interpreter import interpret


def loaded(shape: tuple[int, ...], tile: tuple[int, int], **walk: Any) -> tuple[str, list[int]]:
    """Shape of a load, and the first scalar of every tile; the tensor counts 0, 1, 2, .. row-major."""
    graph = Graph("load")
    y = graph.load(graph.tensor("a", shape, INT32), tile=tile, **walk)
    run = interpret(graph, {"a": np.arange(np.prod(shape)).reshape(shape)}, record=True)
    return format_shape(y.shape), [int(token.value[0, 0]) for token in run.streams[str(y)] if token.has_value]


@cases(
    ((4, 4), (2, 2), {}, "[1, 2, 2]", [0, 2, 8, 10]),
    ((4, 4), (1, 4), {}, "[1, 4, 1]", [0, 4, 8, 12]),
    ((4, 4), (4, 4), {}, "[1, 1, 1]", [0]),
    ((2, 2, 2), (1, 2), {}, "[1, 2, 2, 1]", [0, 2, 4, 6]),
    # tiles of [4, 4] in [2, 2]: numbers 0 1 / 2 3
    ((4, 4), (2, 2), {"out": (4,), "stride": (1,)}, "[1, 4]", [0, 2, 8, 10]),
    ((4, 4), (2, 2), {"out": (2, 2), "stride": (1, 2)}, "[1, 2, 2]", [0, 8, 2, 10]),
    ((4, 4), (2, 2), {"out": (3, 2), "stride": (0, 1)}, "[1, 3, 2]", [0, 2, 0, 2, 0, 2]),
    ((4, 4), (2, 2), {"out": (2,), "stride": (1,), "offset": 2}, "[1, 2]", [8, 10]),
    ((4, 4), (2, 2), {"out": (4,), "stride": (-1,), "offset": 3}, "[1, 4]", [10, 8, 2, 0]),
)
def test_affine_reads(shape: tuple[int, ...], tile: tuple[int, int], walk: Any, out: str, first: list[int]) -> None:
    assert loaded(shape, tile, **walk) == (out, first)


def test_stops_of_a_read(graph: Graph) -> None:
    y = graph.load(graph.tensor("a", (2, 3), INT32), tile=(1, 1))
    run = interpret(graph, {"a": np.arange(6).reshape(2, 3)}, record=True)
    assert [token.stop for token in run.streams[str(y)]] == [0, 0, 1, 0, 0, 2, 0]


@cases(
    (0, "D", "D"),
    (0, "9 D", "5 6 S1 D"),
    (0, "9 9 D", "5 6 S1 5 6 S1 D"),
    # the stop behind the reference's element raises the last one
    (1, "9 S1 9 9 S1 D", "5 6 S2 5 6 S1 5 6 S2 D"),
    (1, "E1 9 S1 E1 D", "E2 5 6 S2 E2 D"),
    (2, "9 S1 E1 E1 S2 E2 D", "5 6 S2 E2 E2 S3 E3 D"),
)
def test_one_read_per_reference(rank: int, reference: str, text: str, bench: Bench) -> None:
    a = bench.graph.tensor("a", (1, 2), INT32)
    ref = bench.choose("ref", reference, 4, ["N", "M", "L"][: rank + 1])
    y = bench.graph.load(a, tile=(1, 1), out=(2,), stride=(1,), reference=ref)
    bench.inputs["a"] = np.array([[5, 6]])
    assert y.shape == (*ref.shape, y.shape[-1]) and str(y.element) == "Tile(INT32, 1, 1)"
    assert bench.text(y) == text


def load(shape: tuple[int, ...] = (4, 8), **arguments: Any) -> Any:
    return lambda b: b.graph.load(b.graph.tensor("a", shape, BF16), **{"tile": (2, 2), **arguments})


@cases(
    (load(tile=(3, 2)), "tiles of [3, 2] do not divide tensor 'a' of shape [4, 8]"),
    (load(tile=(2, 3)), "tiles of [2, 3] do not divide tensor 'a' of shape [4, 8]"),
    (load(out=(), stride=()), "out must be extents >= 1, not []"),
    (load(out=(0,), stride=(1,)), "out must be extents >= 1, not [0]"),
    (load(out=(2, 2), stride=(1,)), "stride must have one entry per dimension of out [2, 2], not [1]"),
    (load(out=(9,), stride=(1,)), "the read goes from tile 0 to tile 8, but tensor 'a' has tiles 0 to 7"),
    (load(out=(2, 4), stride=(5, 1)), "the read goes from tile 0 to tile 8, but tensor 'a' has tiles 0 to 7"),
    (load(out=(2,), stride=(-1,)), "the read goes from tile -1 to tile 0, but tensor 'a' has tiles 0 to 7"),
    (load(offset=1), "the read goes from tile 1 to tile 8, but tensor 'a' has tiles 0 to 7"),
)
def test_load_is_refused(build: Any, message: str) -> None:
    assert refusal("linear_off_chip_load", build) == message


def test_a_tile_without_rows() -> None:
    error = raised(TypeMismatch, lambda: load(tile=(0, 2), out=(1,), stride=(1,))(Bench()))
    assert error.endswith(": a tile must be (rows, columns), two integers >= 1, not (0, 2)")


@cases((0, "D", []), (0, "1 2 D", [1, 2]), (1, "E1 1 2 S1 E1 3 S1 D", [1, 2, 3]))
def test_a_store_takes_the_tiles_in_order(rank: int, text: str, stored: list[int], bench: Bench) -> None:
    bench.source("x", text, ["N", "R"][: rank + 1]).store("y")
    outputs = interpret(bench.graph, bench.inputs).outputs["y"]
    assert [int(token.value[0, 0]) for token in outputs if token.has_value] == stored


def test_a_store_needs_tiles(bench: Bench) -> None:
    x = bench.source("x", "D", [2], Selector(3))
    with pytest.raises(TypeMismatch, match=r"a store needs tiles, not Selector"):
        x.store("y")


def test_what_is_stored_is_what_was_loaded(graph: Graph) -> None:
    graph.load(graph.tensor("a", (4, 6), FP32), tile=(2, 3)).store("b")
    data = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    tiles = [token.value for token in interpret(graph, {"a": data}).outputs["b"]]
    assert np.array_equal(np.block([tiles[:2], tiles[2:]]), data)


def test_tiles_of_a_tensor_in_three_dimensions_keep_their_scalars(graph: Graph) -> None:
    y = graph.load(graph.tensor("a", (2, 2, 4), INT32), tile=(2, 2))
    run = interpret(graph, {"a": np.arange(16).reshape(2, 2, 4)}, record=True)
    values = [token.value.tolist() for token in run.streams[str(y)] if token.has_value]
    assert values == [[[0, 1], [4, 5]], [[2, 3], [6, 7]], [[8, 9], [12, 13]], [[10, 11], [14, 15]]]


def test_type_of_a_load(graph: Graph) -> None:
    assert graph.load(graph.tensor("a", (4, 8), BF16), tile=(2, 4)).element == Tile(BF16, 2, 4)
