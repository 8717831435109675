"""Useful operations: those on rows that are data, whatever tiles they lie in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import step
from step import BF16, FP32, Graph, Program, Stream, Tile
from step.functions import (
    Add,
    Matmul,
    Mul,
    RetileCol,
    RetileRow,
    RetileStreamify,
    RowMax,
    RowSum,
    Scale,
    SelectValid,
    Silu,
    Transpose,
)
from step.ops import Accum, FlatMap, Map, Reshape, Scan
from step.programs.useful import useful_of
from step.running.interpreter import interpret
from step_models import moe, sampled_routing


def mixture(rows: int | None, regions: int | None = None, depth: int | None = None, batch: int = 16) -> Program:
    routing = sampled_routing(batch, experts=8, experts_per_token=2, skew=1.0, seed=0)
    sizes: dict[str, Any] = {"experts": 8, "hidden": 32, "inner": 64, "columns": 16, "depth": depth}
    return moe.program(routing, rows=rows, regions=regions, values=False, **sizes)


@pytest.mark.parametrize("regions", [None, 2])
@pytest.mark.parametrize("depth", [None, 16])
def test_a_mixture_has_the_same_useful_operations_with_tiles_of_any_size(
    regions: int | None, depth: int | None
) -> None:
    """As with tiles of one row, which are never padded, and with those of dynamic size."""
    program = mixture(1, regions, depth)
    wanted = step.metrics(program).bind(step.bind(program)).flops
    executed = []
    for rows in (None, 1, 2, 3, 16, 32, 64):
        if rows is None and regions and depth:
            continue  # which no mixture can be
        program = mixture(rows, regions, depth)
        found = step.metrics(program).bind(step.bind(program))
        assert (found.useful_flops, found.at_most, found.doubt) == (wanted, (), None)
        assert found.useful_intensity == found.useful_flops / found.off_chip_bytes
        executed.append(found.flops)
    assert executed[-1] > 10 * wanted and executed == sorted(executed)


def test_a_run_and_a_sweep_have_them() -> None:
    wanted = step.run(mixture(1), "approx").flops
    for backend in ("approx", "interpret"):
        run = step.run(mixture(16), backend)
        assert run.useful_flops == wanted < run.flops
    found = step.sweep(mixture, {"rows": [1, 16, 64]}, jobs=1)
    assert [row.useful_flops for row in found.rows] == [wanted] * 3 and found.rows[2].useful_at_most is False
    last = found.rows[2]
    assert last.cycles and last.useful_flops_per_cycle == round(wanted / last.cycles, 3)
    assert last.flops_per_cycle and last.flops_per_cycle > 10 * last.useful_flops_per_cycle


# -- an oracle: padding is not a number ------------------------------------------------------------------------------


def counted(program: Program) -> int:
    """Useful operations of ``program`` from a run in which padding is NaN, which makes NaN of what is made of it."""
    graph = program.graph
    for name, node in graph.nodes.items():
        pads = isinstance(node.operator, Reshape) and not node.operator.rank
        if pads and isinstance(node.input_types[0].element, Tile):
            graph.nodes[name] = replace(node, operator=replace(node.operator, pad=math.nan))
    streams = interpret(graph, program.inputs, record=True).streams
    total = 0
    for node in graph:
        if not isinstance(node.operator, (Map, Accum, Scan, FlatMap)):
            continue
        function = node.operator.function
        values = [[t.value for t in streams[str(graph.resolve(each))] if t.has_value] for each in node.inputs]
        for operands in zip(*values, strict=True):
            elements = [
                Tile(each.element.dtype, *value.shape) if isinstance(each.element, Tile) else each.element
                for each, value in zip(node.input_types, operands, strict=True)
            ]
            flops = int(function.flops(*elements))
            shares = [
                1 - float(np.isnan(value.astype(float)).all(axis=1).mean())
                for value in operands
                if isinstance(value, np.ndarray) and value.dtype.kind not in "iub"
            ]
            total += round(flops * min([1.0, *shares]))
    return total


def rows(graph: Graph, count: int, columns: int = 4, outer: tuple[int, ...] = ()) -> Stream:
    """Rows of data, none of which is NaN."""
    return graph.source("x", Tile(FP32, 1, columns), [*outer, count])


def data(count: int, columns: int = 4, outer: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"x": np.arange(math.prod(outer) * count * columns, dtype=np.float32).reshape(*outer, count, 1, columns)}


def padded(stream: Stream, height: int) -> Stream:
    return stream.reshape(height)[0].accum(RetileRow())


WAYS: dict[str, Callable[[Stream], Stream]] = {
    "map": lambda x: x.map(Silu()),
    "two of one": lambda x: x.map(Mul(), x.map(Silu())),
    "repeated": lambda x: x.repeat(3).map(Scale(2.0)),
    "repeated twice": lambda x: x.repeat(3).repeat(2).map(Silu()).accum(Add(), rank=2).map(Silu()),
    "columns": lambda x: x.repeat(3).flat_map(RetileStreamify(2, "col", rank=1)).map(Silu()).accum(RetileCol()),
    "columns in one row": lambda x: x.flat_map(RetileStreamify(2, "col")).map(Silu()),
    "rows again": lambda x: x.flat_map(RetileStreamify(1, "row")).map(Silu()),
    "pairs of rows": lambda x: x.flat_map(RetileStreamify(2, "row")).map(Silu()),
    "sums of rows": lambda x: x.map(RowSum()).map(Silu()),
    "largest of rows": lambda x: x.map(Mul(), x.map(RowMax())),
    "a buffer": lambda x: x.promote().bufferize(rank=1).streamify(count=3).map(Silu()),
    "flattened": lambda x: x.repeat(3).map(Silu()).flatten(0, 1).map(Silu()),
    "reshaped": lambda x: x.repeat(4).reshape(2)[0].map(Silu()).accum(Add()).map(Silu()),
    "a running sum": lambda x: x.repeat(3).scan(Add()).map(Silu()),
    "tiles below tiles": lambda x: x.repeat(2).accum(RetileRow()).map(Silu()),
}


@pytest.mark.parametrize("count", [1, 4, 5, 7, 8])
@pytest.mark.parametrize("way", WAYS)
def test_what_follows_padding_through_a_program(way: str, count: int) -> None:
    graph = Graph("padded")
    WAYS[way](padded(rows(graph, count), 4)).sink("y")
    program = Program(graph, data(count))
    useful = useful_of(graph)
    assert useful.unknown == () and int(useful.total) == counted(program)
    if count % 4 == 0:
        assert useful.total == step.metrics(program).flops


def test_ragged_rows() -> None:
    """Each request pads its own last tile."""
    graph = Graph("ragged")
    x = graph.source("x", Tile(FP32, 1, 4), [3, graph.symbol("N", ragged=True)])
    padded(x, 4).map(Silu()).flatten(0, 1).map(Silu()).sink("y")
    lengths = (1, 6, 4)
    program = Program(graph, {"x": [[[[1.0] * 4]] * each for each in lengths]})
    found = step.metrics(program).bind(step.bind(program))
    assert found.useful_flops == 2 * 8 * 4 * sum(lengths) == counted(program) < found.flops


def test_rows_that_are_selected_by_their_flags_are_data() -> None:
    graph = Graph("kept")
    chunks, flags = rows(graph, 6).reshape(4)
    keep = flags.flatten(0, 1).map(SelectValid())
    split = chunks.accum(RetileRow()).map(Silu()).flat_map(RetileStreamify(1, "row"))
    (kept,) = split.partition(keep, targets=1)
    kept.map(Silu()).sink("y")
    program = Program(graph, data(6))
    found = step.metrics(program).bind(step.bind(program))
    assert found.useful_flops == 2 * 8 * 4 * 6 and found.at_most == ()


def test_a_product_counts_the_rows_of_either_operand(graph: Graph) -> None:
    """Rows of the left one make rows; those of a transposed right one make columns of what is no data."""
    x = padded(graph.source("x", Tile(BF16, 1, 4), [5]), 8)
    x.map(Matmul(), graph.source("w", Tile(BF16, 4, 3), [1])).sink("left")
    graph.source("q", Tile(BF16, 2, 4), [1]).map(Matmul(transposed=True), x).sink("right")
    found = useful_of(graph)
    assert found.unknown == () and found.total == 2 * 5 * 4 * 3 + 2 * 2 * 4 * 5


UNKNOWN: dict[str, Callable[[Graph, Stream], Stream]] = {
    "rows that become columns": lambda graph, x: x.map(Transpose()).map(Silu()),
    "another operand with all rows": lambda graph, x: x.map(Add(), graph.source("b", Tile(FP32, 4, 4), [2])),
    "sums of tiles with other padding": lambda graph, x: x.promote().accum(Add()).map(Silu()),
    "some of the tiles": lambda graph, x: x.partition(graph.selectors("s", 1, [2]), targets=1)[0].map(Silu()),
    "as often as a run says": lambda graph, x: x.along(
        graph.source("r", Tile(FP32), [2, graph.symbol("R", ragged=True)])
    ).map(Silu()),
}


@pytest.mark.parametrize("way", UNKNOWN)
def test_what_nobody_knows_counts_and_is_said(way: str, graph: Graph) -> None:
    UNKNOWN[way](graph, padded(rows(graph, 6), 4)).sink("y")
    useful = useful_of(graph)
    assert useful.unknown and useful.unknown[-1] == list(graph.nodes)[-2]
    (name,) = useful.unknown
    assert useful.flops[name] == graph.nodes[name].operator.flops(graph.nodes[name])
    doubt = f"useful_flops is at most so much: which rows are padding is not known at {name}"
    assert step.metrics(graph).doubt == doubt


def test_without_padding_all_is_useful() -> None:
    """Whatever operators there are; and tiles that divide are none."""
    graph = Graph("whole")
    for way in UNKNOWN.values():
        graph = Graph("whole")
        way(graph, padded(rows(graph, 8), 4)).sink("y")
        found = step.metrics(graph)
        assert found.flops == found.useful_flops and found.at_most == ()


def test_random_ways_through_a_program() -> None:
    """Several steps one after the other, each of which keeps a stream of tiles [n]."""
    steps: list[Callable[[Stream], Stream]] = [
        lambda x: x.map(Silu()),
        lambda x: x.map(Mul(), x),
        lambda x: x.repeat(3).map(Scale(0.5)).accum(Add()),
        lambda x: x.repeat(2).flatten(0, 1).map(Silu()),
        lambda x: x.repeat(2).map(Silu()).scan(Add()).accum(Add()),
        lambda x: x.repeat(1).flat_map(RetileStreamify(2, "col", rank=1)).map(Silu()).accum(RetileCol()).flatten(0, 1),
        lambda x: x.flat_map(RetileStreamify(2, "row")).map(Silu()).reshape(2)[0].accum(RetileRow()),
        lambda x: x.map(Mul(), x.map(RowMax())),
    ]
    for seed in range(40):
        random, graph = Random(seed), Graph("random")
        count, height = random.randint(1, 11), random.choice([4, 8])
        x = padded(rows(graph, count), height)
        for _ in range(random.randint(1, 4)):
            x = random.choice(steps)(x)
        x.sink("y")
        useful, executed = useful_of(graph), step.metrics(graph).flops
        assert counted(Program(graph, data(count))) <= int(useful.total) <= int(executed)
        if not useful.unknown:
            assert counted(Program(graph, data(count))) == int(useful.total), seed


def test_padding_that_goes_round_a_loop_is_not_known(graph: Graph) -> None:
    """Behind the merge of what is padded, and of what comes back with it."""
    back = graph.feedback(Tile(FP32, 4, 4), [graph.symbol("B")], name="back")
    fresh = padded(rows(graph, 6), 4)
    merged, _ = graph.eager_merge([fresh, back.stream])
    merged.map(Silu(), name="work").sink("y")
    (left,) = merged.map(Scale(0.5), name="again").partition(
        graph.selectors("s", 1, [graph.symbol("S")]).assume_shape(merged.shape), targets=1
    )
    back.close(left.assume_shape(back.stream.shape))
    assert useful_of(graph).unknown == ("work", "again")
