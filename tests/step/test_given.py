"""Data that a program is given: arrays of all libraries, what is refused in the same words, and whose it is then."""

from __future__ import annotations

import array
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step import BF16, FP32, Graph, Program, Selector, Tile, Tuple, bits, masks
from step.errors import InputError
from step.language.tokens import DONE, UNKNOWN, Token
from step.programs.data.inputs import bind_inputs


class Foreign:
    """An array of another library, which gives ``content``, or raises it."""

    def __init__(self, content: Any, **attributes: Any) -> None:
        self.content = content
        vars(self).update(attributes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


class Lent:
    """An array that is lent by DLPack alone."""

    def __init__(self, content: np.ndarray) -> None:
        self.content = content

    def __dlpack__(self, **options: Any) -> Any:
        return self.content.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.content.__dlpack_device__()


def stream_of(value: Any, dtype: Any = FP32) -> Any:
    graph = Graph("g")
    graph.source("x", Tile(dtype), [4])
    return [int(token.value[0, 0]) for token in bind_inputs(graph, {"x": value}).streams["x"] if token.has_value]


def tensor_of(value: Any, dtype: Any = FP32) -> Any:
    graph = Graph("g")
    graph.tensor("x", (1, 4), dtype)
    return bind_inputs(graph, {"x": value}).tensors["x"][0].astype(int).tolist()


def selectors_of(value: Any) -> Any:
    graph = Graph("g")
    graph.selectors("x", 5, [4])
    return [token.value for token in bind_inputs(graph, {"x": value}).streams["x"] if token.has_value]


FLOATS = np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    "make",
    [
        Foreign,
        lambda content: Lent(content.copy()),
        memoryview,
        lambda content: content[::-1][::-1],
        np.ma.MaskedArray,
        lambda content: np.ma.MaskedArray(content, mask=np.zeros(content.shape, bool)),
    ],
)
def test_arrays_of_all_libraries(make: Any) -> None:
    assert stream_of(make(FLOATS)) == tensor_of(make(FLOATS.reshape(1, 4))) == [1, 2, 3, 4]
    assert tensor_of([make(FLOATS)]) == [1, 2, 3, 4]
    assert selectors_of(make(np.arange(4))) == selectors_of(masks(make(1 << np.arange(4)))) == [1, 2, 4, 8]


@pytest.mark.parametrize("value", [range(1, 5), deque([1, 2, 3, 4]), array.array("d", [1, 2, 3, 4])])
def test_sequences(value: Any) -> None:
    assert stream_of(value) == tensor_of([value]) == [1, 2, 3, 4]


MASKED = np.ma.MaskedArray(FLOATS, mask=[0, 0, 1, 0])
GRADIENT = Foreign(RuntimeError("Can't call numpy() on Tensor that requires grad."), requires_grad=True)
NO_MASK = "is masked, and no number stands for that: give array.filled(NUMBER)"
UNREADABLE = "can not be read as an array:"


@cases(
    (MASKED, f" at [2] {NO_MASK}"),
    ([1, np.ma.masked, 3, 4], f" at [1] {NO_MASK}"),
    (bits(MASKED.astype(int)), f" at [2] {NO_MASK}"),
    (GRADIENT, " is a tensor that requires a gradient: give tensor.detach()"),
    ([1, GRADIENT], " at [1] is a tensor that requires a gradient: give tensor.detach()"),
    (Foreign(TypeError("can't convert cuda:0")), f" {UNREADABLE} TypeError: can't convert cuda:0"),
    (Foreign(TypeError("Got unsupported ScalarType BFloat16")),
     f" {UNREADABLE} TypeError: Got unsupported ScalarType BFloat16; give tensor.float()"),
    (Foreign([1, 2]), f" {UNREADABLE} ValueError: object __array__ method not producing an array"),
    ((each for each in FLOATS), " is a generator, which can be read only once: give a list"),
    ([1, map(float, "12")], " at [1] is a map, which can be read only once: give a list"),
    ({1, 2, 3, 4}, " is a set, which has no order: give a list"),
    (bits(bits([1, 2, 3, 4])), " is bits(bits(...)), but can be only one of them"),
)  # fmt: skip
def test_streams_and_tensors_refuse_in_the_same_words(value: Any, message: str) -> None:
    for taken in (stream_of, tensor_of, selectors_of):
        if isinstance(value, type(each for each in ())):
            value = (each for each in FLOATS)
        assert raised(InputError, taken, value) == f"input 'x'{message}"


def test_a_list_that_is_in_itself() -> None:
    value: list[Any] = []
    value.append(value)
    assert raised(InputError, lambda: stream_of(value)) == "input 'x' is nested more than 64 levels deep"


TILE = np.ones((1, 1), np.float32)


@cases(
    (Token(TILE), "input 'x' is a single token, but must be a list of tokens that ends with Done"),
    ([Token(TILE, "a")], "the stop of input 'x' at [0] must be an integer >= 0, not 'a'"),
    ([Token(TILE), Token(TILE, -1)], "the stop of input 'x' at [1] must be an integer >= 0, not -1"),
    ([Token(TILE, 0, 1.5), DONE], "the rank of input 'x' at [0] must be an integer >= 0, not 1.5"),
    ([Token(UNKNOWN), DONE], "input 'x' at [0] must have a value of the stream, not UNKNOWN"),
    ([Token(True), DONE], "input 'x' at [0] must have a value of the stream, not True"),
    ([Token(TILE, done=True)], "input 'x' at [0] must be Done alone, or a token that is not done"),
    ([Token(np.ma.MaskedArray(TILE, mask=[[1]]))], f"input 'x' at [0, 0, 0] {NO_MASK}"),
)
def test_tokens_that_are_none(value: Any, message: str) -> None:
    assert raised(InputError, lambda: stream_of(value)) == message


@cases(
    ([1], "inputs must be data by name, or the name of an .npz file, not [1]"),
    (5, "inputs must be data by name, or the name of an .npz file, not 5"),
    ([("x", [1])], "inputs must be data by name, or the name of an .npz file, not [('x', [1])]"),
    ("", "no file can be called ''"),
    ({"rows": [1]}, "the program has no tensor or source 'rows'; did you mean 'row'? it has row"),
    ({1: [1]}, "the program has no tensor or source 1; it has row"),
)
def test_inputs_that_are_no_data_by_name(inputs: Any, message: str, graph: Graph) -> None:
    graph.source("row", Tile(FP32), [1]).sink("y")
    program = Program(graph, {"row": [1]})
    for asked in (
        lambda: step.run(program, "approx", inputs=inputs),
        lambda: step.Simulator(program).run(inputs),
        lambda: step.bind(program, inputs),
        lambda: step.compare(program, inputs=inputs),
    ):
        assert raised(InputError, asked) == message


# -- whose it is ----------------------------------------------------------------------------------------------------


def program_of(value: Any, **more: Any) -> Program:
    graph = Graph("g")
    graph.source("x", Tile(FP32), [4]).sink("y")
    return Program(graph, {"x": value}, **more)


def output(program: Program) -> list[int]:
    return [int(each) for each in step.run(program, "interpret").outputs["y"].numpy().ravel()]


def base() -> tuple[Any, Any]:
    """A read-only part of an array that can be written, and the array."""
    whole = FLOATS.copy()
    part = whole[:]
    part.flags.writeable = False
    return part, whole


def nested() -> tuple[Any, Any]:
    rows = [1.0, [[2.0]], 3.0, 4.0]
    return rows, rows


@pytest.mark.parametrize(
    "make",
    [
        lambda: (value := FLOATS.copy(), value),
        lambda: (Foreign(value := FLOATS.copy()), value),
        lambda: (memoryview(value := FLOATS.copy()), value),
        lambda: ([FLOATS[0], value := np.array([[2.0]]), 3, 4], value),
        lambda: (bits(value := FLOATS.astype(np.float32).view(np.uint32).copy()), value),
        base,
        nested,
    ],
)
def test_what_is_done_to_the_data_later_does_not_change_a_program(make: Any) -> None:
    value, changed = make()
    program = program_of(value, expected={"y": value} if isinstance(value, np.ndarray) else {})
    other, simulator = replace(program, tolerance=0.5), step.Simulator(program, values="all")
    changed[0] = 9.0 if isinstance(changed, list) else 9
    assert output(program) == output(other) == [1, 2, 3, 4]
    assert simulator.run().outputs["y"].numpy().ravel().tolist() == [1, 2, 3, 4]
    assert not program.expected or step.run(program, "interpret").check().relative == 0


def test_the_names_of_a_program_are_its_own() -> None:
    data = {"x": FLOATS}
    graph = Graph("g")
    graph.source("x", Tile(FP32), [4]).sink("y")
    program = Program(graph, data)
    other = replace(program)
    data["x"] = np.zeros(4)
    assert output(program) == [1, 2, 3, 4]
    program.inputs["x"] = changed = np.full(4, 5.0)
    changed[0] = 6
    assert output(program) == [5, 5, 5, 5] and output(other) == [1, 2, 3, 4]


def test_what_leaves_a_program_does_not_change_it(graph: Graph) -> None:
    """It is a part of the program's own data where tiles are not copied, and can not be written then."""
    graph.source("x", Tile(FP32, 1, 2), [2]).sink("y")
    program = Program(graph, {"x": np.float32([[[1, 2]], [[3, 4]]])})
    first = step.run(program, "interpret").outputs["y"].nested()[0]
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 9
    assert output(program) == [1, 2, 3, 4]


def test_what_nobody_can_write_is_not_copied(tmp_path: Path) -> None:
    frozen = FLOATS.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "x.npy", FLOATS)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for given in (frozen, frozen[:], mapped):
        held = program_of(given).inputs["x"]
        assert np.shares_memory(held, given) and program_of(held).inputs["x"] is held


def test_what_takes_no_memory_takes_none() -> None:
    held = program_of(np.broadcast_to(np.float32(1), (1 << 40,))).inputs["x"]
    assert held.shape == (1 << 40,) and held.strides == (0,) and held[5] == 1


def test_bound_data_is_data(graph: Graph) -> None:
    """A long stream, too, which is bound to loops."""
    graph.source("x", Tile(FP32), [5000]).sink("y")
    bound = bind_inputs(graph, {"x": np.arange(5000)})
    assert output(Program(graph, step.run(Program(graph), "interpret", inputs=bound).program.inputs))[4999] == 4999


def test_parts_of_a_program() -> None:
    program = program_of(FLOATS)
    for part, value, message in (
        (
            "input",
            {},
            "a program has no 'input'; did you mean 'inputs'? it has graph, inputs, fabric, expected, tolerance",
        ),
        ("inputs", [1], "a program's inputs must be a Mapping, not [1]"),
        ("fabric", {}, "a program's fabric must be a FabricConfig, not {}"),
        ("graph", None, "a program's graph must be a Graph, not None"),
    ):
        assert raised(InputError, setattr, program, part, value) == message


@cases(
    ({"expected": {"Y": [1]}}, "there is no output 'Y' to compare with the expected one; there are y, w"),
    ({"expected": {"z": np.zeros(2)}}, "there is no output 'z' to compare with the expected one; there are y, w"),
    ({"expected": {"y": MASKED}}, f"expected output 'y' at [2] {NO_MASK}"),
    ({"expected": {"y": [[1, 2], [3]]}}, "expected output 'y' has rows of different lengths, which is no array"),
    ({"expected": {"y": np.zeros(3)}}, "output 'y' has 4 scalars, but 3 are expected"),
    ({"expected": {"y": np.zeros(2, complex)}}, "expected output 'y' must be real numbers, not complex128"),
    ({"expected": {"y": ["a", "b"]}}, "expected output 'y' must be real numbers, not <U1"),
    ({"tolerance": True}, "tolerance must be a number >= 0, not True"),
    ({"tolerance": -0.1}, "tolerance must be a number >= 0, not -0.1"),
    ({"tolerance": -1}, "tolerance must be a number >= 0, not -1"),
    ({"tolerance": np.nan}, "tolerance must be a number >= 0, not nan"),
    ({"tolerance": "1%"}, "tolerance must be a number >= 0, not '1%'"),
    ({"expected": [1, 2]}, "a program's expected must be a Mapping, not [1, 2]"),
)
def test_what_can_not_be_expected(more: Any, message: str) -> None:
    """A size that only a run tells may be anything."""
    graph = program_of(FLOATS).graph
    graph.source("v", Tile(FP32), [graph.symbol("N")]).sink("w")
    Program(graph, expected={"y": np.zeros(4), "w": np.zeros(99)}, tolerance=0.1)
    assert raised(InputError, lambda: Program(graph, **more)) == message


def test_pairs_of_foreign_arrays(graph: Graph) -> None:
    graph.source("x", Tuple((Tile(BF16), Selector(3))), [1])
    (token, _) = bind_inputs(graph, {"x": [(Foreign(np.array(5)), Foreign(np.array([0, 2])))]}).streams["x"]
    assert (float(token.value[0][0, 0]), token.value[1]) == (5, 5)
