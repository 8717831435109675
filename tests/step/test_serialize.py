"""Programs as files: round trips of every scenario and example, and files that are wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import NUMBER, Bench, play
from scenarios import SCENARIOS, Scenario

from step.errors import FabricError, FormatError, GraphError, StepError, TypeMismatch
from step.functions import Add, RetileRow
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32
from step.language.function import FUNCTIONS
from step.language.graph import Graph
from step.language.operator import OPERATORS
from step.language.tokens import DONE, Token
from step.language.types import Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig, MemoryConfig
from step.programs.program import Program, load_program
from step.programs.schema import schema, schema_names, validate
from step.programs.serialize import graph_from_json, graph_to_json
from step.running.interpreter import interpret


def same(first: Any, second: Any) -> bool:
    """Whether two values of tokens are equal bit for bit."""
    if isinstance(first, tuple):
        return isinstance(second, tuple) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
    return bool(first == second)


def assert_same_outputs(first: dict[str, list[Token]], second: dict[str, list[Token]]) -> None:
    assert list(first) == list(second)
    for name, tokens in first.items():
        assert [token[1:] for token in tokens] == [token[1:] for token in second[name]]
        assert all(same(a.value, b.value) for a, b in zip(tokens, second[name], strict=True))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_scenario_survives_a_round_trip(scenario: Scenario) -> None:
    graph = Graph("scenario")
    inputs = scenario.build(graph)
    data = json.loads(json.dumps(graph_to_json(graph)))
    again = graph_from_json(data)
    assert graph_to_json(again) == data
    assert [str(each.type) for each in again.streams()] == [str(each.type) for each in graph.streams()]
    assert [str(node.location) for node in again] == [str(node.location) for node in graph]
    assert_same_outputs(interpret(graph, inputs).outputs, interpret(again, inputs).outputs)


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("spec", ["moe_simple.py", "swiglu.py", "moe_mixtral.py", "moe_mixtral.py:dynamic"])
def test_every_example_survives_a_round_trip(spec: str, tmp_path: Path) -> None:
    program = load_program(str(EXAMPLES / spec))
    program.save(tmp_path / "saved.json")
    again = load_program(str(tmp_path / "saved.json"))
    assert graph_to_json(again.graph) == graph_to_json(program.graph)
    assert again.fabric == program.fabric
    assert_same_outputs(interpret(program.graph, program.inputs).outputs, interpret(again.graph, again.inputs).outputs)
    again.save(tmp_path / "again.json")
    first, second = ((tmp_path / name).read_text() for name in ("saved.json", "again.json"))
    assert first.replace("saved.npz", "again.npz") == second


SOURCES = [
    ("1 2 S1 E1 3 S1 D", Tile(INT32), ["N", "R"]),
    ("1 2 S1 E1 3 S1 D", Tile(BF16, 2, 3), ["N", "R"]),
    ("E2 E1 1 S1 E1 S2 E2 D", Tile(FP32, 1, 2), ["N", "M", "R"]),
    ("1 0 D", Tile(BOOL, 2, 2), ["N"]),
    ("7 D", Tile(INT8), ["N"]),
    ("D", Tile(BF16), ["N"]),
    ("E1 E1 D", Tile(BF16, 2, 2), ["N", "R"]),
    ("0 5 S1 E1 15 S1 D", Selector(4), ["N", "R"]),
    ("E1 D", Selector(11), ["N", "R"]),
]


@pytest.mark.parametrize(("text", "element", "dims"), SOURCES)
def test_input_data_survives_a_round_trip(text: str, element: Any, dims: list[str], tmp_path: Path) -> None:
    bench = Bench()
    bench.source("x", text, dims, element).sink("y")
    Program(bench.graph, bench.inputs).save(tmp_path / "p.json")
    again = load_program(str(tmp_path / "p.json"))
    assert_same_outputs({"x": bench.inputs["x"]}, {"x": again.inputs["x"]})


def test_bf16_is_stored_as_bits(tmp_path: Path) -> None:
    graph = Graph("bits")
    graph.load(graph.tensor("a", (1, 2), BF16), tile=(1, 2)).store("y")
    Program(graph, {"a": np.array([[1.0, -2.5]])}).save(tmp_path / "p.json")
    with np.load(tmp_path / "p.npz") as archive:
        assert archive["a"].dtype == np.uint16 and archive["a"].tolist() == [[0x3F80, 0xC020]]


def test_a_program_without_data_has_no_data_file(tmp_path: Path) -> None:
    bench = Bench()
    bench.source("x", "D", [1]).sink("y")
    Program(bench.graph).save(tmp_path / "p.json")
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]
    assert load_program(str(tmp_path / "p.json")).inputs == {}


def test_tuples_can_not_be_saved_as_data(tmp_path: Path) -> None:
    graph = Graph("pairs")
    graph.source("x", Tuple((NUMBER, Selector(2))), [1]).sink("y")
    value = (play("1 D")[0].value, 3)
    with pytest.raises(StepError) as error:
        Program(graph, {"x": [Token(value), DONE]}).save(tmp_path / "p.json")
    assert str(error.value) == "input 'x': a stream of (Tile(INT32, 1, 1), Selector(2)) can not be saved"
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
    fabric = FabricConfig(tile=8, channel_depth=3, memory=MemoryConfig(channels=2, latency=7))
    Program(graph, fabric=fabric).save(tmp_path / "p.json")
    again = load_program(str(tmp_path / "p.json"))
    assert again.fabric == fabric
    data = graph_to_json(again.graph)
    assert data == graph_to_json(graph)
    assert data["feedbacks"] == [
        {"name": "back", "element": {"tile": ["FP32", 1, 1]}, "shape": [{"symbol": "N"}], "source": "y"}
    ]
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
    for each in graph["nodes"]:
        each["source"] = "p.py:7"
    return {"format": "step-program-1", "inputs": None, "fabric": FabricConfig().to_json(), "graph": graph}


def refused(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> StepError:
    data = copy.deepcopy(written())
    change(data)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(data))
    with pytest.raises(StepError) as error:
        load_program(str(path))
    return error.value


def node(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in data["graph"]["nodes"] if each["name"] == name)


def test_the_file_that_is_changed_below_is_right(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(written()))
    assert graph_to_json(load_program(str(path)).graph) == written()["graph"]


SCHEMA_VIOLATIONS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda d: d.pop("format"), "$: 'format' is a required property"),
    (lambda d: d.update(format="step-program-9"), "$.format: 'step-program-1' was expected"),
    (lambda d: d.update(extra=1), "$: Additional properties are not allowed ('extra' was unexpected)"),
    (lambda d: d.update(inputs=3), "$.inputs: 3 is not of type 'string', 'null'"),
    (lambda d: d["graph"].pop("nodes"), "$.graph: 'nodes' is a required property"),
    (lambda d: d["graph"].update(name="a b"), "$.graph.name: 'a b' does not match '^[A-Za-z_][A-Za-z0-9_]*$'"),
    (
        lambda d: node(d, "flat").update(name="1"),
        "$.graph.nodes[1].name: '1' does not match '^[A-Za-z_][A-Za-z0-9_]*$'",
    ),
    (lambda d: node(d, "flat").pop("op"), "$.graph.nodes[1]: 'op' is a required property"),
    (
        lambda d: node(d, "z")["inputs"][0].update(depth=1),
        "$.graph.nodes[2].inputs[0].depth: 1 is less than the minimum of 2",
    ),
    (lambda d: d["graph"]["tensors"][0].update(shape=[4]), "$.graph.tensors[0].shape: [4] is too short"),
    (
        lambda d: d["graph"]["symbols"][0].update(ragged="no"),
        "$.graph.symbols[0].ragged: 'no' is not of type 'boolean'",
    ),
]


@pytest.mark.parametrize(("change", "message"), SCHEMA_VIOLATIONS)
def test_schema_violations(change: Any, message: str, tmp_path: Path) -> None:
    error = refused(tmp_path, change)
    assert isinstance(error, FormatError)
    assert str(error) == f"{tmp_path / 'p.json'}: {message}"


WRONG: list[tuple[Callable[[dict[str, Any]], Any], type[StepError], str]] = [
    (lambda d: node(d, "flat").update(op="flatn"), FormatError,
     f"op must be one of {', '.join(sorted(OPERATORS))}, not 'flatn'"),
    (lambda d: node(d, "flat")["parameters"].update(mid=1), FormatError,
     "flatten has no parameter 'mid'; it has high, low"),
    (lambda d: node(d, "joined")["parameters"]["function"].update(function="os_system"), FormatError,
     f"function must be one of {', '.join(sorted(FUNCTIONS))}, not 'os_system'"),
    (lambda d: node(d, "joined")["parameters"]["function"]["parameters"].update(n=1), FormatError,
     "retile_row has no parameter 'n'; it has none"),
    (lambda d: node(d, "joined")["parameters"]["function"].pop("parameters"), FormatError,
     "a parameter can not be {'function': 'retile_row'}"),
    (lambda d: node(d, "x")["parameters"].update(shape=[2, {"symbol": "M"}]), FormatError,
     "symbol 'M' is used before it is declared"),
    (lambda d: node(d, "x")["parameters"].update(element={"tile": ["FP8", 1, 1]}), FormatError,
     "dtype must be one of BF16, FP32, INT8, INT32, UINT32, BOOL, not 'FP8'"),
    (lambda d: node(d, "x")["parameters"].update(element={"lambda": "x"}), FormatError,
     "a parameter can not be {'lambda': 'x'}"),
    (lambda d: d["graph"]["tensors"][0].update(dtype="float"), FormatError,
     "dtype must be one of BF16, FP32, INT8, INT32, UINT32, BOOL, not 'float'"),
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
    (lambda d: d["graph"]["feedbacks"].append({"name": "f", "element": {"tile": ["BF16", 1, 1]}, "shape": [1],
                                              "source": "gone"}), GraphError,
     "feedback 'f' comes from 'gone', which nobody writes"),
    (lambda d: d["graph"]["refinements"].append({"stream": "gone", "shape": [1]}), GraphError,
     "the shape of 'gone' is assumed, but nobody writes that stream"),
    (lambda d: d["fabric"].update(tiles=4), FabricError,
     "fabric has no parameter 'tiles'; it has arithmetic, channel_depth, matmul_lanes, memory, outstanding, tile, "
     "vector_lanes"),
    (lambda d: d["fabric"]["memory"].update(banks=4), FabricError,
     "fabric memory has no parameter 'banks'; it has beat_bytes, channels, interval, latency"),
    (lambda d: d["fabric"].update(memory=5), FabricError, "memory must be an object of parameters, not 5"),
    (lambda d: d["fabric"].update(tile="big"), FabricError, "tile must be an integer >= 1, not 'big'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "message"), WRONG)
def test_what_the_schema_can_not_say(change: Any, kind: type[StepError], message: str, tmp_path: Path) -> None:
    error = refused(tmp_path, change)
    assert (type(error), str(error)) == (kind, message)


JUNK: list[Any] = ["__import__('os').system('touch pwned')", "2*N", -1, 1.5, None, True, [], [1], {}, {"symbol": 3}]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
@pytest.mark.parametrize(
    "place", ["shape", "low", "function", "element", "rank", "rows", "feedback shape", "feedback element", "refinement"]
)
def test_junk_is_refused_and_never_evaluated(place: str, junk: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Whatever stands where a parameter should be ends in an error that says so, not in a Python exception."""
    monkeypatch.chdir(tmp_path)

    def change(data: dict[str, Any]) -> None:
        match place:
            case "shape":
                node(data, "x")["parameters"]["shape"] = [2, junk]
            case "low":
                node(data, "flat")["parameters"]["low"] = junk
            case "function":
                node(data, "joined")["parameters"]["function"] = junk
            case "element":
                node(data, "x")["parameters"]["element"] = junk
            case "rank":
                node(data, "joined")["parameters"]["rank"] = junk
            case "rows":
                node(data, "x")["parameters"]["element"] = {"tile": ["INT32", junk, 1]}
            case "feedback shape":
                entry = {"name": "f", "element": {"tile": ["BF16", 1, 1]}, "shape": [junk], "source": None}
                data["graph"]["feedbacks"].append(entry)
            case "feedback element":
                data["graph"]["feedbacks"].append({"name": "f", "element": junk, "shape": [1], "source": None})
            case "refinement":
                data["graph"]["refinements"].append({"stream": "flat", "shape": [junk]})

    refused(tmp_path, change)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"{", "is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"\xff\xfe", "is no JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_what_is_no_json(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(FormatError) as error:
        load_program(str(path))
    assert str(error.value) == f"{path} {message}"


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("")
    (tmp_path / "p.json").write_text(json.dumps(written()))
    for spec, message in (
        (f"{tmp_path}/gone.json", f"there is no file '{tmp_path}/gone.json'"),
        (f"{tmp_path}", f"there is no file '{tmp_path}'"),
        (f"{tmp_path}/p.txt", f"a program must be file.py, file.py:function or file.json, not '{tmp_path}/p.txt'"),
        (
            f"{tmp_path}/p.json:f",
            f"a program must be file.py, file.py:function or file.json, not '{tmp_path}/p.json:f'",
        ),
    ):
        with pytest.raises(FormatError) as error:
            load_program(spec)
        assert str(error.value) == message


def test_a_missing_data_file(tmp_path: Path) -> None:
    error = refused(tmp_path, lambda d: d.update(inputs="gone.npz"))
    assert isinstance(error, FormatError)
    assert str(error).startswith(f"{tmp_path}/gone.npz is no .npz file with input data: [Errno 2] No such file")


def test_a_data_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"not zipped")
    error = refused(tmp_path, lambda d: d.update(inputs="x.npz"))
    assert isinstance(error, FormatError) and str(error).startswith(
        f"{tmp_path}/x.npz is no .npz file with input data: "
    )


def test_a_stream_without_its_stops(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **{"x.values": np.zeros((1, 1, 1), np.int32)})
    error = refused(tmp_path, lambda d: d.update(inputs="x.npz"))
    assert (
        str(error)
        == f"{tmp_path}/x.npz: 'x.values' needs x.stops and x.ranks beside it, and a source 'x' in the program"
    )


def test_fewer_values_than_stops_say(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "x.npz",
        **{"x.values": np.zeros((1, 1, 1), np.int32), "x.stops": np.array([0, 1]), "x.ranks": np.array([0, 0])},
    )
    error = refused(tmp_path, lambda d: d.update(inputs="x.npz"))
    assert str(error) == "source 'x' has 1 values, but its stops are those of 2"


def test_data_for_what_is_no_source(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "x.npz",
        **{"flat.values": np.zeros((1, 1, 1)), "flat.stops": np.array([0]), "flat.ranks": np.array([0])},
    )
    assert str(refused(tmp_path, lambda d: d.update(inputs="x.npz"))) == "'flat' is no source, but flatten"


# -- schemas --------------------------------------------------------------------------------------------------------


def test_schemas_are_strict_and_have_an_identity() -> None:
    assert "program" in schema_names()
    for name in schema_names():
        assert schema(name)["$id"].startswith("https://")
        assert schema(name)["additionalProperties"] is False


def test_an_unknown_schema() -> None:
    with pytest.raises(FormatError) as error:
        schema("trace")
    assert str(error.value) == f"schema must be one of {', '.join(schema_names())}, not 'trace'"


def test_validate_says_where() -> None:
    validate(written(), "program", "here")
    with pytest.raises(FormatError, match=r"^here: "):
        validate([], "program", "here")
