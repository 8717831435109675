"""Designs that the formulas of `step.areas` are fitted to: units of all kinds, between sources and sinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

from benchmarks.control_units import dynamic, units
from step import BF16, BOOL, FP32, INT8, INT32, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.errors import StepError
from step.functions import Dequantize, Matmul, RetileCol, RetileRow, RetileStreamify
from step.functions.dequantize import Bits
from step.fuzz.program import program as random_program
from step.language.function import AccumFunction, FlatMapFunction, MapFunction
from step.programs.program import load_program
from step.samples.known import functions

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
    (0, BF16, (4, 16), ("map", "accum")),
    (1, BF16, (1, 16), ("map", "accum", "scan", "flat_map")),
    (2, BF16, (16, 16), ("map", "accum")),
    (3, BF16, (4, 64), ("map", "accum", "flat_map")),
    (1, FP32, (4, 16), ("map", "accum", "scan")),
    (3, FP32, (16, 1), ("map", "accum")),
    (0, FP32, (1, 64), ("map", "flat_map")),
    (1, INT8, (1, 16), ("map", "accum")),
    (1, INT32, (2, 8), ("map", "accum")),
    (2, UINT32, (1, 16), ("map",)),
    (1, BOOL, (1, 16), ("map",)),
]
"""Functions: on which fabric, of tiles of which format and shape, and in which operators."""

RANDOM = 8
"""Random programs: buffers, random addresses, and whatever else there is."""


def designs() -> Iterator[tuple[str, Program]]:
    """Programs by name, each on a fabric of its own; they have no data."""
    for at in (0, 1, 2, 4):
        yield f"products {at}", products(FABRICS[at])
    for at in range(4):
        yield f"layouts {at}", layouts(FABRICS[at])
    row, tile = Tile(BF16, 1, 16), Tile(BF16, 16, 16)
    yield "control", replace(units(tile, row=row, rows=16, tall=tile), fabric=FABRICS[0])
    row, tile = Tile(FP32, 1, 64), Tile(FP32, 4, 64)
    yield "control, wide", replace(units(tile, row=row, rows=4, tall=tile), fabric=FABRICS[2])
    yield "control, dynamic", dynamic()
    for name in ("recirculate.py", "moe_multiplexed.py:regions4"):
        yield name, load_program(f"examples/{name}")
    for seed in range(RANDOM):
        yield f"random {seed}", random_program(seed, operators=(15, 30))
    for at in (0, 1):
        yield f"quantized weights {at}", quantized(FABRICS[at])
    for at, dtype, shape, methods in APPLIED:
        yield f"functions {at} {dtype} {shape}", applied(FABRICS[at], Tile(dtype, *shape), methods)


def products(fabric: FabricConfig) -> Program:
    """Products of all shapes as maps and as reductions, and some of INT8 or with a transposed operand."""
    graph = Graph("products")
    for at, (rows, inner, cols) in enumerate(SHAPES):
        kinds = [("map", BF16, BF16, False), ("accum", BF16, FP32, False)]
        kinds += [[("map", INT8, INT32, False)], [("map", BF16, FP32, True)], [("map", BF16, FP32, False)]][at % 3]
        for number, (method, dtype, out, transposed) in enumerate(kinds):
            name = f"{at}_{number}"
            left = graph.source(f"left{name}", Tile(dtype, rows, inner), [4, 4])
            shape = (cols, inner) if transposed else (inner, cols)
            right = graph.source(f"right{name}", Tile(dtype, *shape), [4, 4])
            function = Matmul(out=out, transposed=transposed)
            getattr(left, method)(function, right, name=f"{method}{name}").sink(f"y{name}")
    return Program(graph, fabric=fabric)


def quantized(fabric: FabricConfig) -> Program:
    """Weights of few bits, with scales of rows and of groups, in all formats."""
    graph = Graph("quantized")
    widths: tuple[Bits, ...] = (8, 4)
    for at, (bits, groups, dtype, out) in enumerate(product(widths, (1, 4), (BF16, FP32), (BF16, FP32))):
        weights = graph.source(f"weights{at}", Tile(INT8, 8, 16), [4, 4])
        scales = graph.source(f"scales{at}", Tile(dtype, 8, groups), [4, 4])
        weights.map(Dequantize(bits, out), scales, name=f"dequantize{at}").sink(f"y{at}")
    return Program(graph, fabric=fabric)


def applied(fabric: FabricConfig, tile: Tile, methods: tuple[str, ...]) -> Program:
    """Every function that takes ``tile``, in the operators called ``methods``."""
    graph, random = Graph("functions"), Random(0)
    kinds = {"map": MapFunction, "accum": AccumFunction, "scan": AccumFunction, "flat_map": FlatMapFunction}
    for method in methods:
        for each in functions(kinds[method]):
            name = f"{method}_{each.name}"
            sample = each.sample(random, tile, reduce=issubclass(kinds[method], AccumFunction))
            if sample is None or each is Matmul:
                continue
            for target in (Graph("draft"), graph):  # what does not fit leaves nothing behind
                try:
                    first, *others = (
                        target.source(f"{name}_in{port}", element, [4, 4])
                        for port, element in enumerate(sample.elements)
                    )
                    getattr(first, method)(sample.function, *others, name=name).sink(f"{name}_out")
                except StepError:
                    break
    return Program(graph, fabric=fabric)


def layouts(fabric: FabricConfig) -> Program:
    """Loads, stores and channels of tiles, tiles that are joined and those that are split."""
    graph = Graph("layouts")
    for rows, cols in ((4, 16), (16, 16), (16, 64), (1, 64), (4, 8)):
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
