"""Stores of tiles with a dynamic number of rows in RTL: values as interpreted, every token in its cycle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from cases import cases
from dynamic import checked, told
from everywhere import text

from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.errors import FabricError, TypeMismatch
from step.lowering.feasible import check_feasible
from step.lowering.netlist import lower
from step_check.fuzz.farm import side_by_side

pytestmark = pytest.mark.large

SIZES: list[tuple[int, int, dict[str, Any]]] = [
    (8, 4, {"memory": MemoryConfig(beat_bytes=16)}),
    (24, 8, {"link_bytes": 16, "memory": MemoryConfig(beat_bytes=64)}),
    (3, 1, {"link_bytes": 8, "memory": MemoryConfig(beat_bytes=32)}),
]


def stored(graph: Graph, rows: list[int], cols: int = 8, high: int = 4) -> dict[str, Any]:
    """Tiles of so many ``rows`` go into a tensor that is cut into tiles of ``high`` of them."""
    x = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), cols), [len(rows)])
    cache, at = graph.tensor("cache", (6 * high, cols), BF16), graph.source("at", Tile(UINT32), [len(rows)])
    x.store_random(cache, at, tile=(high, cols), name="keep").sink("done")
    return {
        "x": [np.full((each, cols), number + 1) for number, each in enumerate(rows)],
        "at": [(5 * number + 2) % 6 for number in range(len(rows))],
        "cache": np.full((6 * high, cols), -1),
    }


def in_line(graph: Graph, rows: list[int], cols: int = 8, high: int = 4) -> dict[str, Any]:
    """Tiles of so many ``rows``, some of them in lists without any, are stored as tiles of ``high`` of them."""
    x = graph.source("x", Tile(BF16, graph.symbol("R", ragged=True), cols), [3, graph.symbol("n", ragged=True)])
    x.store("y", tile=(high, cols))
    tiles = [np.full((each, cols), number + 1) for number, each in enumerate(rows)]
    return {"x": [tiles[:2], [], tiles[2:]]}


def alone(made: Callable[..., dict[str, Any]], rows: list[int], high: int = 4) -> Program:
    """A program of one of them."""
    graph = Graph("alone")
    return Program(graph, made(graph, rows, high=high), FabricConfig(dynamic_rows=8))


@cases(SIZES[1], *(pytest.param(*each, marks=pytest.mark.slow) for each in SIZES[::2]), ids=str)
def test_tiles_that_fill(cols: int, high: int, fabric: dict[str, Any]) -> None:
    """Their rows are those of the tensor's tiles; the links have room for more. At addresses and in line."""
    both = [partial(made, rows=[high] * 5, cols=cols, high=high) for made in (stored, in_line)]
    checked(Program(*side_by_side("stores", both), FabricConfig(dynamic_rows=8, **fabric)))


KEEP, LINE = "random_off_chip_store 'keep'", "linear_off_chip_store 'y'"
PLACE = "(test_dynamic_stores.py:LINE)"


@pytest.mark.parametrize("rows", [3, 5, 0])
@cases(
    (stored, KEEP, "tensor 'cache' is stored in tiles of 4 rows\n  token 2 of x is a value"),
    (in_line, LINE, "tiles of 4 rows are\n  token 3 of x is a value"),
    ids=["at addresses", "in line"],
)
def test_rows_that_do_not_fill(made: Callable[..., dict[str, Any]], store: str, rest: str, rows: int) -> None:
    (found,) = told(alone(made, [4, 4, rows, 4]))
    assert text(found) == f"{store} {PLACE}: the rows of a tile do not fill the one that is stored: {rest}"


@cases((stored, KEEP), (in_line, LINE), ids=["at addresses", "in line"])
def test_tiles_with_more_rows_than_there_is_room_for(made: Callable[..., dict[str, Any]], store: str) -> None:
    program = alone(made, [16, 16], high=16)
    with pytest.raises(FabricError) as error:
        check_feasible(lower(program.graph, program.fabric))
    assert text(error.value) == (
        f"{store} {PLACE}: it stores tiles of 16 rows, but this fabric has room for 8 in a tile of dynamic size; "
        "choose a fabric with dynamic_rows=16"
    )


def test_the_tile_is_named(graph: Graph) -> None:
    x, at = graph.source("x", Tile(BF16, graph.symbol("R"), 8), [3]), graph.source("at", Tile(UINT32), [3])
    cache = graph.tensor("cache", (24, 8), BF16)
    with pytest.raises(TypeMismatch) as error:
        x.store_random(cache, at)
    assert str(error.value).partition(": ")[2] == (
        "store_random needs tile=(rows, columns), in which tensor 'cache' is cut, as Tile(BF16, R, 8) does not say so"
    )
    with pytest.raises(TypeMismatch) as error:
        x.store_random(cache, at, tile=(4, 4), name="keep")
    first, *_ = str(error.value).splitlines()
    assert first.endswith("tensor 'cache' is stored in Tile(BF16, 4, 4), not in Tile(BF16, R, 8)")


def test_tiles_in_line_of_no_rows() -> None:
    with pytest.raises(TypeMismatch) as error:
        alone(in_line, [0, 0], high=0)
    assert str(error.value).partition(": ")[2] == "a tile must be (rows, columns), two integers >= 1, not (0, 8)"


def test_other_columns_in_line(graph: Graph) -> None:
    x = graph.source("x", Tile(BF16, graph.symbol("R"), 8), [3])
    static = graph.source("static", Tile(BF16, 2, 8), [3])
    for stream, tile, of in ((x, (4, 4), "R, 8"), (static, (4, 8), "2, 8")):
        with pytest.raises(TypeMismatch) as error:
            stream.store("y", tile=tile)
        first, *_ = str(error.value).splitlines()
        assert first.endswith(f"tiles are stored as {Tile(BF16, *tile)}, which Tile(BF16, {of}) is not")
    static.store("z", tile=(2, 8))
