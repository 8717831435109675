"""Input data: arrays, nested lists and selectors in all their spellings, scalars, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from raising import raised
from running import NUMBER, Bench

from step import bits, masks
from step.errors import InputError
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32, DType
from step.language.graph import Graph
from step.language.tokens import DONE, Token, show
from step.language.types import Selector, Tile, Tuple
from step.programs.data.given import Bits
from step.programs.data.inputs import bind_inputs, cut_tiles


def selected(dims: list[Any], value: Any, targets: int = 3) -> str:
    bench = Bench()
    bench.graph.selectors("which", targets, bench.dims(dims))
    return show(bind_inputs(bench.graph, {"which": value}).streams["which"])


HOT = [[True, False, True], [False, False, False]]


@cases(
    # an index each
    ([3], np.array([0, 2, 1]), "1 4 2 D"),
    ([2, 2], np.array([[0, 1], [2, 0]]), "1 2 S1 4 1 S1 D"),
    (["N"], np.zeros(0, int), "D"),
    (["N"], np.zeros(0), "D"),
    (["N", 2], np.zeros((0, 2), int), "D"),
    (["N", "R"], [[1, 2], [], [0]], "2 4 S1 E1 1 S1 D"),
    # several indices each
    ([2], np.array([[0, 2], [1, 0]]), "5 3 D"),
    ([2], np.array([[1, 2, 0], [2, 0, 1]]), "7 7 D"),
    ([2], np.zeros((2, 0), int), "0 0 D"),
    (["N"], [[0, 2], [], [1]], "5 0 2 D"),
    (["N"], [[0, 1, 2], [0]], "7 1 D"),
    (["N", "R"], [[[0], [1, 2]], []], "1 6 S1 E1 D"),
    (["N"], [0, [1, 2], [True, False, True]], "1 6 5 D"),
    # booleans
    ([2], np.array(HOT), "5 0 D"),
    (["N", "R"], [HOT, [], HOT[:1]], "5 0 S1 E1 5 S1 D"),
    # masks
    ([3], masks([5, 0, 7]), "5 0 7 D"),
    (["N", "R"], masks([[1, 2], [], [4]]), "1 2 S1 E1 4 S1 D"),
    ([2, 2], masks(np.array([[1, 2], [4, 0]], np.uint8)), "1 2 S1 4 0 S1 D"),
    # tokens
    ([2], [Token(np.int64(5)), Token(3), DONE], "5 3 D"),
    ([2], (Token(5), Token(3), DONE), "5 3 D"),
)
def test_selectors(dims: list[Any], value: Any, text: str) -> None:
    assert selected(dims, value) == text


def deeply(value: Any, make: Callable[[list[Any]], Any], leaf: Callable[[Any], Any]) -> Any:
    return make([deeply(each, make, leaf) for each in value]) if isinstance(value, list) else leaf(value)


@cases(
    ([3], [0, 2, 1]), ([2, 3], [[0, 2, 1], [1, 1, 1]]), ([2], [[0, 2], [1, 0]]), ([2], [[1, 2, 0], [2, 1, 0]]),
    ([2, 1], [[[0, 2]], [[1, 0]]]), ([2], HOT), ([2, 2], [HOT, HOT]), (["N"], []), (["N", "R"], [[1, 2], [], [0]]),
    (["N", "R"], [HOT, []]),
)  # fmt: skip
def test_selectors_of_the_same_content_mean_the_same(dims: list[Any], value: Any) -> None:
    meant = selected(dims, value)
    for other in (
        deeply(value, tuple, lambda each: each),
        deeply(value, list, lambda each: np.asarray(each)[()]),
        deeply(value, list, np.asarray),
        [np.array(each) if isinstance(each, list) else each for each in value],
    ):
        assert selected(dims, other) == meant
    if "R" not in dims:
        for array in (np.array(value), np.array(value, object)):
            assert selected(dims, array) == meant
        if meant != "D" and not isinstance(np.array(value).reshape(-1)[0], np.bool_):
            assert selected(dims, np.array(value, np.uint8)) == meant


@cases(
    (3, [2], [[1, 0, 1], [0, 1, 0]]),
    (3, [1, 2], [[[1, 0, 1], [0, 1, 0]]]),
    (2, [2], [[0, 1], [1, 0]]),
    (1, [2], [[0], [0]]),
)
def test_selectors_that_could_mean_two_things(targets: int, dims: list[Any], value: Any) -> None:
    """The two spellings that the message gives say one thing each."""
    for spelled in (value, np.array(value)):
        assert raised(InputError, selected, dims, spelled, targets) == (
            f"input 'which' has rows of {targets} integers, all of them 0 or 1, which could be target indices or "
            f"multi-hot rows; give booleans: array.astype(bool) if they are multi-hot rows, "
            f"(array[..., None] == np.arange({targets})).any(-2) if they are target indices"
        )
    array = np.array(value)
    rows = array.reshape(-1, targets).tolist()
    hot = selected(dims, array.astype(bool), targets)
    assert [int(each) for each in hot.split() if each.isdigit()] == [
        sum(1 << target for target, each in enumerate(row) if each) for row in rows
    ]
    indices = selected(dims, (array[..., None] == np.arange(targets)).any(-2), targets)
    assert [int(each) for each in indices.split() if each.isdigit()] == [
        sum({1 << each for each in row}) for row in rows
    ]


A_SELECTOR = (
    "a selector is a target index, a list of target indices, or 3 booleans "
    "(and masks(...) has integers with a bit per target)"
)


@cases(
    ([2], np.array([0, 3]), "input 'which' at [1] selects target 3, but its targets are 0 to 2"),
    ([2], np.array([0, -1]), "input 'which' at [1] selects target -1, but its targets are 0 to 2"),
    (["N"], [[0], [2, 8]], "input 'which' at [1] selects target 8, but its targets are 0 to 2"),
    (["N", "R"], [[1, 2], [], [4]], "input 'which' at [2, 0] selects target 4, but its targets are 0 to 2"),
    ([2], [[0, 0], [1, 2]], "input 'which' at [0] selects target 0 twice; a selector has each target once"),
    ([2], np.array([[0, 1], [2, 2]]), "input 'which' at [1] selects target 2 twice; a selector has each target once"),
    (["N"], [[0], [], np.array([1, 2, 1])],
     "input 'which' at [2] selects target 1 twice; a selector has each target once"),
    (["N", "R"], [[[0], [2, 0, 2]]], "input 'which' at [0, 1] selects target 2 twice; a selector has each target once"),
    ([3], np.array([0, 1]), "input 'which' must have the dimensions [3], not [2]"),
    ([3], [0, 1], "input 'which': stream which of shape [3]: token 2 ends a dimension of extent 3 after 2"),
    ([2], np.array([0.0, 1.0]), "input 'which' must be integers [2] or [2, k], or booleans [2, 3], not float64 [2]"),
    ([2], np.array([True, False]), "input 'which' must be integers [2] or [2, k], or booleans [2, 3], not bool [2]"),
    ([2], masks(np.array([[1], [2]])),
     "input 'which' must be integers [2] or [2, k], or booleans [2, 3], not int64 [2, 1]"),
    ([2], np.array([[True, False], [True, True]]), "input 'which' at [0] has 2 booleans, but there are 3 targets"),
    (["N"], [True, False, True], f"input 'which' at [0] is True; {A_SELECTOR}"),
    (["N"], [[True, 1, 0]], f"input 'which' at [0] is [True, 1, 0]; {A_SELECTOR}"),
    (["N"], [1.0], f"input 'which' at [0] is 1.0; {A_SELECTOR}"),
    (["N"], ["1"], f"input 'which' at [0] is '1'; {A_SELECTOR}"),
    (["N", "R"], [[[0]], 2], "input 'which' at [1] is 2, but must be a list: dimensions are [N, R]"),
    (["N"], masks([7, 8]), "input 'which' at [1] is 8; masks over 3 targets are integers 0 to 7"),
    (["N"], masks([-1]), "input 'which' at [0] is -1; masks over 3 targets are integers 0 to 7"),
    (["N"], masks([[1]]), "input 'which' at [0] is [1]; masks over 3 targets are integers 0 to 7"),
    (["N"], masks([True]), "input 'which' at [0] is True; masks over 3 targets are integers 0 to 7"),
    (["N"], bits([1]), "input 'which' is a stream of Selector(3), which bits(...) can not be"),
    (["N"], [Token(8), DONE], "input 'which': stream which of shape [N]: token 0 is no Selector(3)"),
    (["N"], [Token(1), 2, DONE], "input 'which' at [1] must be a token, as others are, not 2"),
    (["N"], [Token(1)], "input 'which': the stream does not end with Done"),
)  # fmt: skip
def test_selectors_that_do_not_fit(dims: list[Any], value: Any, message: str) -> None:
    assert raised(InputError, lambda: selected(dims, value)) == message


def tiles(element: Tile, dims: list[Any], value: Any) -> list[Any]:
    bench = Bench()
    bench.graph.source("x", element, bench.dims(dims))
    return [token.value.tolist() for token in bind_inputs(bench.graph, {"x": value}).streams["x"] if token.has_value]


def test_tiles_from_arrays() -> None:
    assert tiles(NUMBER, [3], np.array([5, 6, 7])) == [[[5]], [[6]], [[7]]]
    assert tiles(Tile(INT32, 1, 2), [2], np.arange(4).reshape(2, 1, 2)) == [[[0, 1]], [[2, 3]]]
    assert tiles(NUMBER, ["N"], np.zeros(0, int)) == []


def test_tiles_of_the_same_content_mean_the_same() -> None:
    for value in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), [np.int8(1), 2.0, [[3]]], bits([1, 2, 3])):
        assert tiles(NUMBER, [3], value) == [[[1]], [[2]], [[3]]]
    rows = [[[[1, 2]], [[3, 4]]], []]
    for value in (rows, deeply(rows, tuple, np.int64), [np.array(rows[0]), []], bits(rows)):
        assert tiles(Tile(INT32, 1, 2), ["N", "R"], value) == [[[1, 2]], [[3, 4]]]


def test_pairs(graph: Graph) -> None:
    graph.source("x", Tuple((NUMBER, Selector(3))), [2])
    bound = bind_inputs(graph, {"x": [(5, [0, 2]), (6, masks(3))]}).streams["x"]
    assert [(token.value[0].tolist(), token.value[1]) for token in bound[:-1]] == [([[5]], 5), ([[6]], 3)]
    for value, message in (
        ([5, 6], "input 'x' at [0] must be a tuple of 2 for (Tile(INT32, 1, 1), Selector(3))"),
        (
            [(5, 1), (1.5, 1)],
            "input 'x' at [1, 0] is 1.5, which is no integer: INT32 has the integers -2147483648 to 2147483647",
        ),
        ([(5, 1), (1, 3)], "input 'x' at [1, 1] selects target 3, but its targets are 0 to 2"),
        (np.zeros((2, 2)), "input 'x': a stream of (Tile(INT32, 1, 1), Selector(3)) can not be given as an array"),
        (masks([1, 2]), "input 'x' is a stream of (Tile(INT32, 1, 1), Selector(3)), which masks(...) can not be"),
    ):
        assert raised(InputError, bind_inputs, graph, {"x": value}) == message


# -- scalars --------------------------------------------------------------------------------------------------------


def tensor_of(dtype: DType, value: Any) -> np.ndarray:
    """What a tensor with as many columns as ``value`` has gets."""
    graph = Graph("g")
    graph.tensor("a", (1, np.size(value.content if isinstance(value, Bits) else value)), dtype)
    return bind_inputs(graph, {"a": value}).tensors["a"]


TAKEN: list[tuple[DType, Any, Any]] = [
    (INT8, [[-128, 127]], [-128, 127]),
    (INT8, [[1.0, -0.0, 2.0**6]], [1, 0, 64]),
    (INT8, np.array([[True, False]]), [1, 0]),
    (INT32, np.array([[-(2**31), 2**31 - 1]]), [-(2**31), 2**31 - 1]),
    (UINT32, np.array([[2**32 - 1]], np.uint64), [2**32 - 1]),
    (UINT32, [[2.0**32 - 1]], [2**32 - 1]),
    (INT8, np.array([[3, -4]], BF16.numpy), [3, -4]),
    (BOOL, [[0, 1]], [False, True]),
    (BOOL, [[1.0, 0.0]], [True, False]),
    (BOOL, np.array([[True]]), [True]),
    (FP32, [[1, 0.1]], [1.0, float(np.float32(0.1))]),
    (FP32, [[2**24 + 1]], [2.0**24]),
    (FP32, np.array([[1.5]], BF16.numpy), [1.5]),
    (FP32, [[np.inf, -np.inf, 1e-60]], [np.inf, -np.inf, 0.0]),
    (BF16, [[257, 1.00390625, 1.01171875]], [256.0, 1.0, 1.015625]),  # ties, to even
    (BF16, np.array([[257, 2]], np.int16), [256.0, 2.0]),
    (BF16, np.array([[1.5]], np.float16), [1.5]),
    (BF16, [[np.inf, -np.inf]], [np.inf, -np.inf]),
    (BF16, [[3.3895e38]], [float(np.array(3.3895314e38).astype(BF16.numpy))]),
]


@pytest.mark.parametrize(("dtype", "value", "taken"), TAKEN)
def test_numbers_that_are_taken(dtype: DType, value: Any, taken: Any) -> None:
    array = tensor_of(dtype, value)
    assert array.dtype == dtype.numpy
    assert array[0].astype(np.float64).tolist() == [float(each) for each in taken]


def test_nan_stays_nan() -> None:
    for dtype in (BF16, FP32):
        assert np.isnan(tensor_of(dtype, [[np.nan]]).astype(float)).all()
        assert np.isnan(tensor_of(dtype, np.array([[np.nan]], np.float32)).astype(float)).all()


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_bf16_is_rounded_once(value: float) -> None:
    """To the nearest of the two neighbours, ties to the one with an even pattern."""
    if abs(value) >= 2.0**128 - 2.0**119:
        with pytest.raises(InputError, match=r"but BF16 ends at 3\.4e38"):
            tensor_of(BF16, [[value]])
        return
    found = tensor_of(BF16, [[value]])[0, 0]
    pattern = int(np.abs(found).view(np.uint16))
    near = [np.array(max(pattern + step, 0), np.uint16).view(BF16.numpy) for step in (-1, 0, 1)]
    exact = [Fraction(2) ** 128 if np.isinf(each) else Fraction(float(each)) for each in near]
    distances = [abs(Fraction(abs(value)) - each) for each in exact]
    assert distances[1] == min(distances)
    if pattern and distances.count(distances[1]) > 1:
        assert pattern % 2 == 0
    assert np.signbit(found) == np.signbit(value)


def test_integers_are_rounded_once() -> None:
    """Over float64 the last bit of these would be lost, and with it that they are more than halfway."""
    for dtype, value, wanted in ((FP32, 2**60 + 2**36 + 1, 2**60 + 2**37), (BF16, 2**62 + 2**54 + 1, 2**62 + 2**55)):
        for spelled in (np.array([[value]]), np.array([[value]], np.uint64), [[value]]):
            assert float(tensor_of(dtype, spelled)[0, 0]) == wanted


def test_what_two_roundings_would_get_wrong() -> None:
    assert tensor_of(BF16, [[1.00390625 + 2**-40, 1.01171875 - 2**-40]]).astype(float).tolist() == [
        [1.0078125, 1.0078125]
    ]


REFUSED: list[tuple[DType, Any, str]] = [
    (INT8, [[5, 300]], " at [0, 1] is 300, but INT8 has the integers -128 to 127"),
    (INT8, [[1.7]], " at [0, 0] is 1.7, which is no integer: INT8 has the integers -128 to 127"),
    (INT8, np.array([[1.5]], BF16.numpy), " at [0, 0] is 1.5, which is no integer: INT8 has the integers -128 to 127"),
    (INT32, [[2**31]], " at [0, 0] is 2147483648, but INT32 has the integers -2147483648 to 2147483647"),
    (INT32, [[1e300]], " at [0, 0] is 1e+300, but INT32 has the integers -2147483648 to 2147483647"),
    (INT32, [[0, np.nan]], " at [0, 1] is nan, which is no integer: INT32 has the integers -2147483648 to 2147483647"),
    (INT32, [[np.inf]], " at [0, 0] is inf, but INT32 has the integers -2147483648 to 2147483647"),
    (UINT32, [[0, 1, -1]], " at [0, 2] is -1, but UINT32 has the integers 0 to 4294967295"),
    (UINT32, [[2**32]], " at [0, 0] is 4294967296, but UINT32 has the integers 0 to 4294967295"),
    (BOOL, [[1, 2]], " at [0, 1] is 2, but BOOL has 0 and 1"),
    (BOOL, [[0.5]], " at [0, 0] is 0.5, but BOOL has 0 and 1"),
    (BOOL, [[-1]], " at [0, 0] is -1, but BOOL has 0 and 1"),
    (FP32, [[1.0, 1e300]], " at [0, 1] is 1e+300, but FP32 ends at 3.4e38; give inf if that is meant"),
    (FP32, [[-3.5e38]], " at [0, 0] is -3.5e+38, but FP32 ends at 3.4e38; give inf if that is meant"),
    (BF16, [[1e300]], " at [0, 0] is 1e+300, but BF16 ends at 3.4e38; give inf if that is meant"),
    (BF16, [[3.4e38]], " at [0, 0] is 3.4e+38, but BF16 ends at 3.4e38; give inf if that is meant"),
    (BF16, np.array([[0x3F80]], np.uint16),
     " is uint16, which could be bit patterns of BF16 or values; "
     "give bits(array) (a.bits in an .npz file) for bit patterns, array.astype(float) for values"),
    (BF16, np.array([[b"ab"]], "V2"),
     " must be numbers for BF16, not |V2; NumPy saves bfloat16 like this: save array.view(np.uint16) as a.bits, "
     "or give bits(array.view(np.uint16))"),
    (BF16, [[1j]], " must be numbers for BF16, not complex128; give array.real"),
    (INT8, [["1"]], " at [0, 0] is '1', but must be a number for INT8"),
    (INT8, [[None]], " at [0, 0] is None, but must be a number for INT8"),
    (INT8, [[1, 2**70]], " at [0, 1] is 1180591620717411303424, but INT8 has the integers -128 to 127"),
    (FP32, [[10**400]], " at [0, 0] is an integer of 401 digits, but FP32 ends at 3.4e38; give inf if that is meant"),
    (INT8, np.array([[1 + np.longdouble(2) ** -60]]),
     " at [0, 0] is 1.0000000000000000009, which is no integer: INT8 has the integers -128 to 127"),
    (INT8, np.array([["2026-01-01"]], "M8[D]"), " must be numbers for INT8, not datetime64[D]"),
    (BF16, bits([[0x10000]]), " at [0, 0] is 65536, but bit patterns of BF16 are 0 to 0xffff"),
    (INT8, bits([[0, -1]]), " at [0, 1] is -1, but bit patterns of INT8 are 0 to 0xff"),
    (BOOL, bits([[2]]), " at [0, 0] is 2, but bit patterns of BOOL are 0 to 0x1"),
    (FP32, bits([[1.0]]), " must be integers, as they are bit patterns, not float64"),
    (FP32, masks([[1]]), " is a tensor of FP32, which masks(...) can not be"),
    (FP32, [[1, 2], [3]], " has rows of different lengths, which is no array"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value", "message"), REFUSED)
def test_numbers_that_would_change(dtype: DType, value: Any, message: str, graph: Graph) -> None:
    graph.tensor("a", (1, 9), dtype)
    assert raised(InputError, lambda: bind_inputs(graph, {"a": value})) == f"input 'a'{message}"


@cases(
    (BF16, [[0x3F80, 0xC020]], [1.0, -2.5]),
    (FP32, [[0x3F800000]], [1.0]),
    (INT8, [[0x80, 0x7F]], [-128, 127]),
    (INT32, np.array([[2**32 - 1]], np.uint32), [-1]),
    (UINT32, [[2**32 - 1]], [2**32 - 1]),
    (BOOL, [[1, 0]], [1, 0]),
    (BOOL, np.array([[True, False]]), [1, 0]),
)
def test_bit_patterns(dtype: DType, patterns: Any, values: list[float]) -> None:
    array = tensor_of(dtype, bits(patterns))
    assert array.dtype == dtype.numpy and array[0].astype(float).tolist() == values


STREAM_REFUSED = [
    (Tile(INT8), ["N", "R"], [[1], [2, 300]], " at [1, 1] is 300, but INT8 has the integers -128 to 127"),
    (Tile(INT8, 1, 2), ["N"], [[[1, 2]], [[3, 1.7]]],
     " at [1, 0, 1] is 1.7, which is no integer: INT8 has the integers -128 to 127"),
    (Tile(INT8, 1, 2), [1], np.array([[[1, 1.7]]]),
     " at [0, 0, 1] is 1.7, which is no integer: INT8 has the integers -128 to 127"),
    (Tile(INT8), [2], np.array([1, 300]), " at [1] is 300, but INT8 has the integers -128 to 127"),
    (Tile(BF16), ["N"], bits([1, 1 << 16]), " at [1] is 65536, but bit patterns of BF16 are 0 to 0xffff"),
    (Tile(BF16), [2], bits(np.array([1, 1 << 16])), " at [1] is 65536, but bit patterns of BF16 are 0 to 0xffff"),
    (Tile(BF16), ["N"], [np.uint16(1)],
     " at [0] is uint16, which could be bit patterns of BF16 or values; "
     "give bits(array) (x.bits in an .npz file) for bit patterns, array.astype(float) for values"),
    (Tile(BF16), ["N"], [1j], " at [0] must be numbers for BF16, not complex128; give array.real"),
    (Tile(BF16), ["N"], masks([1]), " is a stream of Tile(BF16, 1, 1), which masks(...) can not be"),
    (Tile(BF16, 1, 2), ["N"], [[[1, 2]], [[1], [2]]], " at [1] must be a tile [1, 2], not an array [2, 1]"),
    (Tile(BF16, 1, 2), ["N"], [[[1, 2], [1]]], " at [0] has rows of different lengths, which is no array"),
]  # fmt: skip


@pytest.mark.parametrize(("element", "dims", "value", "message"), STREAM_REFUSED)
def test_numbers_of_streams_that_would_change(element: Tile, dims: Any, value: Any, message: str) -> None:
    assert raised(InputError, lambda: tiles(element, dims, value)) == f"input 'x'{message}"


# -- shapes and names -----------------------------------------------------------------------------------------------


@cases(
    (Tile(FP32, 2, 2), [3], np.zeros((3, 2, 3)), "input 'x' must have shape [3, 2, 2], not [3, 2, 3]"),
    (Tile(FP32, 2, 2), [3], np.zeros(3), "input 'x' must have shape [3, 2, 2], not [3]"),
    (NUMBER, [3], np.zeros(4), "input 'x' must have the dimensions [3], not [4]"),
    (NUMBER, ["N", 2], np.zeros((4, 3)), "input 'x' must have the dimensions [N, 2], not [4, 3]"),
)
def test_tiles_that_do_not_fit(element: Tile, dims: list[Any], value: Any, message: str) -> None:
    assert raised(InputError, lambda: tiles(element, dims, value)) == message


@cases(
    ([1, [2]], "input 'x' at [0] is 1, but must be a list: dimensions are [N, R]"),
    ([[1], 2], "input 'x' at [1] is 2, but must be a list: dimensions are [N, R]"),
    (7, "input 'x' is 7, but must be a list: dimensions are [N, R]"),
    (["x"], "input 'x' at [0] is 'x', but must be a list: dimensions are [N, R]"),
    ("x", "input 'x' is 'x', but must be a list: dimensions are [N, R]"),
    ({"a": 1}, "input 'x' is {'a': 1}, but must be a list: dimensions are [N, R]"),
    ([[[1, 2]]], "input 'x' at [0, 0] must be a tile [1, 1], not an array [2]"),
)
def test_lists_of_another_depth(value: Any, message: str) -> None:
    assert raised(InputError, lambda: tiles(NUMBER, ["N", "R"], value)) == message


def test_names(graph: Graph) -> None:
    graph.tensor("a", (2, 2), BF16)
    graph.source("x", NUMBER, [1])
    for inputs, message in (
        ({}, "there is no input 'a'; the program needs a, x"),
        ({"a": np.zeros((2, 2))}, "there is no input 'x'; the program needs a, x"),
        ({"a": np.zeros((2, 2)), "x": [1], "y": 1}, "the program has no tensor or source 'y'; it has a, x"),
        ({"a": np.zeros((2, 3)), "x": [1]}, "input 'a' must have shape [2, 2], not [2, 3]"),
    ):
        assert raised(InputError, bind_inputs, graph, inputs) == message


def test_a_tensor_and_a_source_of_one_name(graph: Graph) -> None:
    graph.tensor("x", (1, 1), INT32)
    graph.source("x", NUMBER, [1])
    error = raised(InputError, lambda: bind_inputs(graph, {"x": [[1]]}))
    assert error == "'x' is a tensor and a source: rename one, so that each can have its data"


def test_tiles_are_cut_row_major() -> None:
    cut = cut_tiles(np.arange(24).reshape(4, 6), (2, 3))
    assert cut.shape == (4, 2, 3)
    assert [tile.tolist() for tile in cut[:2]] == [[[0, 1, 2], [6, 7, 8]], [[3, 4, 5], [9, 10, 11]]]
    assert cut[2, 0, 0] == 12
