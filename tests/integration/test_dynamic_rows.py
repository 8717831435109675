"""Tiles with a dynamic number of rows in RTL: values as interpreted, every token in the cycle of both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from approx.same import both

from cosim.comparing.compare import compare
from step import BF16, FP32, FabricConfig, Graph, Program, Stream, Tile, run
from step.errors import StepError
from step.functions import Add, Cast, Exp, Max, Mul, MulAdd, RetileRow, Scale, Silu
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs

COUNTS = (5, 1, 7, 2, 3, 0, 0, 16, 1, 4)
"""Rows of the tiles; the fabric has room for 16."""


class Rows:
    """A program of tiles with ``COUNTS`` rows of ``cols`` BF16 scalars."""

    def __init__(self, cols: int) -> None:
        self.graph, self.cols, self.inputs = Graph("rows"), cols, dict[str, Any]()
        self.random, self.extent = np.random.default_rng(cols), self.graph.symbol("R", ragged=True)

    def given(self, name: str = "x", cols: int = 0) -> Stream:
        """Tiles from outside."""
        cols = cols or self.cols
        self.inputs[name] = [self.random.standard_normal((each, cols)).astype(BF16.numpy) for each in COUNTS]
        return self.graph.source(name, Tile(BF16, self.extent, cols), [len(COUNTS)])

    def joined(self) -> Stream:
        """Tiles that are made of rows."""
        self.inputs["row"] = [
            [self.random.standard_normal((1, self.cols)).astype(BF16.numpy) for _ in range(each)] for each in COUNTS
        ]
        rows = self.graph.source("row", Tile(BF16, 1, self.cols), [len(COUNTS), self.graph.symbol("n", ragged=True)])
        return rows.accum(RetileRow(), name="tile")

    def fixed(self, name: str, tile: Tile) -> Stream:
        """A static tile beside each."""
        self.inputs[name] = self.random.standard_normal((len(COUNTS), *tile.shape)).astype(tile.dtype.numpy)
        return self.graph.source(name, tile, [len(COUNTS)])

    def routed(self, tiles: Stream) -> list[Stream]:
        """To the one, to the other, or to both."""
        which = [[number % 2] if number % 3 else [0, 1] for number in range(len(COUNTS))]
        self.inputs["which"] = which
        self.which = self.graph.selectors("which", 2, [len(COUNTS)])
        return list(tiles.partition(self.which, targets=2, name="route"))

    def checked(self, **fabric: Any) -> None:
        """On all floors."""
        program = Program(self.graph, self.inputs, FabricConfig(**fabric))
        netlist = lower(self.graph, program.fabric)
        for values in ("control", "all"):
            both(netlist, bind_inputs(netlist.graph, self.inputs), values=values)  # type: ignore[arg-type]
        found = compare(program, optimize=False)
        assert found.passed, found


@pytest.mark.parametrize(
    ("cols", "fabric"),
    [
        (64, {}),
        (64, {"vector_lanes": 32}),
        (64, {"vector_lanes": 4, "link_bytes": 16, "block_ram_words": 16}),
        (24, {"link_bytes": 64, "stages": 2}),
        (3, {"link_bytes": 128, "vector_lanes": 8}),
    ],
    ids=str,
)
def test_from_rows_to_functions(cols: int, fabric: dict[str, Any]) -> None:
    rows = Rows(cols)
    first, second = rows.routed(rows.joined() if 2 * cols % 16 == 0 and cols != 24 else rows.given())
    first = first.map(Silu())
    first.map(Mul(out=BF16), first, name="square").sink("functions")
    second.promote().flatten(0, 1).sink("shapes")
    rows.checked(**fabric)


@pytest.mark.parametrize("link_bytes", [16, 64])
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
    rows.checked(link_bytes=link_bytes, vector_lanes=8)


@pytest.mark.parametrize("order", ["index", "arrival"])
def test_routing(order: Any) -> None:
    rows = Rows(48)
    first, second = rows.routed(rows.given())
    back = rows.graph.reassemble([first.map(Silu()), second], rows.which, order=order).flatten(0, 1)
    back.reshape(1)[0].flatten(0, 1).repeat(3).sink("y")
    rows.checked(link_bytes=32)


def test_merging() -> None:
    rows = Rows(48)
    first, second = rows.given().partition(rows.graph.turns(2, dims=[len(COUNTS)]), targets=2)
    data, selector = rows.graph.eager_merge([first.map(Silu()), second])
    data.sink("y")
    selector.sink("which")
    rows.checked(link_bytes=32, channel_depth=5)


def test_too_many_rows_from_outside() -> None:
    graph = Graph("given")
    graph.source("x", Tile(BF16, graph.symbol("n", ragged=True), 64), [3]).sink("y")
    inputs = {"x": [np.ones((each, 64)) for each in (3, 5, 2)]}
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=4))) == {
        f"source 'x' ({graph.nodes['x'].location}): a tile has more than 4 rows, the most that this fabric has room "
        "for; choose a fabric with a larger dynamic_rows"
    }
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=5))) == {""}


def test_too_many_rows_that_are_joined() -> None:
    graph = Graph("joined")
    rows = graph.source("x", Tile(BF16, 1, 64), [3, graph.symbol("n", ragged=True)])
    rows.accum(RetileRow(), name="tile").sink("y")
    inputs = {"x": [[np.ones((1, 64))] * each for each in (3, 5, 2)]}
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=3))) == {
        f"accum 'tile' ({graph.nodes['tile'].location}): a tile has more than 3 rows, the most that this fabric has "
        "room for; choose a fabric with a larger dynamic_rows\n  token 6 of x is a value"
    }
    assert told(Program(graph, inputs, FabricConfig(dynamic_rows=5))) == {""}


def told(program: Program) -> set[str]:
    """What all back ends, and both engines, say of a run."""
    texts = set()
    for back_end, options in (
        ("interpret", {}),
        ("approx", {"engine": "python"}),
        ("approx", {"engine": "compiled"}),
        ("rtl", {}),
    ):
        try:
            run(program, back_end, **options)  # type: ignore[arg-type]
            texts.add("")
        except StepError as error:
            texts.add(str(error))
    return texts
