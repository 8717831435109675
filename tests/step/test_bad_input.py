"""What nobody can mean is refused where it is written: with its line, what it has to be, and what was meant perhaps."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step import BF16, FP32, INT8, INT32, UINT32, Buffer, FabricConfig, Graph, MemoryConfig, Selector, Tile, Tuple
from step.errors import FabricError, InputError, ProgramError, StepError, TypeMismatch, UnboundSymbol
from step.functions import (
    Add,
    CacheEnd,
    CacheRows,
    Cast,
    Compare,
    Exp,
    ExpertTiles,
    Matmul,
    RetileRow,
    RetileStreamify,
    Scale,
    SelectAll,
    TopK,
)
from step.language.arguments import checked
from step.library import parallelize
from step.lowering.dram import PRESETS, Dram
from step.lowering.fabric import with_settings

HERE = os.path.relpath(__file__)


class Given:
    """A graph with something of every kind."""

    def __init__(self) -> None:
        self.graph = Graph("given")
        self.x = self.graph.source("x", Tile(BF16, 4, 4), [2, 3])
        self.row = self.graph.source("row", Tile(FP32, 1, 4), [3])
        self.small = self.graph.source("small", Tile(INT8, 4, 4), [3])
        self.which = self.graph.selectors("which", 2, [2, 3])
        self.w = self.graph.tensor("w", (8, 8), BF16)
        self.n = self.graph.symbol("N")
        self.later = self.graph.feedback(Tile(BF16), [3], name="later")
        self.other = Graph("other").source("y", Tile(BF16, 4, 4), [2, 3])
        self.foreign = Graph("foreign").symbol("M")


def refused(make: Callable[[Given], Any]) -> StepError:
    """What is raised, which is no bare error of Python."""
    given = Given()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(StepError) as error:
            make(given)
    return error.value


def message(make: Callable[[Given], Any]) -> str:
    """What is refused, without the line of ``make``, which is in it where types do not fit."""
    error, line = refused(make), f"{HERE}:{make.__code__.co_firstlineno}"
    assert line in str(error) or not isinstance(error, TypeMismatch)
    return str(error).removeprefix(f"{line}: ").replace(line, "HERE")


SHAPES = [
    (lambda g: g.graph.source("z", Tile(BF16), 3),
     "source needs dims to be a list, each a Dim or an integer, not 3; did you mean [3]?"),
    (lambda g: g.graph.source("z", Tile(BF16), "N"),
     "source needs dims to be a list, each a Dim or an integer, not 'N'; did you mean [graph.symbol('N')]?"),
    (lambda g: g.graph.source("z", Tile(BF16), ["N"]),
     "source needs dims[0] to be a Dim or an integer, not 'N'; did you mean graph.symbol('N')?"),
    (lambda g: g.graph.source("z", Tile(BF16), [-3]), "a dimension must be an integer >= 0 or a symbol, not -3"),
    (lambda g: g.graph.source("z", Tile(BF16), {3: 4}),
     "source needs dims to be a list, each a Dim or an integer, not {3: 4}"),
    (lambda g: g.graph.source("z", Tile(BF16), [g.foreign]),
     "source 'z' (HERE): graph 'given' has no symbol M; declare it: graph.symbol('M')"),
    (lambda g: g.x.assume_shape(3),
     "assume_shape needs dims to be a list, each a Dim or an integer, not 3; did you mean [3]?"),
    (lambda g: g.later.stream.assume_shape([3]),
     "assume_shape(later): a feedback edge has the shape that it is declared with"),
    (lambda g: g.graph.refine(g.other, [3]), "y of graph 'other', which nobody writes in graph 'given'"),
    (lambda g: g.graph.tensor("t", (4, 10**30), BF16),
     f"tensor 't' must have at most {2**48:,} scalars, not {4 * 10**30:,}"),
    (lambda g: g.graph.symbol("K", ragged="yes"), "symbol needs ragged to be True or False, not 'yes'"),
    (lambda g: g.n + True, "N + True is no dimension: True is neither one nor an integer"),
    (lambda g: 2.5 * g.n, "2.5 * N is no dimension: 2.5 is neither one nor an integer"),
]  # fmt: skip

FORMATS = "dtype must be one of BF16, FP32, INT8, INT32, UINT32, BOOL, FP16, FP8_E4M3, FP8_E5M2, not "

TYPES = [
    (lambda g: Tile("BF15"), f"{FORMATS}'BF15'"),
    (lambda g: Cast("BF15"), f"{FORMATS}'BF15'"),
    (lambda g: g.graph.tensor("t", (4, 4), "BF15"), f"{FORMATS}'BF15'"),
    (lambda g: Tile(np.float32), f"{FORMATS}<class 'numpy.float32'>"),
    (lambda g: Tile(None), f"{FORMATS}None"),
    (lambda g: Tile(4, 4, BF16), f"{FORMATS}4"),
    (lambda g: Tile(BF16, -1, 3), "the rows of a tile must be an integer >= 1 or a symbol, not -1"),
    (lambda g: Tile(INT32, 0, 4), "the rows of a tile must be an integer >= 1 or a symbol, not 0"),
    (lambda g: Tile(BF16, 4, True), "the columns of a tile must be an integer >= 1 or a symbol, not True"),
    (lambda g: Tile(BF16, 4.0, 4), "the rows of a tile must be an integer >= 1 or a symbol, not 4.0"),
    (lambda g: Tile(BF16, "N"),
     "the rows of a tile must be an integer >= 1 or a symbol, not 'N'; did you mean graph.symbol('N')?"),
    (lambda g: Tile(BF16, row=4), "Tile has no parameter 'row'; did you mean 'rows'? it has dtype, rows, cols"),
    (lambda g: Tile(), "Tile needs dtype, which must be given"),
    (lambda g: Tile(BF16, 4, 4, 4), "Tile takes 3 arguments without a name, not 4"),
    (lambda g: Selector(10**30), f"a selector must have at most 65,536 targets, not {10**30:,}"),
    (lambda g: g.graph.source("z", Tile(BF16, g.n - g.n), [3]),
     "source 'z' (HERE): a tile must have rows and columns, but this is a stream of Tile(BF16, 0, 1)"),
    (lambda g: g.graph.feedback(Tile(BF16, g.n - g.n), [3], name="f"),
     "a tile must have rows and columns, but this is a stream of Tile(BF16, 0, 1)"),
    (lambda g: g.graph.source("z", Tile, [3]),
     "source needs element to be a Tile or a Selector or a Buffer or a Tuple, not the class Tile; did you mean "
     "Tile(dtype)?"),
]  # fmt: skip

FUNCTIONS = [
    (lambda g: g.x.map(Exp), "map needs function to be a MapFunction, not the class Exp; did you mean Exp()?"),
    (lambda g: g.x.map(Scale),
     "map needs function to be a MapFunction, not the class Scale; did you mean Scale(constant)?"),
    (lambda g: g.x.accum(Exp), "accum needs function to be an AccumFunction, not the class Exp"),
    (lambda g: g.x.map(), "map needs function, which must be given"),
    (lambda g: Scale(), "Scale needs constant, which must be given"),
    (lambda g: Scale(constan=2), "Scale has no parameter 'constan'; did you mean 'constant'? it has constant, out"),
    (lambda g: Scale("x"), "scale needs constant to be a number, not 'x'"),
    (lambda g: Matmul(out=3), "matmul needs out to be a DType, not 3"),
    (lambda g: Cast(INT8, FP32), "Cast takes 1 argument without a name, not 2; saturate must be given by name"),
    (lambda g: Compare("<", relation="<"), "Compare is given relation twice"),
    (lambda g: g.x.map(Scale(10**400)), f"scale needs constant to be a number, not {10**400}"),
    (lambda g: g.x.reshape(2, pad=10**400), f"reshape needs pad to be a number, not {10**400}"),
    (lambda g: g.row.map(TopK(0)),
     "map 'map_0' (HERE): top_k needs k to be 1 to 4, the scalars of Tile(FP32, 1, 4), not 0\n"
     "  input 0: row: [3] of Tile(FP32, 1, 4), from GIVEN"),
    (lambda g: g.small.map(Matmul(), g.small),
     "map 'map_0' (HERE): matmul of Tile(INT8, 4, 4), Tile(INT8, 4, 4) needs out to be INT32, not FP32\n"
     "  input 0: small: [3] of Tile(INT8, 4, 4), from GIVEN\n  input 1: small: [3] of Tile(INT8, 4, 4), from GIVEN"),
]  # fmt: skip

OPERATORS = [
    (lambda g: g.graph.source("", Tile(BF16), [3]),
     "a name must be letters, digits and underscores, and start with no digit, not ''"),
    (lambda g: g.x.map(Add(), 3), "map needs others to be a Stream, not 3"),
    (lambda g: g.x.map(Add(), g.x, out=FP32), "map has no parameter 'out'; it has function, name"),
    (lambda g: g.x.partition(g.which, 2),
     "partition takes 1 argument without a name, not 2; targets, rank, name must be given by name"),
    (lambda g: g.x.partition(g.which), "partition needs targets, which must be given"),
    (lambda g: g.x.promote(3), "promote takes no argument without a name, not 1; name must be given by name"),
    (lambda g: g.x.flatten(0, 1, low=0), "flatten is given low twice"),
    (lambda g: g.x.sink(None), "sink needs name to be a text, not None"),
    (lambda g: g.x.buffered("4"), "buffered needs depth to be an integer, not '4'"),
    (lambda g: g.x["a"], "__getitem__ needs index to be an integer, not 'a'"),
    (lambda g: list(g.x), "<stream x: [2, 3] of Tile(BF16, 4, 4)> can not be unpacked: only tuples have items"),
    (lambda g: g.x.store_random("w", g.x), "store_random needs tensor to be a Tensor, not 'w'"),
    (lambda g: g.x.bufferize().streamify(out=3), "streamify needs out to be a list, each an integer or None, not 3"),
    (lambda g: g.graph.load(g.w, tile=(4, 4), strides=(1,)),
     "load has no parameter 'strides'; did you mean 'stride'? it has tensor, tile, out, stride, offset, "
     "reference, name"),
    (lambda g: g.graph.load(g.w, tile=(4, 4), out="ab"),
     "load needs out to be a list, each an integer or None, not 'ab'"),
    (lambda g: g.graph.load(g.w, tile=(4, 4), out=[2.0]), "load needs out[0] to be an integer, not 2.0"),
    (lambda g: g.graph.load(g.w, tile=(4, 4), reference=3), "load needs reference to be a Stream or None, not 3"),
    (lambda g: g.graph.reassemble(g.x, g.which),
     "reassemble needs inputs to be a list, each a Stream, not <stream x: [2, 3] of Tile(BF16, 4, 4)>"),
    (lambda g: g.graph.eager_merge([g.x, 3]), "eager_merge needs inputs[1] to be a Stream, not 3"),
    (lambda g: g.graph.add(3), "add needs operator to be an Operator, not 3"),
    (lambda g: g.later.close(3), "close needs stream to be a Stream, not 3"),
    (lambda g: Graph("g", 3),
     "Graph takes 1 argument without a name, not 2; nodes, tensors, symbols, feedbacks, refinements, depths, most_rows "
     "must be given by name"),
    (lambda g: parallelize(g.x, 3, regions=2, rank=1), "parallelize needs body to be a function, not 3"),
    (lambda g: parallelize(g.x, lambda y: None, regions=2, rank=1),
     "parallelize 'parallel' (HERE): the body must make a stream, or two, not None"),
    (lambda g: parallelize(3, lambda y: y, regions=2), "parallelize needs data to be a Stream, not 3"),
]  # fmt: skip

PARAMETERS = [
    (lambda g: g.x.map(RetileRow()), "map needs function to be a MapFunction, not RetileRow()"),
    (lambda g: g.x.accum(SelectAll(2)), "accum needs function to be an AccumFunction, not SelectAll(targets=2)"),
    (lambda g: g.x.flat_map("rows"), "flat_map needs function to be a FlatMapFunction, not 'rows'"),
    (lambda g: g.x.reshape(2.0), "reshape needs chunk to be an integer, not 2.0"),
    (lambda g: g.x.reshape(2, rank="0"), "reshape needs rank to be an integer, not '0'"),
    (lambda g: g.x.reshape(2, pad="zero"), "reshape needs pad to be a number, not 'zero'"),
    (lambda g: g.x.flatten(0, None), "flatten needs high to be an integer, not None"),
    (lambda g: g.x.flatten(True, 1), "flatten needs low to be an integer, not True"),
    (lambda g: g.x.bufferize(rank=1.0), "bufferize needs rank to be an integer, not 1.0"),
    (lambda g: g.x.partition(g.graph.selectors("s", 2, [2]), targets="2"),
     "partition needs targets to be an integer, not '2'"),
    (lambda g: g.graph.reassemble([g.x, g.x], g.graph.selectors("s", 2, [2]), order="random"),
     "reassemble needs order to be \"arrival\" or \"index\", not 'random'"),
    (lambda g: g.graph.load("w", tile=(2, 2)), "load needs tensor to be a Tensor, not 'w'"),
    (lambda g: g.graph.load(Graph("other").tensor("w", (4, 4), BF16), tile=(2, 2)),
     "load needs a tensor of the graph, not Tensor(name='w', shape=(4, 4), dtype=BF16)"),
    (lambda g: g.x.load_random(g.w, tile=4), "load_random needs tile to be a list, each an integer, not 4"),
    (lambda g: g.graph.count([3], dtype=BF16), "counting needs integers, not BF16"),
    (lambda g: g.graph.source("z", "BF16", [3]),
     "source needs element to be a Tile or a Selector or a Buffer or a Tuple, not 'BF16'"),
    (lambda g: Selector("2"), "Selector needs targets to be an integer, not '2'"),
    (lambda g: Selector(0), "a selector must have at least one target, not 0"),
    (lambda g: Tuple((3,)),
     "Tuple needs items to be a tuple, each a Tile or a Selector or a Buffer or a Tuple, not (3,)"),
    (lambda g: Buffer(Tile(BF16), 4), "Buffer needs shape to be a tuple, each a Dim, not 4"),
    (lambda g: Scale(True), "scale needs constant to be a number, not True"),
    (lambda g: Compare(3), "compare needs relation to be a text, not 3"),
    (lambda g: Add(np.float32), "add needs out to be a DType or None, not the class float32"),
    (lambda g: ExpertTiles(4, True), "expert_tiles needs tiles to be an integer >= 1, not True"),
    (lambda g: ExpertTiles(4, 0), "expert_tiles needs tiles to be an integer >= 1, not 0"),
    (lambda g: ExpertTiles(4, 2, -1), "expert_tiles needs base to be an integer >= 0, not -1"),
    (lambda g: CacheRows(0), "cache_rows needs rows to be an integer >= 1, not 0"),
    (lambda g: CacheEnd(0, 3, 4), "cache_end needs requests to be an integer >= 1, not 0"),
    (lambda g: SelectAll(0), "select_all needs targets to be an integer >= 1, not 0"),
    (lambda g: RetileStreamify(chunk=0), "retile_streamify needs chunk to be an integer >= 1, not 0"),
]  # fmt: skip

GENERATED = [
    (lambda g: g.graph.generate(Tile(BF16), [[0, 1, 2, 3]], [4]),
     "[0, 1, 2, 3] is no Tile(BF16, 1, 1); it would be 1 list of 1 number"),
    (lambda g: g.graph.generate(Tile(BF16, 2, 3), [[0, 1]], [4]),
     "[0, 1] is no Tile(BF16, 2, 3); it would be 2 lists of 3 numbers"),
    (lambda g: g.graph.generate(Tile(BF16, g.n, 3), [[0, 1, 2]], [4]),
     "[0, 1, 2] is no Tile(BF16, N, 3); it would be a tile of static size"),
    (lambda g: g.graph.generate(Tile(BF16), "abc", [3]), "generate needs values to be a list or a range, not 'abc'"),
    (lambda g: g.graph.generate(Tile(BF16), ["a"], [3]), "a constant of BF16 must be numbers that BF16 has, not 'a'"),
    (lambda g: g.graph.generate(Selector(2), [[0, 1]], [3]),
     "[0, 1] is no Selector(2); it would be a mask from 0 to 3"),
    (lambda g: g.graph.generate(Selector(2), [True], [3]), "True is no Selector(2); it would be a mask from 0 to 3"),
    (lambda g: g.graph.constant([[300.5] * 64] * 64, [3], dtype=INT8),
     f"a constant of INT8 must be integers from -128 to 127, not [[{'300.5, ' * 11}3 .. {'300.5, ' * 4}300.5]]"),
    (lambda g: g.graph.generate(Tile(BF16, 8, 64), [[[0.5] * 64] * 64], [3]),
     f"[[{'0.5, ' * 15}0.5 .. {'0.5, ' * 6}0.5]] is no Tile(BF16, 8, 64); it would be 8 lists of 64 numbers"),
    (lambda g: g.graph.at("model.py:3"), "at needs location to be a Location, not 'model.py:3'"),
    (lambda g: g.graph.constant(None, [3]), "a constant of BF16 must be numbers that BF16 has, not None"),
    (lambda g: g.graph.constant(True, [3]), "a constant of BF16 must be numbers that BF16 has, not True"),
    (lambda g: g.graph.constant([[1], [2, 3]], [3]),
     "a constant of BF16 must be numbers that BF16 has, not [[1], [2, 3]]"),
    (lambda g: g.graph.constant(0.5, [3], dtype=INT8), "a constant of INT8 must be integers from -128 to 127, not 0.5"),
    (lambda g: g.graph.count([3], step=0), "counting needs a step other than 0"),
    (lambda g: g.graph.count([10**30]), f"{10**30 - 1} is no Tile(UINT32, 1, 1)"),
    (lambda g: g.graph.turns(2, [-1]), "Selector(2) has the targets 0 to 1, but no -1"),
    (lambda g: g.graph.turns(2, [[0, 2]]), "Selector(2) has the targets 0 to 1, but no 2"),
    (lambda g: g.graph.turns(2, [0, [1, 1]]), "[1, 1] selects target 1 twice; a selector has each target once"),
    (lambda g: g.graph.turns(10**30), f"a selector must have at most 65,536 targets, not {10**30:,}"),
]  # fmt: skip

FABRIC = "dynamic_rows, matmul_lanes, vector_lanes, stages, link_bytes, channel_depth, hop, block_ram_words, outstanding, scratchpad_bytes, scratchpad_banks, scratchpad_ports, page_bytes, memory, arithmetic, lanes, links, cuts, hops, machine, mhz"  # noqa: E501
MEMORY = "beat_bytes, channels, interval, latency, interleave, dram, bus"
HBM2 = PRESETS["hbm2"].dram
assert HBM2 is not None

FABRICS = [
    (lambda g: FabricConfig(lane=4), f"FabricConfig has no parameter 'lane'; did you mean 'lanes'? it has {FABRIC}"),
    (lambda g: FabricConfig(links=[8]), "links must be an object of numbers by the names of operators, not [8]"),
    (lambda g: FabricConfig(links={"gate": 24}), "links.gate must be a power of two, not 24"),
    (lambda g: FabricConfig(lanes=4), "lanes must be an object of numbers by the names of operators, not 4"),
    (lambda g: FabricConfig(stage=4), f"FabricConfig has no parameter 'stage'; did you mean 'stages'? it has {FABRIC}"),
    (lambda g: FabricConfig(*range(1, 23)), "FabricConfig takes 21 arguments without a name, not 22"),
    (lambda g: FabricConfig(dynamic_rows=0), "dynamic_rows must be an integer >= 1, not 0"),
    (lambda g: FabricConfig(dynamic_rows=10**9), "dynamic_rows must be at most 65,536, not 1,000,000,000"),
    (lambda g: FabricConfig(stages=True), "stages must be an integer >= 1, not True"),
    (lambda g: FabricConfig(stages=np.float64(8)), "stages must be an integer >= 1, not 8.0"),
    (lambda g: MemoryConfig(latency="3"), "memory.latency must be an integer >= 1, not '3'"),
    (lambda g: FabricConfig(memory={"latency": 3}), "memory must be a MemoryConfig, not {'latency': 3}"),
    (lambda g: FabricConfig(memory="hbm2"), "memory must be a MemoryConfig, not 'hbm2'"),
    (lambda g: MemoryConfig(bandwidth=4), f"MemoryConfig has no parameter 'bandwidth'; it has {MEMORY}"),
    (lambda g: MemoryConfig.preset(["hbm2"]), "preset needs name to be a text, not ['hbm2']"),
    (lambda g: MemoryConfig.preset("hbm2", chanels=2),
     f"MemoryConfig has no parameter 'chanels'; did you mean 'channels'? it has {MEMORY}"),
    (lambda g: Dram(**{**vars(HBM2), "trfc": 10**30}),
     f"memory.dram.trfc must be at most 1,099,511,627,776, not {10**30:,}"),
    (lambda g: step.metrics(g.graph, accounting="papers"),
     "metrics needs accounting to be \"paper\" or \"artifact\", not 'papers'"),
    (lambda g: step.metrics(g.graph, fabrics=3),
     "metrics has no parameter 'fabrics'; did you mean 'fabric'? it has program, fabric, accounting"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), [*SHAPES, *TYPES, *FUNCTIONS, *OPERATORS, *PARAMETERS, *GENERATED])
def test_a_mistake_in_a_program(make: Callable[[Given], Any], text: str) -> None:
    assert re.sub(rf"{re.escape(HERE)}:\d+", "GIVEN", message(make)) == text


@pytest.mark.parametrize(("make", "text"), FABRICS)
def test_a_mistake_in_a_configuration(make: Callable[[Given], Any], text: str) -> None:
    assert message(make).removeprefix(f"{HERE}:") == text


@cases(
    ({"N": -3}, InputError, "symbol 'N' must be an integer >= 0, not -3"),
    ({"N": 2.5}, InputError, "symbol 'N' must be an integer >= 0, not 2.5"),
    ({"N": True}, InputError, "symbol 'N' must be an integer >= 0, not True"),
    ({"N": "3"}, InputError, "symbol 'N' must be an integer >= 0, not '3'"),
    ({"N": None}, InputError, "symbol 'N' must be an integer >= 0, not None"),
    ({"M": 3}, UnboundSymbol, "the program has no symbol 'M'; it has N, Rows"),
    ({"rows": 3}, UnboundSymbol, "the program has no symbol 'rows'; did you mean 'Rows'? it has N, Rows"),
    ({3: 3}, UnboundSymbol, "the program has no symbol 3; it has N, Rows"),
    ([3], TypeMismatch, "bind needs values to be a dictionary, by name, not [3]"),
)
def test_values_of_symbols(values: Any, kind: type[ProgramError], text: str, graph: Graph) -> None:
    graph.symbol("N")
    graph.source("x", Tile(BF16), [graph.symbol("Rows")]).store("y")
    measured = step.metrics(graph)
    with pytest.raises(kind) as error:
        measured.bind(values)
    assert re.sub(rf"^{re.escape(HERE)}:\d+: ", "", str(error.value)) == text


def test_symbols_take_numbers_of_numpy(graph: Graph) -> None:
    graph.source("x", Tile(BF16), [graph.symbol("N")]).store("y")
    assert step.metrics(graph).bind({"N": np.int64(3)}) == step.metrics(graph).bind({"N": 3})


def test_a_static_reduction_of_nothing_makes_no_tile() -> None:
    x = Graph("given").source("x", Tile(BF16), [2, 0])
    with pytest.raises(
        TypeMismatch, match=r"a tile must have rows and columns, but this is a stream of Tile.BF16, 0, 1"
    ):
        x.accum(RetileRow())


def test_a_dynamic_tile_may_have_no_rows(graph: Graph) -> None:
    rows = graph.source("x", Tile(UINT32), [2, graph.symbol("N", ragged=True)])
    rows.accum(RetileRow()).sink("y")
    outputs = step.interpret(graph, {"x": [[1, 2], []]}).outputs
    assert [token.value.shape for token in outputs["y"] if token.has_value] == [(2, 1), (0, 1)]


@cases(
    (Tile(BF16, 1, 4), [[0, 1, 2, 3]]),
    (Tile(BF16, 1, 4), [[[0, 1, 2, 3]]]),
    (Tile(BF16, 1, 4), np.arange(4.0).reshape(1, 1, 4)),
    (Tile(BF16, 1, 4), np.arange(4, dtype=BF16.numpy).reshape(1, 4)),
)
def test_constants_as_people_write_them(element: Tile, values: Any) -> None:
    stream = Graph("given").generate(element, values, [2])
    assert Graph("given").generate(element, (((0.0, 1.0, 2.0, 3.0),),), [2]).type == stream.type
    assert stream.graph.nodes["generate_0"].operator.values == (((0.0, 1.0, 2.0, 3.0),),)  # type: ignore[attr-defined]


def test_the_line_is_that_of_the_user_and_stands_once() -> None:
    """An error that a call inside of a call raises has the outer line; one that has it already keeps it alone."""

    @checked
    def outer(size: int) -> Tile:
        return inner(size)

    def inner(size: int) -> Tile:
        return Tile(BF16, size)

    with pytest.raises(TypeMismatch) as error:
        outer(-1)
    assert str(error.value).count(HERE) == 2  # `inner` and this test are both of the user
    with pytest.raises(TypeMismatch) as again:
        Graph("a").source("x", Tile(BF16), [2]).accum(Add())
    assert str(again.value).count(HERE) == 2  # of the operator, and of its input


@cases(
    (lambda: with_settings(FabricConfig(), ["tile=8"]),
     "fabric has no parameter 'tile' any more: a tile of static size may have any shape; leave it out, or give "
     "dynamic_rows, the most rows of a tile of dynamic size"),
    (lambda: FabricConfig.from_json(3), "fabric must be an object of parameters, not 3"),  # type: ignore[arg-type]
)  # fmt: skip
def test_a_fabric_of_a_file_has_no_line(make: Callable[[], Any], text: str) -> None:
    assert raised(FabricError, make) == text
