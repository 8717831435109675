"""Every function, with operands that its RTL has, for values that are the bench's tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from cosim.calibration.bench import COLUMNS, EACH, Bench, Build
from cosim.calibration.operators import OPERATORS
from step import functions as f
from step.language.dtypes import BF16, BOOL, FP32, UINT32
from step.language.function import Function
from step.language.stream import Stream
from step.language.types import ElementType, Tile

Values = Sequence[tuple[ElementType, int]]
"""Types of operands, and the number that all their scalars are."""

NUMBER = Tile(UINT32)


def maps(tile: Tile) -> dict[Function, Values]:
    """Functions of elements, and their operands; rows of a ``tile`` are words."""
    one, two, three = [(tile, 1)], [(tile, 1)] * 2, [(tile, 1)] * 3
    row, flags = Tile(BF16, 1, COLUMNS), Tile(BOOL, tile.rows, tile.cols)
    return {
        **dict.fromkeys((f.Add(), f.Sub(), f.Mul(), f.Max(), f.Min(), f.Div(), f.Compare("<")), two),
        f.MulAdd(): three,
        f.Where(): [(flags, 1), *two],
        **dict.fromkeys((f.Scale(0.5), f.Exp(), f.Gelu(), f.Silu(), f.Reciprocal(), f.Rsqrt(), f.Cast(FP32)), one),
        f.RowSum(): one,
        f.RowMax(): one,
        f.Transpose(): one,
        f.Matmul(): [(tile, 1), (Tile(BF16, COLUMNS, COLUMNS), 1)],
        f.FilterLastTile(): [(tile, 1), (NUMBER, 1)],
        f.SetRow(): [(tile, 1), (NUMBER, 0), (row, 1)],
        f.AppendRow(): [(tile, 1), (NUMBER, 0), (row, 1)],
        f.CacheEnd(1, 1, 8): [(NUMBER, 0), (NUMBER, 0)],
        f.TopK(2): [(row, 1)],
        f.SelectValid(): [(Tile(BOOL), 0)],
        f.SelectAll(2): one,
    }


def reductions(tile: Tile) -> dict[Function, Values]:
    """Functions that fold elements into a state, and their operands."""
    return {
        **dict.fromkeys((f.Add(), f.Mul(), f.Max(), f.Min()), ((tile, 1),)),
        f.Add(FP32): [(Tile(FP32, tile.rows, tile.cols), 1)],
        f.MulAdd(): [(tile, 1), (tile, 1)],
        f.Matmul(): [(tile, 1), (Tile(BF16, COLUMNS, COLUMNS), 1)],
        f.RetileRow(): [(tile, 1)],
        f.RetileCol(): [(tile, 1)],
    }


def expansions(tile: Tile) -> dict[Function, Values]:
    """Functions that make `EACH` pieces of an element, and their operands."""
    return {
        f.RetileStreamify(tile.shape[0], "row"): [(Tile(BF16, EACH * tile.shape[0], COLUMNS), 1)],
        f.CountFrom(): [(NUMBER, 0), (NUMBER, EACH)],
        f.ExpertTiles(1, EACH): [(NUMBER, 0)],
        f.CacheTiles(1, EACH, 1): [(NUMBER, 0), (NUMBER, EACH)],
        f.CacheRows(1): [(NUMBER, EACH)],
    }


def units(tile: Tile) -> Iterator[tuple[str, Build]]:
    """Labels and builders of all units: every operator, and every function where it may stand."""
    yield from OPERATORS.items()
    growing = {each for each in reductions(tile) if each.family == "retile"}  # whose states a scan does not take
    scanned = {each: types for each, types in reductions(tile).items() if each not in growing}
    for put, functions in (
        (map, maps(tile)),
        (accum, reductions(tile)),
        (scan, scanned),
        (flat_map, expansions(tile)),
    ):
        for function, operands in functions.items():
            format = "_fp32" if operands[0][0] == Tile(FP32, tile.rows, tile.cols) else ""
            yield f"{put.__name__}_{function.name}{format}", partial(put, function, operands)


def map(function: Any, operands: Values, b: Bench) -> Any:
    """``function`` of every value."""
    first, *others = _sources(b, operands, [b.values])
    return first.map(function, *others, name=b.label)


def accum(function: Any, operands: Values, b: Bench) -> Any:
    """A reduction of every row."""
    first, *others = _sources(b, operands, [b.values // EACH, EACH])
    return first.accum(function, *others, name=b.label)


def scan(function: Any, operands: Values, b: Bench) -> Any:
    """The states of a reduction of every row."""
    first, *others = _sources(b, operands, [b.values // EACH, EACH])
    return first.scan(function, *others, name=b.label)


def flat_map(function: Any, operands: Values, b: Bench) -> Any:
    """A row of every value."""
    first, *others = _sources(b, operands, [b.values // EACH])
    return first.flat_map(function, *others, name=b.label)


def _sources(b: Bench, operands: Values, dims: Sequence[int]) -> list[Stream]:
    return [b.play(element, dims, fill) for element, fill in operands]
