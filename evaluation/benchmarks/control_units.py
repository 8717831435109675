"""Every control unit, for `step synth benchmarks/control_units.py --seeds 3`.

Values are of 64 bits, a word; with `:wide` behind the file they are tiles of 4,096 bits, 8 words of a link of 64 bytes,
and with `:dynamic` tiles of up to 16 such rows.
"""

from __future__ import annotations

from typing import Any

from step import BF16, FP32, FabricConfig, Graph, Program, Stream, Tile
from step.functions import RetileRow, RetileStreamify


def program() -> Program:
    """One graph with a unit of each kind, each between a source and a sink; it has no data."""
    return units(Tile(FP32, 1, 2), row=Tile(FP32, 1, 2), rows=2, tall=Tile(FP32, 2, 1))


def wide() -> Program:
    """The same with tiles of 16 x 16, whose rows are half a word."""
    return units(Tile(BF16, 16, 16), row=Tile(BF16, 1, 16), rows=16, tall=Tile(BF16, 16, 16))


def dynamic() -> Program:
    """The same with tiles of a dynamic number of rows, 16 at most."""
    graph = Graph("control_units")
    rows = graph.symbol("rows", ragged=True)
    tile = Tile(BF16, rows, 16)
    return units(tile, row=Tile(BF16, 1, 16), rows=rows, tall=tile, graph=graph)


def units(tile: Tile, *, row: Tile, rows: Any, tall: Tile, graph: Graph | None = None) -> Program:
    """Units for ``tile``; as many ``rows`` as a join takes, and what is ``tall`` is split into rows.

    `Reshape` can not pad with tiles whose rows only a run tells: of these it parts the outer dimension.
    """
    graph = graph or Graph("control_units")

    def tiles(name: str, *shape: int) -> Stream:
        return graph.source(name, tile, list(shape))

    forked = tiles("forked", 8)
    forked.sink("fork0")
    forked.promote(name="promote").sink("promoted")
    tiles("left", 8).zip(tiles("right", 8), name="zip").sink("zipped")
    tiles("deep", 4, 2).flatten(0, 1, name="flatten").sink("flat")
    merged = graph.source("empty_rows", tile, [2, graph.symbol("R", ragged=True), graph.symbol("D", ragged=True)])
    merged.flatten(0, 1, name="flatten_holding").sink("held")
    if tile.is_static:
        chunks, padding = tiles("long", 8).reshape(3, name="reshape")
    else:
        chunks, padding = tiles("long", 4, 2).reshape(2, rank=1, name="reshape")
    chunks.sink("chunks")
    padding.sink("padding")
    tiles("once", 8, 1).expand(tiles("often", 8, 3), name="expand").sink("expanded")
    graph.source("rows", row, [4, rows]).accum(RetileRow(), name="accum_retile_row").sink("joined")
    graph.source("tall", tall, [8]).flat_map(RetileStreamify(1, "row"), name="flat_map").sink("pieces")
    for targets in (2, 8):
        choice = graph.selectors(f"to{targets}", targets, [8])
        parts = tiles(f"all{targets}", 8).partition(choice, targets=targets, name=f"partition{targets}")
        for number, part in enumerate(parts):
            part.sink(f"part{targets}_{number}")
    for order in ("arrival", "index"):
        inputs = [tiles(f"{order}{number}", 4) for number in range(8)]
        choice = graph.selectors(f"from_{order}", 8, [8])
        graph.reassemble(inputs, choice, order=order, name=f"reassemble8_{order}").sink(f"by_{order}")
    return Program(graph, fabric=FabricConfig(dynamic_rows=16))
