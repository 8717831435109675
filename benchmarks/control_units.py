"""Every control unit on streams of 64 data bits, for `step synth benchmarks/control_units.py --seeds 3`."""

from __future__ import annotations

from step import FP32, Graph, Program, Stream, Tile
from step.functions import RetileRow, RetileStreamify

PAIR = Tile(FP32, 1, 2)


def program() -> Program:
    """One graph with a unit of each kind, each between a source and a sink; it has no data."""
    graph = Graph("control_units")

    def pairs(name: str, *shape: int) -> Stream:
        return graph.source(name, PAIR, list(shape))

    forked = pairs("forked", 8)
    forked.sink("fork0")
    forked.promote(name="promote").sink("promoted")
    pairs("left", 8).zip(pairs("right", 8), name="zip").sink("zipped")
    pairs("deep", 4, 2).flatten(0, 1, name="flatten").sink("flat")
    chunks, padding = pairs("long", 8).reshape(3, name="reshape")
    chunks.sink("chunks")
    padding.sink("padding")
    pairs("once", 8, 1).expand(pairs("often", 8, 3), name="expand").sink("expanded")
    pairs("rows", 4, 2).accum(RetileRow(), name="accum_retile_row").sink("joined")
    graph.source("tall", Tile(FP32, 2, 1), [8]).flat_map(RetileStreamify(1, "row"), name="flat_map").sink("pieces")
    for targets in (2, 8):
        choice = graph.selectors(f"to{targets}", targets, [8])
        parts = pairs(f"all{targets}", 8).partition(choice, targets=targets, name=f"partition{targets}")
        for number, part in enumerate(parts):
            part.sink(f"part{targets}_{number}")
    for order in ("arrival", "index"):
        parts = [pairs(f"{order}{number}", 4) for number in range(8)]
        choice = graph.selectors(f"from_{order}", 8, [8])
        graph.reassemble(parts, choice, order=order, name=f"reassemble8_{order}").sink(f"by_{order}")
    return Program(graph)
