"""Tiles with a dynamic number of rows in RTL: values as interpreted, every token in the cycle of both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from dynamic import COUNTS, MODELS, Rows, checked, told

from step import BF16, FP32, UINT32, FabricConfig, Graph, Program, Tile
from step.functions import Add, Cast, Exp, Max, Mul, MulAdd, RetileRow, RetileStreamify, Scale, Silu
from step.language.dims import Dim

pytestmark = pytest.mark.large


@cases(
    pytest.param(64, {}, marks=pytest.mark.slow),
    pytest.param(64, {"vector_lanes": 32}, marks=pytest.mark.slow),
    (64, {"vector_lanes": 4, "link_bytes": 16, "block_ram_words": 16}),
    pytest.param(24, {"link_bytes": 64, "stages": 2}, marks=pytest.mark.slow),
    pytest.param(3, {"link_bytes": 128, "vector_lanes": 8}, marks=pytest.mark.slow),
    ids=str,
)
def test_from_rows_to_functions(cols: int, fabric: dict[str, Any]) -> None:
    rows = Rows(cols)
    first, second = rows.routed(rows.joined() if 2 * cols % 16 == 0 and cols != 24 else rows.given())
    first = first.map(Silu())
    first.map(Mul(out=BF16), first, name="square").sink("functions")
    second.promote().flatten(0, 1).sink("shapes")
    rows.checked(**fabric)


@cases(
    (24, 8),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in [(1, 64), (24, 64), (3, 8), (12, 16), (7, 4)]),
    ids=str,
)
def test_rows_that_begin_anywhere(cols: int, link_bytes: int) -> None:
    """Joined from rows, joined again from tiles, and parted."""
    rows = Rows(cols)
    tiles = rows.joined()
    tiles.flat_map(RetileStreamify(1, "row")).sink("rows")
    tiles.map(Add(), tiles).flat_map(RetileStreamify(1, "row", 1)).sink("nested")
    twice = tiles.repeat(2).accum(RetileRow(), name="twice")
    twice.flat_map(RetileStreamify(1, "row")).sink("again")
    rows.checked(link_bytes=link_bytes, vector_lanes=8, dynamic_rows=32)


@pytest.mark.parametrize("channel_depth", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_links_of_their_own(channel_depth: int) -> None:
    """Words of a tile are gathered, and dealt out, by the rows that there are; some channels are in block RAM."""
    rows = Rows(12)
    x = rows.given()
    wide = x.promote(name="wide")
    wide.map(Silu(), name="narrow").flat_map(RetileStreamify(1, "row"), name="cut").sink("y")
    wide.bufferize(rank=1, name="kept").streamify().sink("z")
    links = {"x": 4, "wide": 64, "narrow": 16, "cut": 32, "kept": 8}
    rows.checked(link_bytes=16, links=links, vector_lanes=4, dynamic_rows=16, channel_depth=channel_depth)


def test_reductions_of_no_tiles(graph: Graph) -> None:
    """They have no rows, beside others that have some, and where all tiles have as many."""
    tile, counts = Tile(BF16, graph.symbol("H"), 24), (2, 0, 1, 0, 0, 3)
    x = graph.source("x", tile, [len(counts), graph.symbol("n", ragged=True)])
    sums = x.accum(Add(), name="sum")
    sums.map(Silu()).sink("y")
    x.accum(Max()).map(Mul(), sums).flat_map(RetileStreamify(1, "row", 1)).accum(RetileRow()).sink("rows")
    random = np.random.default_rng(1)
    data = [[random.standard_normal((3, 24)) for _ in range(each)] for each in counts]
    checked(Program(graph, {"x": data}, FabricConfig(dynamic_rows=4, link_bytes=32, vector_lanes=8)))


@cases(
    (5, [1, 0], 6),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in [(4, [1, 0], 6), (3, [0, 0], 1)]),
    ids=str,
)
def test_joined_tiles_that_do_not_fill_the_rows_of_the_fabric(
    cols: int, counts: list[int], most: int, graph: Graph
) -> None:
    """Of four rows each; a word is more than all, so that the result has the width of the most rows."""
    tiles = graph.source("x", Tile(FP32, 4, cols), [2, graph.symbol("n", ragged=True)])
    tiles.accum(RetileRow()).sink("y")
    data = [[np.full((4, cols), at + 1.0)] * each for at, each in enumerate(counts)]
    checked(Program(graph, {"x": data}, FabricConfig(dynamic_rows=most, link_bytes=128)))


@pytest.mark.parametrize("link_bytes", [1, *(pytest.param(each, marks=pytest.mark.slow) for each in (4, 16))])
def test_rows_that_are_control(link_bytes: int) -> None:
    """They leave in headers, and come together again."""
    rows = Rows(1, UINT32)
    tiles = rows.given()
    tiles.flat_map(RetileStreamify(1, "row")).sink("rows")
    tiles.flat_map(RetileStreamify(1, "row", 1)).accum(RetileRow()).sink("tiles")
    rows.checked(link_bytes=link_bytes)


@pytest.mark.parametrize("link_bytes", [16, pytest.param(64, marks=pytest.mark.slow)])
def test_functions(link_bytes: int) -> None:
    """With operands of one row, of one column and of one scalar, and with results of another width."""
    rows = Rows(24)
    x = rows.given()
    made = [
        rows.fixed("scalar", Tile(FP32)).map(MulAdd(), x, rows.given("z")),
        x.map(Add(), rows.fixed("row", Tile(BF16, 1, 24))),
        x.map(Max(), rows.given("column", 1)),
        x.map(Exp()).map(Scale(0.5)),
        x.map(Cast(FP32)).map(Cast(BF16)),
    ]
    for number, each in enumerate(made):
        each.sink(f"y{number}")
    rows.checked(link_bytes=link_bytes, vector_lanes=2)


def test_routing_and_merging() -> None:
    """In one build."""
    rows = Rows(48)
    given = rows.given()
    first, second = rows.routed(given)
    for order in ("index", "arrival"):
        back = rows.graph.reassemble([first.map(Silu()), second], rows.which, order=order).flatten(0, 1)
        back.reshape(1)[0].flatten(0, 1).repeat(3).sink(order)
    odd, even = given.partition(rows.graph.turns(2, dims=[len(COUNTS)]), targets=2)
    data, selector = rows.graph.eager_merge([odd.map(Silu()), even])
    data.sink("y")
    selector.sink("merged")
    rows.checked(link_bytes=32, channel_depth=5, vector_lanes=2)


def test_too_many_rows_from_outside(graph: Graph) -> None:
    graph.source("x", Tile(BF16, graph.symbol("n", ragged=True), 64), [3]).sink("y")
    inputs = {"x": [np.ones((each, 64)) for each in (3, 5, 2)]}
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=4))) == {
        f"source 'x' ({graph.nodes['x'].location}): a tile has more than 4 rows, the most that this fabric has room "
        "for; choose a fabric with a larger dynamic_rows"
    }
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=5)), MODELS) == {""}


def test_too_many_rows_that_are_joined(graph: Graph) -> None:
    rows = graph.source("x", Tile(BF16, 1, 64), [3, graph.symbol("n", ragged=True)])
    rows.accum(RetileRow(), name="tile").sink("y")
    inputs = {"x": [[np.ones((1, 64))] * each for each in (3, 5, 2)]}
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=3))) == {
        f"accum 'tile' ({graph.nodes['tile'].location}): a tile has more than 3 rows, the most that this fabric has "
        "room for; choose a fabric with a larger dynamic_rows\n  token 6 of x is a value"
    }
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=5)), MODELS) == {""}


def test_too_many_rows_that_are_repeated(graph: Graph) -> None:
    """In hardware it is the unit of the test before."""
    tiles = graph.source("x", Tile(BF16, graph.symbol("n", ragged=True), 64), [3])
    tiles.repeat(3).accum(RetileRow(), name="joined").sink("y")
    inputs = {"x": [np.ones((each, 64)) for each in (1, 2, 1)]}
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=4)), MODELS) == {
        f"accum 'joined' ({graph.nodes['joined'].location}): a tile has more than 4 rows, the most that this fabric "
        "has room for; choose a fabric with a larger dynamic_rows\n  token 5 of expand_0 is a value with S1"
    }


def growing(most: int) -> Program:
    """A tile goes three times round a loop, and has twice as many rows every time: 1, 2, 4, and 8 at last."""
    graph = Graph("growing")
    start, rows = graph.symbol("start", ragged=True), graph.symbol("rows", ragged=True)
    # The symbol has the rows of all three together.
    back = graph.feedback(Tile(BF16, Dim(rows.extent / 3, rows.kind), 8), [3], name="back")
    enter, leave = graph.turns(2, [0, 1, 1, 1], name="enter"), graph.turns(2, [0, 0, 0, 1], name="leave")
    gathered = graph.reassemble([graph.source("x", Tile(BF16, start, 8), [1]), back.stream], enter, name="gather")
    again, out = gathered.flatten(0, 1).assume_shape([4]).partition(leave, targets=2, name="split")
    twice = again.assume_shape([3]).repeat(2, name="twice").accum(RetileRow(), name="grown")
    separate = twice.flat_map(RetileStreamify(1, "row", 1), name="separate").assume_shape([3, rows])
    back.close(separate.accum(RetileRow(), name="joined"))
    out.sink("y")
    return Program(graph, {"x": [np.ones((1, 8))]}, FabricConfig(dynamic_rows=most))


def test_rows_that_grow_in_a_loop() -> None:
    checked(growing(8))
    program = growing(4)
    assert told(program, MODELS) == {
        f"accum 'grown' ({program.graph.nodes['grown'].location}): a tile has more than 4 rows, the most that this "
        "fabric has room for; choose a fabric with a larger dynamic_rows\n  token 5 of twice is a value with S1"
    }


def test_operands_of_different_rows() -> None:
    """In a function, and one behind the other in a sum."""
    graph = Graph("unlike")
    tile = Tile(BF16, graph.symbol("n", ragged=True), 64)
    x, z = (graph.source(name, tile, [3]) for name in "xz")
    x.map(Add(), z, name="sum").sink("y")
    inputs = {"x": [np.ones((each, 64)) for each in (3, 2, 0)], "z": [np.ones((each, 64)) for each in (3, 1, 0)]}
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=4, vector_lanes=4))) == {
        f"map 'sum' ({graph.nodes['sum'].location}): it takes tiles together that have different numbers of rows\n"
        "  token 1 of x is a value\n  token 1 of z is a value"
    }
    graph = Graph("reduced")
    x = graph.source("x", Tile(BF16, graph.symbol("n", ragged=True), 64), [2, 2])
    x.accum(Add(), name="sum").sink("y")
    for last in ((1, 2), (2, 1)):
        inputs = {"x": [[np.ones((each, 64)) for each in pair] for pair in ((3, 3), last)]}
        assert told(Program(graph, inputs, FabricConfig(dynamic_rows=4, vector_lanes=4))) == {
            f"accum 'sum' ({graph.nodes['sum'].location}): it takes tiles together that have different numbers of "
            "rows\n  token 3 of x is a value with S1"
        }
