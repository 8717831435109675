"""Metrics by hand on small programs, both accountings, and binding of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from cases import cases
from raising import raised
from running import Bench

from step.errors import StreamFault, UnboundSymbol
from step.functions import Add, Cast, Matmul, Mul, RetileCol, RetileRow, RetileStreamify, SelectAll, Silu
from step.language.dtypes import BF16, FP32, INT32, UINT32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.symbols import evaluate
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.programs.metrics import metrics
from step.running.interpreter import bind, interpret

LEFT, RIGHT = Tile(BF16, 4, 16), Tile(BF16, 16, 8)


def node_metrics(bench: Bench, name: str) -> tuple[Any, Any, Any, Any]:
    """Off-chip bytes, on-chip bytes (paper, artifact) and operations of one operator."""
    node = bench.graph.nodes[name]
    off_chip, on_chip = node.operator.off_chip_bytes, node.operator.on_chip_bytes
    return off_chip(node), on_chip(node, "paper"), on_chip(node, "artifact"), node.operator.flops(node)


def operand(bench: Bench, name: str, element: Any, dims: list[Any]) -> Stream:
    return bench.source(name, "D", dims, element)


@cases(
    # a load of 3 tiles [2, 4] of BF16: 3 * 16 bytes moved; two tiles, or one, on chip
    (lambda b: b.graph.load(b.graph.tensor("a", (2, 12), BF16), tile=(2, 4), name="y"), (48, 32, 16, 0)),
    # read again per reference element
    (lambda b: b.graph.load(b.graph.tensor("a", (2, 12), BF16), tile=(2, 4), name="y",
                            reference=operand(b, "r", Selector(1), [5])), (240, 32, 16, 0)),
    (lambda b: operand(b, "x", Tile(FP32, 2, 4), [3, 5]).store("y"), (15 * 32, 64, 32, 0)),
    # at addresses: the tiles that are moved, and two tiles; addresses and acknowledgements stay on chip
    (lambda b: operand(b, "x", Tile(UINT32), [3, 5]).load_random(b.graph.tensor("a", (2, 12), BF16), tile=(2, 4),
                                                                 name="y"), (15 * 16, 32, 16, 0)),
    (lambda b: operand(b, "w", Tile(BF16, 2, 4), [3]).store_random(
        b.graph.tensor("a", (2, 12), BF16), operand(b, "x", Tile(UINT32), [3]), name="y"), (48, 32, 16, 0)),
    # element-wise: no memory, one operation a scalar, 8 of silu, none of cast
    (lambda b: operand(b, "x", LEFT, [3]).map(Mul(), operand(b, "w", LEFT, [3]), name="y"), (0, 0, 0, 3 * 64)),
    (lambda b: operand(b, "x", LEFT, [3]).map(Silu(), name="y"), (0, 0, 0, 3 * 64 * 8)),
    (lambda b: operand(b, "x", LEFT, [3]).map(Cast(FP32), name="y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).map(SelectAll(2), name="y"), (0, 0, 0, 0)),
    # matmul: 16 * 16 columns * 2 bytes of the input, and the whole weight tile of 16 * 8 * 2; 2MKN operations
    (lambda b: operand(b, "x", LEFT, [3]).map(Matmul(), operand(b, "w", RIGHT, [3]), name="y"),
     (0, 512 + 256, 0, 3 * 2 * 4 * 16 * 8)),
    # as a reduction the FP32 result tile of 4 * 8 * 4 is held too
    (lambda b: operand(b, "x", LEFT, [3, 5]).accum(Matmul(), operand(b, "w", RIGHT, [3, 5]), name="y"),
     (0, 512 + 256 + 128, 128, 15 * 1024)),
    # other reductions hold their result: FP32 sums of BF16, grown tiles
    (lambda b: operand(b, "x", LEFT, [3, 5]).accum(Add(), name="y"), (0, 256, 256, 15 * 64)),
    (lambda b: operand(b, "x", LEFT, [3, 5]).accum(RetileRow(), name="y"), (0, 640, 640, 0)),
    (lambda b: operand(b, "x", LEFT, [3, 5]).accum(RetileCol(), name="y"), (0, 640, 640, 0)),
    # expand holds the element
    (lambda b: operand(b, "x", LEFT, [3, 1]).expand(operand(b, "r", LEFT, [3, 5]), name="y"), (0, 128, 128, 0)),
    (lambda b: operand(b, "x", LEFT, [3, 1]).expand_static(7, name="y"), (0, 128, 128, 0)),
    # everything else: nothing
    (lambda b: operand(b, "x", LEFT, [3, 5]).flatten(0, 1, name="y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).reshape(2, name="y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).promote(name="y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).zip(operand(b, "w", LEFT, [3]), name="y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).flat_map(RetileStreamify(1), name="y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).sink("y"), (0, 0, 0, 0)),
    (lambda b: operand(b, "y", LEFT, [3]), (0, 0, 0, 0)),
    (lambda b: operand(b, "x", LEFT, [3]).partition(operand(b, "s", Selector(2), [3]), targets=2, name="y"),
     (0, 0, 0, 0)),
    (lambda b: b.graph.reassemble([operand(b, "x", LEFT, [3])], operand(b, "s", Selector(1), [3]), name="y"),
     (0, 0, 0, 0)),
)  # fmt: skip
def test_terms_of_every_operator(build: Any, expected: tuple[int, ...], bench: Bench) -> None:
    build(bench)
    assert node_metrics(bench, "y") == expected


def test_terms_with_symbols() -> None:
    bench = Bench(N=False)
    n = bench.symbols["N"]
    x = bench.graph.source("x", LEFT, [n, 5])
    x.store("y")
    assert node_metrics(bench, "y")[0] == 5 * n.extent * 128


def test_a_ragged_dimension_counts_in_total(bench: Bench) -> None:
    bench.source("x", "D", ["N", "R"], LEFT).store("y")
    assert node_metrics(bench, "y")[0] == 128 * bench.symbols["R"].extent


def test_a_dynamic_tile_has_a_symbolic_size(bench: Bench) -> None:
    n = bench.dims(["N"])[0]
    tall = bench.source("x", "D", [1, n], Tile(BF16, 1, 16)).accum(RetileRow(), name="tall")
    tall.map(Matmul(), bench.source("w", "D", [1], RIGHT), name="y")
    extent = bench.symbols["N"].extent
    assert node_metrics(bench, "tall")[1] == 32 * extent
    assert node_metrics(bench, "y") == (0, 768, 0, 2 * extent * 16 * 8)


def joined(bench: Bench) -> Stream:
    """Tiles of 3, 0, 2 and 1 rows."""
    x = bench.source("x", "1 2 3 S1 E1 S1 4 5 S1 6 S1 D", ["N", "R"], Tile(BF16, 1, 1))
    return x.accum(RetileRow(), name="joined")


def test_rows_that_are_joined_are_moved_once(bench: Bench) -> None:
    """The total of a ragged dimension is that of all tiles: one of them has the mean."""
    tiles = joined(bench)
    tiles.map(Silu(), name="silu").store("y")
    rows = tiles.flat_map(RetileStreamify(1, "row", 1))
    rows.store("rows")
    assert [str(each.type) for each in (tiles, rows)] == [
        "[N] of Tile(BF16, R/Max(1, N), 1)", "[N, R] of Tile(BF16, 1, 1)"
    ]  # fmt: skip
    values = bind(bench.graph, bench.inputs)
    assert values == {"N": 4, "R": 6}
    outputs = interpret(bench.graph, bench.inputs).outputs
    moved = [sum(each.value.nbytes for each in outputs[name] if each.has_value) for name in ("y", "rows")]
    found = metrics(bench.graph).bind(values)
    assert (found.off_chip_bytes, moved, found.flops) == (24, [12, 12], 6 * 8)


@pytest.mark.parametrize(("ragged", "rows", "value"), [(True, [2, 3, 1], 6), (False, [2, 2, 2], 2)])
def test_tiles_of_a_source_show_their_symbol(ragged: bool, rows: list[int], value: int, graph: Graph) -> None:
    """A ragged one is the total, another one what each of them has."""
    graph.source("x", Tile(BF16, graph.symbol("Q", ragged=ragged), 4), [3]).store("y")
    inputs = {"x": [np.ones((each, 4)) for each in rows]}
    values = bind(graph, inputs)
    moved = sum(each.value.nbytes for each in interpret(graph, inputs).outputs["y"] if each.has_value)
    assert (values, metrics(graph).bind(values).off_chip_bytes) == ({"Q": value}, moved) and moved == 6 * 4 * 2


def test_rows_are_joined_over_several_dimensions(bench: Bench) -> None:
    """The innermost ragged one has those outside of it; static ones count in each tile."""
    inside, outside = bench.graph.symbol("I", ragged=True), bench.graph.symbol("O", ragged=True)
    for name, dims, rows in (
        ("both", [5, outside, inside], "I/5"),
        ("outer", [5, outside, 2], "2*O/5"),
        ("alone", [1, inside, 3], "3*I"),
    ):
        tiles = bench.graph.source(name, Tile(BF16, 1, 4), dims).accum(RetileRow(), rank=2)
        assert str(tiles.type) == f"[{dims[0]}] of Tile(BF16, {rows}, 4)"


def copied() -> Graph:
    """4 tiles of [2, 2] BF16 loaded, doubled into FP32 and stored."""
    graph = Graph("copied")
    x = graph.load(graph.tensor("a", (4, 4), BF16), tile=(2, 2), name="x")
    x.map(Add(out=FP32), x, name="twice").store("y")
    return graph


def test_sums_over_a_program() -> None:
    found = metrics(copied())
    assert found.off_chip_bytes == 4 * 8 + 4 * 16
    assert found.on_chip_bytes == 2 * 8 + 2 * 16
    assert found.flops == 16
    assert found.intensity == sympy.Rational(16, 96)
    # x -> broadcast, two copies -> twice, twice -> y: depth 2 each
    assert found.channel_bytes == 2 * (8 + 8 + 8 + 16)


def test_loads_have_queues_besides_their_two_tiles() -> None:
    assert metrics(copied()).load_bytes == (8 - 2) * 8
    assert metrics(copied(), FabricConfig(outstanding=4)).load_bytes == (4 - 2) * 8
    assert metrics(copied(), FabricConfig(outstanding=1)).load_bytes == 0  # by the equation it has two tiles
    assert metrics(copied(), FabricConfig(outstanding=4), accounting="artifact").load_bytes == (4 - 1) * 8
    # of more than two words there is one more, which is read: here of 4
    assert metrics(copied(), FabricConfig(outstanding=4, link_bytes=2)).load_bytes == (5 - 2) * 8


def test_the_artifact_counts_single_buffers() -> None:
    assert metrics(copied(), accounting="artifact").on_chip_bytes == 8 + 16


def test_channels_have_the_fabrics_depth_unless_said(bench: Bench) -> None:
    x = bench.source("x", "D", [1], Tile(INT32))
    x.buffered(10).promote().sink("y")
    assert metrics(bench.graph, FabricConfig(channel_depth=5)).channel_bytes == 10 * 4 + 5 * 4


def test_intensity_without_traffic(bench: Bench) -> None:
    bench.source("x", "D", [1]).sink("y")
    assert metrics(bench.graph).intensity == 0


# -- binding --------------------------------------------------------------------------------------------------------


def routed() -> Bench:
    bench = Bench()
    x = bench.source("x", "1 2 S1 3 S1 E1 4 5 6 S1 D", ["N", "R"], Tile(INT32))
    for port, each in enumerate(
        x.partition(bench.choose("which", "1 2 2 3 D", 2, ["N"]), targets=2, rank=1, name="route")
    ):
        each.store(f"y{port}")
    return bench


def test_binding_counts_what_the_streams_carry() -> None:
    bench = routed()
    values = bind(bench.graph, bench.inputs)
    assert values == {"N": 4, "R": 6, "route_D0": 2, "route_D1": 3, "route_R_0": 5, "route_R_1": 4}
    assert metrics(bench.graph).bind(values).off_chip_bytes == 4 * (5 + 4)


def test_symbols_of_an_empty_stream_are_zero(bench: Bench) -> None:
    bench.source("x", "D", ["N", "R"]).flatten(0, 1).sink("y")
    assert bind(bench.graph, bench.inputs) == {"N": 0, "R": 0, "flatten_0_flat": 0}


def test_a_regular_dimension_must_be_regular() -> None:
    bench = Bench(M=False)
    bench.source("x", "1 2 S1 3 S1 D", ["N", bench.symbols["M"]])
    error = raised(StreamFault, lambda: bind(bench.graph, bench.inputs))
    assert error == "stream x: the dimension M must have one extent, but has [1, 2]"


def test_two_streams_of_one_symbol_must_agree() -> None:
    bench = Bench(N=False)
    for name, text in (("x", "1 2 D"), ("y", "1 2 3 D")):
        bench.source(name, text, [bench.symbols["N"]])
    with pytest.raises(StreamFault, match=r"^stream x: the dimension N should be 3, but is \[2\]$"):
        bind(bench.graph, bench.inputs)


def test_unbound_symbols_are_told_with_their_birthplace() -> None:
    bench = routed()
    found = metrics(bench.graph)
    born = bench.graph.symbols["route_R_1"].born
    assert raised(UnboundSymbol, lambda: found.bind({"N": 4, "route_R_0": 5})) == (
        "these symbols have no value; bind them with NAME=VALUE or give input data:\n"
        f"  route_R_1: from 'route' ({born})"
    )
    assert str(born).rpartition(":")[0].endswith("test_metrics.py")


def test_wrong_names() -> None:
    bench = routed()
    error = raised(UnboundSymbol, lambda: metrics(bench.graph).bind({"D7": 4}))
    assert error == "the program has no symbol 'D7'; it has N, R, route_D0, route_D1, route_R_0, route_R_1"
    with pytest.raises(UnboundSymbol, match=r"^the program has no symbol 'N'; it has none$"):
        metrics(copied()).bind({"N": 1})


def test_evaluate(graph: Graph) -> None:
    n = graph.symbol("N").extent
    assert evaluate(sympy.ceiling(n / 4) * 3, {"N": 9}, graph) == 9
    assert evaluate(sympy.Integer(5), {}, graph) == 5


def test_metrics_of_data_given_as_arrays(graph: Graph) -> None:
    graph.source("x", Tile(FP32), [graph.symbol("N"), 2]).store("y")
    values = bind(graph, {"x": np.zeros((7, 2), np.float32)})
    assert values == {"N": 7} and metrics(graph).bind(values).off_chip_bytes == 56
