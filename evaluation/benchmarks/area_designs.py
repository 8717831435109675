"""Designs that the formulas of `step_explore.areas` are fitted to: units of all kinds, between sources and sinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

from benchmarks.control_units import dynamic, units
from step import BF16, BOOL, FP32, INT8, INT32, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.errors import StepError
from step.functions import (
    ArgMax,
    Cast,
    Dequantize,
    Matmul,
    RetileCol,
    RetileRow,
    RetileStreamify,
    RowMax,
    RowSum,
    SelectIndices,
    TargetIndices,
)
from step.functions.dequantize import Bits
from step.language.dtypes import STORED
from step.language.function import AccumFunction, FlatMapFunction, MapFunction
from step.programs.program import load_program
from step_check.fuzz.program import program as random_program
from step_check.samples.known import functions

SHAPES = [(4, 16, 16), (1, 64, 16), (4, 64, 32), (16, 16, 16), (3, 8, 24), (2, 4, 4)]
"""Rows, inner extent and columns of products."""

FABRICS = [
    FabricConfig(),
    FabricConfig(matmul_lanes=16, vector_lanes=4),
    FabricConfig(matmul_lanes=4, vector_lanes=1, link_bytes=16),
    FabricConfig(matmul_lanes=32, vector_lanes=8, link_bytes=32, stages=2),
    FabricConfig(matmul_lanes=8, vector_lanes=2, link_bytes=16, channel_depth=4, stages=3),
    FabricConfig(matmul_lanes=2, vector_lanes=16, link_bytes=32, block_ram_words=8, stages=1),
]

APPLIED = [
    (0, BF16, (4, 16), 3, ("map", "accum")),
    (1, BF16, (1, 16), 3, ("map", "accum", "scan", "flat_map")),
    (2, BF16, (16, 16), 3, ("map",)),
    (3, BF16, (4, 64), 1, ("map", "accum", "flat_map")),
    (1, FP32, (4, 16), 1, ("map", "accum", "scan")),
    (1, FP32, (1, 16), 3, ("map",)),
    (3, FP32, (16, 1), 1, ("map", "accum")),
    (0, FP32, (1, 64), 1, ("map", "flat_map")),
    (1, INT8, (1, 16), 1, ("map", "accum")),
    (1, INT32, (2, 8), 1, ("map", "accum")),
    (2, UINT32, (1, 16), 1, ("map",)),
    (1, BOOL, (1, 16), 1, ("map",)),
]
"""Functions: on which fabric, of tiles of which format and shape, how many samples of each, and in which operators."""

ROWS = [(4, 16), (1, 64), (8, 8), (16, 16), (3, 24), (1, 16), (4, 64)]
"""Rows and columns of tiles of which every row becomes one scalar."""

TILES = [(1, 16), (4, 16), (16, 16), (3, 8), (16, 64)]
"""Rows and columns of tiles on links of two widths."""

LAYOUTS = [(4, 16), (16, 16), (16, 64), (1, 64), (4, 8)]
"""Rows and columns of tiles that are loaded, stored and put together."""

RANDOM = 8
"""Random programs: buffers, random addresses, and whatever else there is."""


def designs() -> Iterator[tuple[str, Program]]:
    """Programs by name, each on a fabric of its own; they have no data."""
    for at in (0, 1, 2, 4):
        yield f"products {at}", products(FABRICS[at])
    for at in (0, 1):
        yield f"fused products {at}", products(FABRICS[at], 4 << at)
    for at in range(4):
        yield f"layouts {at}", layouts(FABRICS[at])
        yield f"addresses {at}", addresses(FABRICS[at])
    row, tile = Tile(BF16, 1, 16), Tile(BF16, 16, 16)
    yield "control", replace(units(tile, row=row, rows=16, tall=tile), fabric=FABRICS[0])
    row, tile = Tile(FP32, 1, 64), Tile(FP32, 4, 64)
    yield "control, wide", replace(units(tile, row=row, rows=4, tall=tile), fabric=FABRICS[2])
    yield "control, dynamic", dynamic()
    for links in ((64, 16), (16, 64), (32, 64), (64, 8), (8, 32)):
        yield f"gears {links}", gears(*links)
    for name in ("recirculate.py", "moe_multiplexed.py:regions4"):
        yield name, load_program(f"examples/{name}")
    for seed in range(RANDOM):
        yield f"random {seed}", random_program(seed, operators=(15, 30))
    for at in (0, 1):
        yield f"quantized weights {at}", quantized(FABRICS[at])
    for at in (0, 2):
        yield f"indices {at}", indices(FABRICS[at])
        yield f"stored {at}", stored(FABRICS[at])
    for at in (0, 1, 2, 4):
        yield f"rows {at}", rows(FABRICS[at])
    for at, dtype, shape, count, methods in APPLIED:
        for method in methods:
            yield f"functions {at} {dtype} {shape} {method}", applied(FABRICS[at], Tile(dtype, *shape), count, method)


def products(fabric: FabricConfig, terms: int | None = None) -> Program:
    """Products of all shapes as maps and as reductions, and some of INT8 or with a transposed operand.

    With ``terms``, those of BF16 have fused sums of so many.
    """
    graph = Graph("products")
    for at, (rows, inner, cols) in enumerate(SHAPES):
        kinds = [("map", BF16, BF16, False), ("accum", BF16, FP32, False)]
        kinds += [[("map", INT8, INT32, False)], [("map", BF16, FP32, True)], [("map", BF16, FP32, False)]][at % 3]
        for number, (method, dtype, out, transposed) in enumerate(kinds):
            name = f"{at}_{number}"
            left = graph.source(f"left{name}", Tile(dtype, rows, inner), [4, 4])
            shape = (cols, inner) if transposed else (inner, cols)
            right = graph.source(f"right{name}", Tile(dtype, *shape), [4, 4])
            sums = ("fused", terms) if terms is not None and dtype is BF16 else ("ordered", None)
            function = Matmul(transposed, out, *sums)
            getattr(left, method)(function, right, name=f"{method}{name}").sink(f"y{name}")
    return Program(graph, fabric=fabric)


def gears(written: int, read: int) -> Program:
    """Channels of tiles that are read in words of another width than they are written in, and of none."""
    graph, links = Graph("gears"), dict[str, int]()
    rows = graph.symbol("rows", ragged=True)
    for name, tile in {
        **{f"{dtype}_{rows}x{cols}": Tile(dtype, rows, cols) for dtype in (BF16, FP32) for rows, cols in TILES},
        "rows": Tile(BF16, rows, 16),
    }.items():
        for depth in (2, 4, 24):
            links |= {f"x{depth}_{name}": written, f"y{depth}_{name}": read}
            graph.source(f"x{depth}_{name}", tile, [8]).buffered(depth).sink(f"y{depth}_{name}")
    return Program(graph, fabric=FabricConfig(links=links))


def indices(fabric: FabricConfig) -> Program:
    """From indices to selectors of few targets and of many, and back."""
    graph = Graph("indices")
    for at, (targets, k) in enumerate([(4, 1), (8, 3), (16, 4), (64, 8), (64, 24), (256, 16)]):
        number = graph.source(f"x{at}", Tile(UINT32), [4, k])
        number.map(SelectIndices(targets), name=f"one{at}").sink(f"one_of{at}")
        several = number.accum(SelectIndices(targets), name=f"several{at}")
        several.map(TargetIndices(k), name=f"indices{at}").sink(f"y{at}")
    return Program(graph, fabric=fabric)


def stored(fabric: FabricConfig) -> Program:
    """Numbers that are only stored, widened and narrowed."""
    graph = Graph("stored")
    for dtype in STORED:
        for at, (wide, shape) in enumerate(product((BF16, FP32), ((4, 16), (1, 64)))):
            graph.source(f"x{dtype}_{at}", Tile(dtype, *shape), [4, 4]).map(Cast(wide)).sink(f"wide{dtype}_{at}")
            narrow = graph.source(f"w{dtype}_{at}", Tile(wide, *shape), [4, 4])
            narrow.map(Cast(dtype, saturate=at > 1)).sink(f"narrow{dtype}_{at}")
    return Program(graph, fabric=fabric)


def quantized(fabric: FabricConfig) -> Program:
    """Weights of few bits and their products, with scales of rows and of groups, in all formats."""
    graph = Graph("quantized")
    widths: tuple[Bits, ...] = (8, 4)
    for at, (bits, groups, dtype, out) in enumerate(product(widths, (1, 4), (BF16, FP32), (BF16, FP32))):
        weights = graph.source(f"weights{at}", Tile(INT8, 8, 16), [4, 4])
        scales = graph.source(f"scales{at}", Tile(dtype, 8, groups), [4, 4])
        weights.map(Dequantize(bits, out), scales, name=f"dequantize{at}").sink(f"y{at}")
    for at, (rows, inner, cols) in enumerate(SHAPES):
        left = graph.source(f"left{at}", Tile(INT8, rows, inner), [4, 4])
        right = graph.source(f"right{at}", Tile(INT8, inner, cols // 2), [4, 4])
        sums = left.map(Matmul(out=INT32, bits=4), right, name=f"product{at}")
        scales = graph.source(f"scale{at}", Tile((BF16, FP32)[at % 2], 1, cols), [4, 4])
        sums.map(Dequantize(out=FP32), scales, name=f"scaled{at}").sink(f"z{at}")
    return Program(graph, fabric=fabric)


def rows(fabric: FabricConfig) -> Program:
    """Functions that make one scalar of every row."""
    graph = Graph("rows")
    functions: list[MapFunction] = [RowSum(), RowSum(out=BF16), RowSum(sum="fused"), RowMax(), ArgMax()]
    for dtype, shape, (at, function) in product((BF16, FP32), ROWS, enumerate(functions)):
        name = f"{dtype.name}_{shape[0]}x{shape[1]}_{at}"
        graph.source(f"x{name}", Tile(dtype, *shape), [4]).map(function, name=f"row{name}").sink(f"y{name}")
    return Program(graph, fabric=fabric)


def applied(fabric: FabricConfig, tile: Tile, count: int, method: str) -> Program:
    """Every function that takes ``tile``, in so many formats and forms, in the operator called ``method``."""
    graph, random, seen = Graph("functions"), Random(0), set[tuple[Any, ...]]()
    kind = {"map": MapFunction, "accum": AccumFunction, "scan": AccumFunction, "flat_map": FlatMapFunction}[method]
    for each, number in product(functions(kind), range(count)):
        sample = each.sample(random, tile, reduce=issubclass(kind, AccumFunction))
        if sample is None or each is Matmul or sample[:2] in seen:
            continue
        seen.add(sample[:2])
        name = f"{each.name}_{number}"
        for target in (Graph("draft"), graph):  # what does not fit leaves nothing behind
            try:
                first, *others = (
                    target.source(f"{name}_in{port}", element, [4, 4]) for port, element in enumerate(sample.elements)
                )
                getattr(first, method)(sample.function, *others, name=name).sink(f"{name}_out")
            except StepError:
                break
    return Program(graph, fabric=fabric)


def addresses(fabric: FabricConfig) -> Program:
    """Loads from addresses, stores to others, and items of tuples."""
    graph = Graph("addresses")
    for rows, cols in LAYOUTS:
        name, shape = f"{rows}x{cols}", [16 * rows, 4 * cols]
        read, written = (graph.tensor(f"{each}{name}", shape, BF16) for each in ("read", "written"))
        at, to = (graph.source(f"{each}{name}", Tile(UINT32), [4]) for each in ("at", "to"))
        tiles = at.load_random(read, tile=(rows, cols), name=f"load{name}")
        tiles.store_random(written, to, name=f"store{name}").sink(f"stored{name}")
        x, y = (graph.source(f"{each}{name}", Tile(BF16, rows, cols), [4]) for each in "xy")
        x.zip(y, name=f"pair{name}").item_of(1, name=f"item{name}").sink(f"second{name}")
    return Program(graph, fabric=replace(fabric, memory=MemoryConfig(beat_bytes=fabric.link_bytes)))


def layouts(fabric: FabricConfig) -> Program:
    """Loads, stores and channels of tiles, tiles that are joined and those that are split."""
    graph = Graph("layouts")
    for rows, cols in LAYOUTS:
        name = f"{rows}x{cols}"
        tensor = graph.tensor(f"t{name}", [16 * rows, 4 * cols], BF16)
        loaded = graph.load(tensor, tile=(rows, cols), out=(4,), name=f"load{name}")
        loaded.store(f"store{name}")
        tile = Tile(BF16, rows, cols)
        for depth in (3, 12, 40):
            graph.source(f"x{name}_{depth}", tile, [8]).buffered(depth).sink(f"y{name}_{depth}")
        graph.source(f"columns{name}", tile, [4, 4]).accum(RetileCol(), name=f"wide{name}").sink(f"joined{name}")
        graph.source(f"rows{name}", tile, [4, 4]).accum(RetileRow(), name=f"tall{name}").sink(f"stacked{name}")
        pieces = graph.source(f"whole{name}", tile, [4])
        pieces.flat_map(RetileStreamify(cols // 4, "col"), name=f"cut{name}").sink(f"columns_of{name}")
        if rows > 1:
            pieces.flat_map(RetileStreamify(1, "row"), name=f"slice{name}").sink(f"rows_of{name}")
    beats = MemoryConfig(beat_bytes=fabric.link_bytes)
    return Program(graph, fabric=replace(fabric, memory=beats))
