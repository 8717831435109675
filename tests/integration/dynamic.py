"""Programs of tiles with a dynamic number of rows, for tests on all floors."""

from __future__ import annotations

from typing import Any

import numpy as np
from approx.same import both

from cosim.comparing.compare import compare
from step import BF16, DType, FabricConfig, Graph, Program, Stream, Tile, run
from step.errors import StepError
from step.functions import RetileRow
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs

COUNTS = (5, 1, 7, 2, 3, 0, 0, 16, 1, 4)
"""Rows of the tiles; the fabric has room for 16."""


class Rows:
    """A program of tiles with ``COUNTS`` rows of ``cols`` scalars."""

    def __init__(self, cols: int, dtype: DType = BF16) -> None:
        self.graph, self.cols, self.dtype, self.inputs = Graph("rows"), cols, dtype, dict[str, Any]()
        self.random, self.extent = np.random.default_rng(cols), self.graph.symbol("R", ragged=True)

    def given(self, name: str = "x", cols: int = 0) -> Stream:
        """Tiles from outside."""
        cols = cols or self.cols
        self.inputs[name] = [self._scalars(each, cols) for each in COUNTS]
        return self.graph.source(name, Tile(self.dtype, self.extent, cols), [len(COUNTS)])

    def joined(self) -> Stream:
        """Tiles that are made of rows."""
        self.inputs["row"] = [[self._scalars(1, self.cols) for _ in range(each)] for each in COUNTS]
        rows = self.graph.source(
            "row", Tile(self.dtype, 1, self.cols), [len(COUNTS), self.graph.symbol("n", ragged=True)]
        )
        return rows.accum(RetileRow(), name="tile")

    def _scalars(self, rows: int, cols: int) -> np.ndarray:
        scalars = self.random.standard_normal((rows, cols))
        return (scalars if self.dtype.is_float else 10 * abs(scalars)).astype(self.dtype.numpy)

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
        checked(Program(self.graph, self.inputs, FabricConfig(**fabric)))


def checked(program: Program) -> None:
    """``program`` on all floors: both engines, with and without values, the interpreter and RTL."""
    netlist = lower(program.graph, program.fabric)
    for values in ("control", "all"):
        both(netlist, bind_inputs(netlist.graph, program.inputs), values=values)  # type: ignore[arg-type]
    found = compare(program, optimize=False)
    assert found.passed, found


MODELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("interpret", {}),
    ("approx", {"engine": "python"}),
    ("approx", {"engine": "compiled"}),
)
EVERYTHING = (*MODELS, ("rtl", {"optimize": False}))


def told(program: Program, back_ends: tuple[tuple[str, dict[str, Any]], ...] = EVERYTHING) -> set[str]:
    """What all back ends, and both engines, say of a run."""
    texts = set()
    for back_end, options in back_ends:
        try:
            run(program, back_end, **options)
            texts.add("")
        except StepError as error:
            texts.add(str(error))
    return texts
