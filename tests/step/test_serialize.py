"""Programs as files: round trips of every scenario and example, and files that are wrong."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy
from approx import random_graphs
from cases import cases
from filing import filed
from raising import raised
from running import NUMBER, Bench, value_of
from scenarios import FABRIC, Scenario, one_of

from step import bits
from step.errors import (
    Deadlock,
    FabricError,
    FormatError,
    GraphError,
    InputError,
    ProgramError,
    StepError,
    StreamFault,
    TypeMismatch,
)
from step.functions import Add, RetileRow
from step.language.dims import Dim, DimKind, shape
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32
from step.language.function import FUNCTIONS
from step.language.graph import Graph
from step.language.operator import OPERATORS
from step.language.tokens import DONE, Token, parse
from step.language.types import Buffer, Selector, Tile, Tuple
from step.lowering.dram import PRESETS, Dram
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.data.equality import same
from step.programs.data.inputs import bind_inputs
from step.programs.files.serialize import graph_to_json
from step.programs.program import Program, load_program
from step.running.interpreter import interpret


def reloaded(program: Program, directory: Path) -> Program:
    program.save(directory / "saved.json")
    return load_program(str(directory / "saved.json"))


def assert_survives(program: Program, directory: Path) -> None:
    """What is loaded equals what was saved, means the same, and saves to the same files."""
    again = reloaded(program, directory)
    assert again == program
    assert [str(each.type) for each in again.graph.streams()] == [str(each.type) for each in program.graph.streams()]
    assert {name: (each.dim, str(each.born), each.of) for name, each in again.graph.symbols.items()} == {
        name: (each.dim, str(each.born), each.of) for name, each in program.graph.symbols.items()
    }
    assert again.name == program.name
    first = {path.name: path.read_bytes() for path in directory.iterdir()}
    again.save(directory / "saved.json")
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == first


def assert_same_outputs(first: Program, second: Program) -> None:
    outputs = [interpret(each.graph, each.inputs).outputs for each in (first, second)]
    assert list(outputs[0]) == list(outputs[1])
    assert all(same(tokens, outputs[1][name]) for name, tokens in outputs[0].items())


@pytest.mark.parametrize("scenario", one_of(5))
def test_every_scenario_is_loaded_as_it_was_saved(scenario: Scenario, tmp_path: Path) -> None:
    graph = Graph("scenario")
    program = Program(graph, scenario.build(graph), FABRIC)
    assert_survives(program, tmp_path)
    assert_same_outputs(program, load_program(str(tmp_path / "saved.json")))


EXAMPLES = Path(__file__).parents[2] / "examples"


@cases(
    "moe_simple.py", "swiglu.py", "moe_mixtral.py", "moe_mixtral.py:dynamic", "moe_multiplexed.py",
    "attention.py:interleaved", "attention.py:parallel", "attention.py:small",
    "softmax.py", "softmax.py:online", "norm_qkv.py",
)  # fmt: skip
def test_every_example_is_loaded_as_it_was_saved(spec: str, tmp_path: Path) -> None:
    program = load_program(str(EXAMPLES / spec))
    assert program.expected and program.tolerance > 0
    assert_survives(program, tmp_path)
    assert_same_outputs(program, load_program(str(tmp_path / "saved.json")))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved.expected.npz", "saved.json", "saved.npz"]


def test_random_programs_are_loaded_as_they_were_saved(tmp_path: Path) -> None:
    """Those of the timing tests; data that breaks a promise of a source is refused when it is saved."""
    saved = 0
    for seed in range(40):
        drawn = random_graphs.Program(Random(seed))
        with suppress(StreamFault, Deadlock):  # found while it is built: what there is by then is a program, too
            drawn.build(8)
        program = Program(drawn.graph, drawn.inputs, drawn.fabric)
        try:
            bind_inputs(drawn.graph, drawn.inputs)
        except InputError as error:
            with pytest.raises(InputError, match=f"^{re.escape(str(error))}$"):
                program.save(tmp_path / "refused.json")
        else:
            assert_survives(program, tmp_path)
            saved += 1
    assert saved >= 25 and not (tmp_path / "refused.json").exists()


def test_programs_differ_in_what_they_differ() -> None:
    def program(**changes: Any) -> Program:
        graph = Graph(changes.pop("name", "g"))
        x = graph.source("x", changes.pop("element", NUMBER), [3])
        x.buffered(changes.pop("depth", 2)).sink("y")
        return Program(graph, **{"inputs": {"x": [1, 2, 3]}, **changes})

    assert program() == program() == program(inputs={"x": np.array([1, 2, 3])}, fabric=FabricConfig())
    assert program(inputs={}) == program(inputs={})
    assert program(expected={"y": np.zeros(3)}) == program(expected={"y": [0, 0, 0]})
    for change in (
        {"name": "h"}, {"element": Tile(FP32)}, {"depth": 3}, {"inputs": {}}, {"inputs": {"x": [1, 2, 4]}},
        {"fabric": FabricConfig(stages=1)}, {"tolerance": 0.5}, {"expected": {"y": np.zeros(3)}},
    ):  # fmt: skip
        assert program() != program(**change), change
    assert program() != 7


# -- what is hard to save -------------------------------------------------------------------------------------------


def derived(kind: str) -> Program:
    """A program that has a dimension derived from a symbol in its declarations."""
    graph = Graph("derived")
    n, r = graph.symbol("N"), graph.symbol("R", ragged=True)
    x = graph.source("x", NUMBER, [n])
    if kind == "ceiling":
        x.promote().sink("p")
        graph.selectors("s", 2, [x.reshape(3)[0].shape[0]]).sink("y")
        return Program(graph, {"x": list(range(7)), "s": [0, 1, [0, 1]]})
    if kind == "min":
        graph.source("s", NUMBER, [x.promote().shape[0]]).sink("y")
        return Program(graph, {"x": list(range(7)), "s": [3]})
    if kind == "min of ragged":
        rows = graph.source("rows", NUMBER, [r])
        graph.source("s", NUMBER, [rows.promote().shape[0]]).sink("y")
        return Program(graph, {"x": [], "rows": [1, 2], "s": [3]})
    if kind == "square":
        square = graph.source("s", NUMBER, [n, n]).flatten(0, 1)
        graph.source("t", NUMBER, square.shape).sink("y")
        return Program(graph, {"x": [1, 2], "s": [[1, 2], [3, 4]], "t": [1, 2, 3, 4]})
    if kind == "nothing":
        none = graph.source("s", NUMBER, [n, 0]).flatten(0, 1)
        graph.source("t", NUMBER, none.shape).sink("y")
        return Program(graph, {"x": [1], "s": [[]], "t": []})
    if kind == "assumed":
        route = x.partition(graph.selectors("s", 2, [n]), targets=2, name="route")
        route[0].assume_shape([x.reshape(3)[0].shape[0]]).sink("y")
        return Program(graph, {"x": list(range(4)), "s": [0, 1, 1, 0]})
    if kind == "feedback":
        route = x.partition(graph.selectors("s", 2, [n]), targets=2, name="route")
        first = graph.feedback(NUMBER, [route[0].shape[0]], name="first")
        second = graph.feedback(NUMBER, route[1].reshape(2)[0].shape, name="second")
        first.close(route[0])
        second.stream.sink("y")
        first.stream.sink("z")
        second.close(route[1].reshape(2)[0])
        return Program(graph, {"x": list(range(4)), "s": [0, 1, 1, 0]})
    if kind == "mean":
        some = graph.source("s", NUMBER, [n, r]).accum(RetileRow())
        kept = graph.feedback(some.element, [n], name="kept")
        kept.stream.sink("y")
        kept.close(some)
        return Program(graph, {"x": [1, 2], "s": [[1, 2, 3], [4]]})
    assert kind == "tile"
    graph.source("t", Tile(BF16, x.reshape(3)[0].shape[0], 2), [n]).sink("y")
    return Program(graph, {"x": [1, 2], "t": np.ones((2, 1, 2))})


@cases("ceiling", "min", "min of ragged", "square", "nothing", "assumed", "feedback", "mean", "tile")
def test_derived_dimensions(kind: str, tmp_path: Path) -> None:
    program = derived(kind)
    assert_survives(program, tmp_path)
    assert_same_outputs(program, load_program(str(tmp_path / "saved.json")))


def test_an_extent_as_data(tmp_path: Path) -> None:
    (source,) = (each for each in graph_to_json(derived("ceiling").graph)["nodes"] if each["name"] == "s")
    third = {"mul": [{"fraction": [1, 3]}, {"symbol": "N"}]}
    assert source["parameters"]["shape"] == [{"dynamic": {"ceiling": [third]}}]


def test_a_graph_and_an_operator_of_the_same_name(tmp_path: Path) -> None:
    """The symbols of the operator are not taken for those that the program declares."""
    graph = Graph("route")
    n = graph.symbol("N")
    x = graph.source("x", NUMBER, [n])
    for port, each in enumerate(x.partition(graph.selectors("s", 2, [n]), targets=2, name="route")):
        each.sink(f"y{port}")
    assert_survives(Program(graph), tmp_path)


@pytest.mark.parametrize("pad", [-np.inf, np.inf, np.nan, np.float32(0.5), 3])
def test_parameters_of_all_sorts(pad: Any, tmp_path: Path, graph: Graph) -> None:
    graph.source("x", Tile(FP32), [5]).reshape(2, pad=pad)[0].sink("y")
    assert_survives(Program(graph), tmp_path)
    json.loads((tmp_path / "saved.json").read_text(), parse_constant=lambda text: pytest.fail(text))


@cases(
    (lambda n: sympy.Mod(n, 2), DimKind.DYNAMIC,
     "the extent Mod(N, 2) can not be saved: it must be made of numbers and symbols by "
     "add, mul, min, max, ceiling, floor"),
    (lambda n: 2 * n, DimKind.RAGGED,
     "the dimension 2*N can not be saved: a ragged one must be a symbol, or a mean of several tensors"),
    (lambda n: 1 / n, DimKind.RAGGED,
     "the dimension 1/N can not be saved: a ragged one must be a symbol, or a mean of several tensors"),
)  # fmt: skip
def test_dimensions_that_can_not_be_saved(
    extent: Any, kind: DimKind, message: str, tmp_path: Path, graph: Graph
) -> None:
    graph.source("x", NUMBER, [Dim(extent(graph.symbol("N").extent), kind)]).sink("y")
    error = raised(ProgramError, lambda: Program(graph).save(tmp_path / "p.json"))
    assert error == message and list(tmp_path.iterdir()) == []


PAIR = Tuple((Tile(INT32), Tuple((Selector(2), Tile(BF16, 1, 2)))))
SOURCES = [
    ("1 2 S1 E1 3 S1 D", Tile(INT32), ["N", "R"]),
    ("1 2 S1 E1 3 S1 D", Tile(BF16, 2, 3), ["N", "R"]),
    ("E2 E1 1 S1 E1 S2 E2 D", Tile(FP32, 1, 2), ["N", "M", "R"]),
    ("1 2 S1 3 4 S2 5 6 S1 7 8 S2 D", Tile(BF16, 1, 2), ["N", "M", "R"]),
    ("1 0 D", Tile(BOOL, 2, 2), ["N"]),
    ("7 D", Tile(INT8), ["N"]),
    ("D", Tile(BF16), ["N"]),
    ("D", Tile(BF16), ["N", 3]),
    ("E1 E1 D", Tile(BF16, 2, 2), ["N", "R"]),
    ("E1 S2 E2 D", Tile(BF16, 2, 2), ["N", "R", "Q"]),
    ("0 5 S1 E1 15 S1 D", Selector(4), ["N", "R"]),
    ("0 2 S1 2 1 S1 D", Selector(2), ["N", "R"]),
    ("E1 D", Selector(11), ["N", "R"]),
    ("1 2 S1 E1 3 S1 D", PAIR, ["N", "R"]),
    ("D", PAIR, ["N"]),
]


def element_of(number: int, element: Any) -> Any:
    if isinstance(element, Tuple):
        return tuple(element_of(number, each) for each in element.items)
    return value_of(number, element)


@pytest.mark.parametrize(("text", "element", "dims"), SOURCES)
def test_input_data_survives_a_round_trip(
    text: str, element: Any, dims: list[str], tmp_path: Path, bench: Bench
) -> None:
    stream = bench.graph.source("x", element, bench.dims(dims))
    stream.sink("y")
    tokens = [t._replace(value=element_of(t.value, element)) if t.has_value else t for t in parse(text)]
    assert_survives(Program(bench.graph, {"x": tokens}), tmp_path)


def test_tiles_of_several_sizes(tmp_path: Path) -> None:
    bench = Bench(N=False, R=True, K=True)
    n, r, k = bench.symbols.values()
    bench.graph.source("x", Tile(BF16, k, 2), [n, r]).sink("y")
    rows = [[np.ones((2, 2)), np.zeros((0, 2))], [], [np.full((1, 2), 3)]]
    assert_survives(Program(bench.graph, {"x": rows}), tmp_path)
    with np.load(tmp_path / "saved.npz") as archive:
        assert {name: each.tolist() for name, each in archive.items()} == {
            "x.values.bits": [0x3F80] * 4 + [0x4040] * 2,
            "x.values.tiles": [[2, 2], [0, 2], [1, 2]],
            "x.extents.0": [2, 0, 1],
        }


def test_numbers_that_are_none_survive(tmp_path: Path, graph: Graph) -> None:
    for dtype in (BF16, FP32):
        graph.load(graph.tensor(dtype.name, (1, 4), dtype), tile=(1, 4)).sink(f"y{dtype}")
    patterns = {
        "BF16": bits(np.array([[0x7F80, 0xFF81, 0x8000, 1]], np.uint16)),
        "FP32": bits([[0x7F800000, 0xFFC00001, 0x80000000, 1]]),
    }
    assert_survives(Program(graph, patterns), tmp_path)


def test_what_is_expected_is_saved(tmp_path: Path, graph: Graph) -> None:
    graph.source("x", Tile(BF16), [2]).sink("y")
    program = Program(graph, {"x": [1.5, 2.0]}, expected={"y": np.array([1.5, 2.0])}, tolerance=2**-8)
    again = reloaded(program, tmp_path)
    assert again == program and again.tolerance == 2**-8 and again.expected["y"].tolist() == [1.5, 2.0]
    other = load_program(str(tmp_path / "saved.json"), tmp_path / "saved.npz")
    assert (other.expected, other.tolerance) == ({}, 0.0), "other data, other outputs"


def test_bf16_is_stored_as_bits(tmp_path: Path, graph: Graph) -> None:
    graph.load(graph.tensor("a", (1, 2), BF16), tile=(1, 2)).store("y")
    Program(graph, {"a": np.array([[1.0, -2.5]])}).save(tmp_path / "p.json")
    with np.load(tmp_path / "p.npz") as archive:
        (key,) = archive
        assert key == "a.bits" and archive[key].dtype == np.uint16 and archive[key].tolist() == [[0x3F80, 0xC020]]


def test_a_program_without_data_has_no_data_file(tmp_path: Path, bench: Bench) -> None:
    bench.source("x", "D", [1]).sink("y")
    Program(bench.graph).save(tmp_path / "p.json")
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]
    assert load_program(str(tmp_path / "p.json")).inputs == {}


def test_buffers_can_not_be_saved_as_data(tmp_path: Path, graph: Graph) -> None:
    graph.source("x", Buffer(NUMBER, shape([2])), [1]).sink("y")
    error = raised(StepError, lambda: Program(graph, {"x": [Token(()), DONE]}).save(tmp_path / "p.json"))
    assert error == "input 'x': a stream of Buffer(Tile(INT32, 1, 1), [2]) can not be saved"
    assert list(tmp_path.iterdir()) == []


def test_fabric_and_feedback_and_depth_and_refinement_are_kept(tmp_path: Path) -> None:
    graph = Graph("all")
    n = graph.symbol("N")
    edge = graph.feedback(Tile(FP32), [n], name="back")
    x = graph.source("x", Tile(FP32), [n])
    y = x.map(Add(), edge.stream.buffered(5), name="y")
    edge.close(y)
    first, _ = y.partition(graph.selectors("which", 2, [n]), targets=2, name="route")
    first.assume_shape([n]).sink("out")
    fabric = FabricConfig(channel_depth=3, memory=MemoryConfig.preset("hbm2", channels=2, latency=7))
    program = Program(graph, fabric=fabric)
    again = reloaded(program, tmp_path)
    assert again == program and again.fabric == fabric
    data = graph_to_json(again.graph)
    assert data["feedbacks"] == [
        feedback(name="back", element={"tile": ["FP32", 1, 1]}, shape=[{"symbol": "N"}], stream="y",
                 source=str(edge.location))
    ]  # fmt: skip
    assert data["nodes"][1]["inputs"] == [{"stream": "x"}, {"stream": "back", "depth": 5}]
    assert data["refinements"] == [{"stream": "route.0", "shape": [{"symbol": "N"}]}]
    assert again.graph.feedbacks["back"].source is not None


# -- files that are wrong -------------------------------------------------------------------------------------------


def written() -> dict[str, Any]:
    """A small program as data: x -> rows -> joined -> y, and a routed copy."""
    bench = Bench(N=False)
    n = bench.symbols["N"]
    x = bench.source("x", "D", [2, n])
    x.flatten(0, 1, name="flat").sink("z")
    x.accum(RetileRow(), name="joined").sink("y")
    bench.graph.tensor("a", (4, 4), BF16)
    graph = graph_to_json(bench.graph)
    for each in [*graph["nodes"], *graph["symbols"]]:
        each["source"] = "p.py:7"
    parts = {"inputs": None, "expected": None, "tolerance": 0.0, "fabric": FabricConfig().to_json()}
    return {"format": "step-program-2", **parts, "graph": graph}


def refused(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> StepError:
    data = copy.deepcopy(written())
    change(data)
    path = filed(tmp_path / "p.json", json.dumps(data))
    with pytest.raises(StepError) as error:
        load_program(str(path))
    return error.value


def node(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in data["graph"]["nodes"] if each["name"] == name)


def feedback(**parts: Any) -> dict[str, Any]:
    """An edge "f" as data, with some parts replaced."""
    plain = {"name": "f", "element": {"tile": ["BF16", 1, 1]}, "shape": [1], "stream": None, "source": "p.py:7"}
    return {**plain, **parts}


def test_the_file_that_is_changed_below_is_right(tmp_path: Path) -> None:
    path = filed(tmp_path / "p.json", json.dumps(written()))
    assert graph_to_json(load_program(str(path)).graph) == written()["graph"]


FORMATS = "dtype must be one of BF16, FP32, INT8, INT32, UINT32, BOOL, FP16, FP8_E4M3, FP8_E5M2, not "
WRONG: list[tuple[Callable[[dict[str, Any]], Any], type[StepError], str]] = [
    (lambda d: d.pop("format"), FormatError, "$: 'format' is a required property"),
    (lambda d: d.update(format="mine-2"), FormatError, "$.format: 'step-program-2' was expected"),
    (lambda d: d.update(extra=1), FormatError, "$: Additional properties are not allowed ('extra' was unexpected)"),
    (lambda d: d.update(inputs=3), FormatError, "$.inputs: 3 is not of type 'string', 'null'"),
    (lambda d: d["graph"].pop("nodes"), FormatError, "$.graph: 'nodes' is a required property"),
    (lambda d: d["graph"].update(name="a b"), FormatError,
     "$.graph.name: 'a b' does not match '^[A-Za-z_][A-Za-z0-9_]*$'"),
    (lambda d: node(d, "flat").update(name="1"), FormatError,
     "$.graph.nodes[1].name: '1' does not match '^[A-Za-z_][A-Za-z0-9_]*$'"),
    (lambda d: node(d, "flat").pop("op"), FormatError, "$.graph.nodes[1]: 'op' is a required property"),
    (lambda d: node(d, "z")["inputs"][0].update(depth=1), FormatError,
     "$.graph.nodes[2].inputs[0].depth: 1 is less than the minimum of 2"),
    (lambda d: d["graph"]["tensors"][0].update(shape=[4]), FormatError, "$.graph.tensors[0].shape: [4] is too short"),
    (lambda d: d["graph"]["symbols"][0].update(ragged="no"), FormatError,
     "$.graph.symbols[0].ragged: 'no' is not of type 'boolean'"),
    (lambda d: node(d, "flat").update(op="flatn"), FormatError, "op must be one of <operators>, not 'flatn'"),
    (lambda d: node(d, "flat")["parameters"].update(mid=1), FormatError,
     "flatten has no parameter 'mid'; it has high, low"),
    (lambda d: node(d, "joined")["parameters"]["function"].update(function="os_system"), FormatError,
     "function must be one of <functions>, not 'os_system'"),
    (lambda d: node(d, "joined")["parameters"]["function"]["parameters"].update(n=1), FormatError,
     "retile_row has no parameter 'n'; it has none"),
    (lambda d: node(d, "joined")["parameters"]["function"].pop("parameters"), FormatError,
     "a parameter can not be {'function': 'retile_row'}"),
    (lambda d: node(d, "x")["parameters"].update(shape=[2, {"symbol": "M"}]), FormatError,
     "symbol 'M' is used before it is declared"),
    (lambda d: node(d, "x")["parameters"].update(element={"tile": ["FP8", 1, 1]}), FormatError,
     f"{FORMATS}'FP8'"),
    (lambda d: node(d, "x")["parameters"].update(element={"lambda": "x"}), FormatError,
     "a parameter can not be {'lambda': 'x'}"),
    (lambda d: d["graph"]["tensors"][0].update(dtype="float"), FormatError, f"{FORMATS}'float'"),
    (lambda d: node(d, "z").update(inputs=[{"stream": "gone"}]), GraphError,
     "sink 'z' (p.py:7) reads 'gone', which nobody writes"),
    (lambda d: node(d, "flat").update(inputs=[{"stream": "joined"}]), GraphError,
     "flatten 'flat' (p.py:7) reads 'joined', which is written only after it: "
     "these operators form a cycle without a declared feedback edge"),
    (lambda d: node(d, "z").update(name="y"), GraphError, "the name 'y' is used twice: p.py:7 and p.py:7"),
    (lambda d: node(d, "flat")["outputs"][0].update(shape="[2, N]"), TypeMismatch,
     "flatten 'flat' (p.py:7): the file says that output 0 is {'shape': '[2, N]', 'element': 'Tile(INT32, 1, 1)'}, "
     "but it is {'shape': '[2*N]', 'element': 'Tile(INT32, 1, 1)'}"),
    (lambda d: node(d, "flat")["parameters"].update(high=4), TypeMismatch,
     "flatten 'flat' (p.py:7): high must be 1 to 1 here, not 4\n"
     "  input 0: x: [2, N] of Tile(INT32, 1, 1), from p.py:7"),
    (lambda d: d["graph"]["feedbacks"].append(feedback(stream="gone")), GraphError,
     "feedback 'f' comes from 'gone', which nobody writes"),
    (lambda d: d["graph"]["refinements"].append({"stream": "gone", "shape": [1]}), GraphError,
     "the shape of 'gone' is assumed, but nobody writes that stream"),
    (lambda d: d["fabric"].update(stage=4), FabricError,
     "fabric has no parameter 'stage'; did you mean 'stages'? "
     "it has arithmetic, block_ram_words, channel_depth, cuts, dynamic_rows, hop, hops, lanes, link_bytes, links, "
     "machine, matmul_lanes, memory, mhz, outstanding, page_bytes, scratchpad_banks, scratchpad_bytes, "
     "scratchpad_ports, "
     "stages, vector_lanes"),
    (lambda d: d["fabric"].update(tile=16), FabricError,
     "fabric has no parameter 'tile' any more: a tile of static size may have any shape; leave it out, or give "
     "dynamic_rows, the most rows of a tile of dynamic size"),
    (lambda d: d["fabric"]["memory"].update(banks=4), FabricError,
     "fabric memory has no parameter 'banks'; it has beat_bytes, bus, channels, dram, interleave, interval, latency"),
    (lambda d: d["fabric"].update(memory=5), FabricError,
     "memory must be the name of a preset or an object of parameters, not 5"),
    (lambda d: d["fabric"].update(memory="hbm9"), FabricError,
     "memory must be one of plain, hbm2, hbm2_2gb, ddr4, hbm3, hbm3e, hbm2_alveo, hbm2e_alveo, not 'hbm9'"),
    (lambda d: d["fabric"]["memory"].update(latency=float("nan")), FabricError,
     "memory.latency must be an integer >= 1, not nan"),
    (lambda d: d["fabric"]["memory"].update(dram="hbm2"), FabricError,
     "memory.dram must be an object of parameters or null, not 'hbm2'"),
    (lambda d: d["fabric"]["memory"].update(dram={"cl": 4}), FabricError,
     "fabric memory.dram has no 'fabric_ps'; a DRAM needs all of its parameters"),
    (lambda d: d["fabric"]["memory"].update(dram={"rcd": 4}), FabricError,
     "fabric memory.dram has no parameter 'rcd'; did you mean 'trcd'? "
     f"it has {', '.join(sorted(each.name for each in fields(Dram)))}"),
    (lambda d: d["fabric"]["memory"].update(dram={**asdict(PRESETS["ddr4"].dram), "cl": -2}), FabricError,
     "memory.dram.cl must be an integer >= 1, not -2"),
    (lambda d: d["fabric"].update(stages="big"), FabricError, "stages must be an integer >= 1, not 'big'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "message"), WRONG)
def test_what_schema_and_types_refuse(change: Any, kind: type[StepError], message: str, tmp_path: Path) -> None:
    error = refused(tmp_path, change)
    for what, known in (("<operators>", OPERATORS), ("<functions>", FUNCTIONS)):
        message = message.replace(what, ", ".join(sorted(known)))  # those of the experiments too, if they were imported
    where = f"{tmp_path / 'p.json'}: " if kind is FormatError else ""
    assert (type(error), str(error)) == (kind, where + message)


JUNK: list[Any] = ["__import__('os').system('touch pwned')", "2*N", -1, 1.5, None, True, [], [1], {}, {"symbol": 3}]
PLACES: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "shape": lambda data, junk: node(data, "x")["parameters"].update(shape=[2, junk]),
    "low": lambda data, junk: node(data, "flat")["parameters"].update(low=junk),
    "function": lambda data, junk: node(data, "joined")["parameters"].update(function=junk),
    "element": lambda data, junk: node(data, "x")["parameters"].update(element=junk),
    "rank": lambda data, junk: node(data, "joined")["parameters"].update(rank=junk),
    "rows": lambda data, junk: node(data, "x")["parameters"].update(element={"tile": ["INT32", junk, 1]}),
    "feedback shape": lambda data, junk: data["graph"]["feedbacks"].append(feedback(shape=[junk], source="")),
    "feedback element": lambda data, junk: data["graph"]["feedbacks"].append(feedback(element=junk, source="")),
    "refinement": lambda data, junk: data["graph"]["refinements"].append({"stream": "flat", "shape": [junk]}),
}


@pytest.mark.parametrize("junk", JUNK, ids=repr)
@pytest.mark.parametrize("place", PLACES)
def test_junk_is_refused_and_never_evaluated(place: str, junk: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Whatever stands where a parameter should be ends in an error that says so, not in a Python exception."""
    monkeypatch.chdir(tmp_path)
    refused(tmp_path, lambda data: PLACES[place](data, junk))
    assert not (tmp_path / "pwned").exists()


@cases(
    (b"", "is no JSON: Expecting value: line 1 column 1 (char 0)"),
    (b"\xff\xfe", "is no JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
)
def test_what_is_no_json(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    assert raised(FormatError, lambda: load_program(str(path))) == f"{path} {message}"


@pytest.mark.parametrize("part", ["inputs", "expected"])
def test_a_missing_data_file(part: str, tmp_path: Path) -> None:
    error = refused(tmp_path, lambda d: d.update({part: "gone.npz"}))
    assert isinstance(error, FormatError) and str(error) == f"there is no file '{tmp_path}/gone.npz'"


NO_EXTENT = (
    "an extent must be an integer or an object of one of symbol, fraction, add, mul, min, max, ceiling, floor, not "
)
EXTENTS: list[tuple[Any, str]] = [
    *((each, f"{NO_EXTENT}{each}") for each in (
        {"pow": [2, 3]}, {"ceiling": [1, 2]}, {"add": []}, {"fraction": [1, 0]}, True)),
    ("2*N", f"{NO_EXTENT}'2*N'"),
    ({"mul": [2, {"symbol": "M"}]}, "symbol 'M' is used before it is declared"),
    ({"fraction": [1, 2]}, "an extent must be an integer >= 0, which 1/2 is not"),
    ({"mul": [{"fraction": [1, 2]}, {"symbol": "N"}]}, "an extent must be an integer >= 0, which N/2 is not"),
    ({"add": [-1, {"mul": [-1, {"symbol": "N"}]}]}, "an extent must be an integer >= 0, which -N - 1 is not"),
]  # fmt: skip


@pytest.mark.parametrize(("extent", "message"), EXTENTS)
@pytest.mark.parametrize("place", ["shape", "refinement", "feedback shape"])
def test_extents_that_are_none(place: str, extent: Any, message: str, tmp_path: Path) -> None:
    error = refused(tmp_path, lambda data: PLACES[place](data, {"dynamic": extent}))
    assert isinstance(error, FormatError) and str(error) == f"{tmp_path / 'p.json'}: {message}"
    error = refused(tmp_path, lambda data: PLACES[place](data, {"mean": [{"symbol": "N"}, extent]}))
    assert isinstance(error, FormatError) and str(error) == f"{tmp_path / 'p.json'}: {message}"
