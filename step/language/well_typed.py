"""Conditions on the type of every stream in a graph."""

from __future__ import annotations

from collections.abc import Container, Iterable

from step.errors import TypeMismatch, expect
from step.language.operator import StreamType


def check_types(types: Iterable[StreamType], symbols: Container[str], graph: str) -> None:
    """Raise `TypeMismatch` for no dimensions, tiles that are always empty, and symbols that ``graph`` does not have."""
    for stream in types:
        expect(stream.shape, "a stream must have at least one dimension, [1] for a single element, not []")
        extents = [extent for tile in stream.element.tiles for extent in (tile.rows, tile.cols)]
        if any(extent.extent == 0 for extent in extents):
            raise TypeMismatch(f"a tile must have rows and columns, but this is a stream of {stream.element}")
        for extent in (*stream.shape, *extents):
            for symbol in extent.extent.free_symbols:
                if str(symbol) not in symbols:
                    raise TypeMismatch(
                        f"graph {graph!r} has no symbol {symbol}; declare it: graph.symbol({str(symbol)!r})"
                    )
