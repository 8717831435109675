"""The time of functions: operations over the operator's rate, but for some that the artifact fixes."""

from __future__ import annotations

import math
from functools import singledispatch

from sim_published.site import TileSize
from step.functions.cache import CacheEnd, CacheRows, CacheTiles
from step.functions.counting import CountFrom
from step.functions.edit import AppendRow, SetRow
from step.language.function import FlatMapFunction, Function


@singledispatch
def cycles(function: Function, operations: int, rate: int) -> int:
    """Cycles of one application of ``function`` that does ``operations``, at ``rate`` operations a cycle."""
    return math.ceil(operations / rate)


@cycles.register(SetRow)
@cycles.register(AppendRow)
@cycles.register(CacheEnd)
def one(function: Function, operations: int, rate: int) -> int:
    """Functions of a cache: one cycle."""
    return 1


@singledispatch
def spacing(function: FlatMapFunction) -> int:
    """Cycles between the pieces of one element; none for tiles that are split, and addresses of an expert."""
    return 0


@singledispatch
def kept(function: FlatMapFunction, pieces: int, size: TileSize) -> int:
    """The number of the ``pieces`` of a tile of ``size`` that leave: all, but for functions that drop padding."""
    return pieces


@spacing.register(CacheTiles)
@spacing.register(CacheRows)
@spacing.register(CountFrom)
def a_piece_a_cycle(function: FlatMapFunction) -> int:
    """A function that counts along a cache has a piece a cycle."""
    return 1
