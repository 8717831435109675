"""Formats that are only stored, FP16 and FP8: what their numbers are, where they are kept, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import cases
from raising import raising

from step import (
    BF16,
    BOOL,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    INT8,
    UINT32,
    FabricConfig,
    Graph,
    Program,
    Tile,
    interpret,
    load_program,
    metrics,
    run,
)
from step.errors import InputError, TypeMismatch
from step.functions import Cast, Matmul, MaxIndex, RetileRow, Scale, Where
from step.language.dtypes import STORED, DType

NAN, INF = float("nan"), float("inf")


def tile(*scalars: float, dtype: DType = FP32) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array([scalars]).astype(dtype.numpy)


def bits(values: np.ndarray) -> list[str]:
    return [f"{int(each):x}" for each in values[0].view(f"u{values.itemsize}")]


def every(dtype: DType) -> np.ndarray:
    return np.arange(1 << dtype.bits, dtype=f"u{dtype.bytes}").view(dtype.numpy)[None]


def value_of(pattern: int, dtype: DType) -> float:
    """By the definition: OCP's FP8 and IEEE 754."""
    exponents, fractions = {FP16: (5, 10), FP8_E4M3: (4, 3), FP8_E5M2: (5, 2)}[dtype]
    fraction, exponent = pattern & (1 << fractions) - 1, pattern >> fractions & (1 << exponents) - 1
    sign, bias = (-1) ** (pattern >> exponents + fractions), (1 << exponents - 1) - 1
    full = exponent == (1 << exponents) - 1
    if dtype is FP8_E4M3 and full and fraction == 7:
        return NAN
    if dtype is not FP8_E4M3 and full:
        return NAN if fraction else sign * INF
    if exponent == 0:
        return float(sign) * fraction * 2.0 ** (1 - bias - fractions)
    return float(sign * (1 + fraction / (1 << fractions)) * 2.0 ** (exponent - bias))


@pytest.mark.parametrize("dtype", STORED)
def test_every_number_widens_without_a_rounding(dtype: DType) -> None:
    """NaN is the canonical one; and all of them come back."""
    numbers = every(dtype)
    wide = Cast(FP32).apply(numbers)
    exact = np.array([value_of(each, dtype) for each in range(1 << dtype.bits)], np.float32)
    exact[np.isnan(exact)] = np.nan
    assert np.array_equal(wide[0].view(np.uint32), exact.view(np.uint32))
    back, some = Cast(dtype).apply(wide), ~np.isnan(wide)
    assert np.array_equal(back[some].view(f"u{dtype.bytes}"), numbers[some].view(f"u{dtype.bytes}"))
    assert dtype is FP16 or np.array_equal(Cast(BF16).apply(numbers)[some].astype(np.float32), wide[some])


LARGEST = {FP16: 65504.0, FP8_E4M3: 448.0, FP8_E5M2: 57344.0}
LEAST = {FP16: 2.0**-24, FP8_E4M3: 2.0**-9, FP8_E5M2: 2.0**-16}
TIE = {FP16: 65520.0, FP8_E4M3: 464.0, FP8_E5M2: 61440.0}
"""Halfway from the largest number to what would be the next one, which is even in all but FP8_E4M3."""


@pytest.mark.parametrize("dtype", STORED)
def test_the_ends_of_the_range(dtype: DType) -> None:
    """Beyond are infinities, or NaN; halves of the least number are ties."""
    least, most, tie = LEAST[dtype], LARGEST[dtype], TIE[dtype]
    beyond = NAN if dtype is FP8_E4M3 else INF
    given = tile(most, np.nextafter(np.float32(tie), 0), tie, 2 * tie, -2 * tie, INF, -INF, NAN)
    at_tie = most if dtype is FP8_E4M3 else beyond
    assert str(Cast(dtype).apply(given)[0].tolist()) == str([most, most, at_tie, beyond, -beyond, beyond, -beyond, NAN])
    assert np.isnan(Cast(dtype, saturate=True).apply(given)[0, -1])
    assert Cast(dtype, saturate=True).apply(given)[0, :-1].tolist() == [most, most, most, most, -most, most, -most]
    small = tile(least / 2, np.nextafter(np.float32(least / 2), 1), 1.5 * least, -least / 2, 1e-40, -1e-40)
    assert Cast(dtype).apply(small)[0].tolist() == [0, least, 2 * least, 0, 0, 0]
    assert np.signbit(Cast(dtype).apply(small)).tolist() == [[False, False, False, True, False, True]]


def test_nan_is_the_canonical_one() -> None:
    nan = np.array([[0xFFFFFFFF, 0x7F800001]], np.uint32).view(np.float32)
    assert [bits(Cast(each).apply(nan)) for each in STORED] == [["7e00"] * 2, ["7f"] * 2, ["7e"] * 2]
    assert bits(Cast(FP8_E4M3).apply(tile(-1e9, 1e9))) == ["7f", "7f"]


def test_between_stored_formats_integers_and_truth_values() -> None:
    assert Cast(FP8_E5M2).apply(tile(1.125, 1.375, 448, dtype=FP8_E4M3)).tolist() == [[1, 1.5, 448]]
    assert Cast(FP8_E4M3, saturate=True).apply(tile(65504, -INF, dtype=FP16)).tolist() == [[448, -448]]
    assert Cast(INT8).apply(tile(0.5, 1.5, -448, NAN, dtype=FP8_E4M3)).tolist() == [[0, 2, -128, 0]]
    assert Cast(FP8_E4M3).apply(tile(17, 19, dtype=INT8)).tolist() == [[16, 20]]
    assert Cast(BOOL).apply(tile(2.0**-9, -0.0, NAN, dtype=FP8_E4M3)).tolist() == [[True, False, True]]
    assert bits(Cast(BF16).apply(tile(2049, dtype=FP16))) == bits(tile(2048, dtype=BF16))  # the one that rounds


def product(dtype: DType) -> tuple[Graph, dict[str, Any]]:
    """Rows by weights of ``dtype``, in their order, and the result as these are."""
    random, graph = np.random.default_rng(4), Graph("stored")
    weights = graph.tensor("w", (32, 16), dtype)
    rows = graph.source("x", Tile(BF16, 2, 32), [3])
    loaded = graph.load(weights, tile=(32, 16), reference=rows, name="load_w").flatten(0, 2)
    wide = loaded.map(Cast(BF16), name="wide")
    rows.map(Matmul(), wide).map(Cast(dtype, saturate=True), name="narrow").store("y")
    data = {"x": random.standard_normal((3, 2, 32)), "w": random.standard_normal((32, 16))}
    return graph, {name: each.astype(BF16.numpy if name == "x" else dtype.numpy) for name, each in data.items()}


@pytest.mark.parametrize("dtype", STORED)
def test_a_product_with_stored_weights(dtype: DType, tmp_path: Path) -> None:
    """Memory, links and files have the bytes of the narrow format."""
    graph, data = product(dtype)
    traffic = 3 * (32 * 16 + 2 * 16) * dtype.bytes
    assert metrics(graph).off_chip_bytes == traffic
    program = Program(graph, data)
    assert run(program, "approx").result.off_chip_bytes == traffic
    outputs = interpret(graph, program.inputs).outputs["y"]
    exact = Cast(BF16).apply(data["w"]).astype(np.float64)
    got = np.array([each.value for each in outputs if each.has_value]).astype(np.float64)
    assert np.allclose(got, data["x"].astype(np.float64) @ exact, rtol=2.0 ** -int(ml_dtypes.finfo(dtype.numpy).nmant))
    program.save(tmp_path / "p.json")
    assert load_program(tmp_path / "p.json") == program


def test_links_and_channels_are_as_narrow() -> None:
    """A word of the link has four times the scalars of FP32, and a channel a quarter of its bits."""
    cycles = {}
    for dtype in (FP32, FP16, FP8_E4M3):
        graph = Graph("copy")
        graph.source("x", Tile(dtype, 4, 64), [20]).sink("y")
        data = {"x": np.zeros((20, 4, 64), dtype.numpy)}
        cycles[dtype] = run(Program(graph, data, FabricConfig(link_bytes=16)), "approx").result.cycles
    assert cycles[FP32] > 1.9 * cycles[FP16] > 3.6 * cycles[FP8_E4M3]


STORED_ONLY = "FP8_E4M3 is only stored: widen it, by .map(Cast(BF16))"


def test_reductions_are_refused() -> None:
    with pytest.raises(TypeMismatch) as caught:
        MaxIndex().state_type((), Tile(FP8_E4M3), Tile(UINT32))
    assert str(caught.value).endswith(f"not Tile(FP8_E4M3, 1, 1), Tile(UINT32, 1, 1); {STORED_ONLY}")


def test_signs_are_refused() -> None:
    x = Graph("signs").source("x", Tile(FP8_E4M3, 2, 3), [4])
    for apply in (lambda: x * 2.0, lambda: x + 1, lambda: x.map(Scale(2.0))):
        with pytest.raises(TypeMismatch) as caught:
            apply()
        assert STORED_ONLY in str(caught.value)


def test_what_only_moves_data_takes_them() -> None:
    numbers = Tile(FP8_E4M3, 2, 3)
    assert Where().result_type(Tile(BOOL, 2, 3), numbers, numbers) == numbers
    assert RetileRow().state_type((), numbers).dtype is FP8_E4M3


@cases(
    (FP16, 65520.0, "input 'x' at [1, 0] is 65520.0, but FP16 ends at 65504; give inf if that is meant"),
    (FP8_E5M2, 1e9, "input 'x' at [1, 0] is 1000000000.0, but FP8_E5M2 ends at 57344; give inf if that is meant"),
    (FP8_E4M3, -500.0, "input 'x' at [1, 0] is -500.0, but FP8_E4M3 ends at 448, and has no infinities"),
    (FP8_E4M3, INF, "input 'x' at [1, 0] is inf, but FP8_E4M3 ends at 448, and has no infinities"),
)
def test_data_that_they_do_not_have(dtype: DType, value: float, text: str, graph: Graph) -> None:
    graph.load(graph.tensor("x", (2, 2), dtype), tile=(2, 2)).sink("y")
    with raising(InputError, text):
        interpret(graph, {"x": [[1.0, 2.0], [value, 3.0]]})


def test_data_is_rounded_once(graph: Graph) -> None:
    graph.load(graph.tensor("x", (1, 4), FP8_E4M3), tile=(1, 4)).sink("y")
    given = [1.0625 + 1e-12, 1.0625, 1e-9, NAN]  # just above a tie, which FP32 in between would lose
    (token, *_) = interpret(graph, {"x": [given]}).outputs["y"]
    assert token.value[0, :3].tolist() == [1.125, 1.0, 0.0] and np.isnan(token.value[0, 3])
    with pytest.raises(InputError) as caught:
        interpret(graph, {"x": np.zeros((1, 4), np.uint8)})
    assert str(caught.value) == (
        "input 'x' is uint8, which could be bit patterns of FP8_E4M3 or values; give bits(array) (x.bits in an .npz "
        "file) for bit patterns, array.astype(float) for values"
    )


def test_constants(graph: Graph) -> None:
    graph.constant([[0.1, 448]], [2], dtype="FP8_E4M3").sink("y")
    (token, *_) = interpret(graph, {}).outputs["y"]
    assert token.value.tolist() == [[0.1015625, 448]]
    for value in (500, INF):
        with pytest.raises(TypeMismatch) as caught:
            graph.constant(value, [2], dtype=FP8_E4M3)
        text = f"a constant of FP8_E4M3 must be numbers that FP8_E4M3 has, not {value!r}"
        assert str(caught.value).partition(": ")[2] == text


def test_integers_of_eight_bits_are_not_them(graph: Graph) -> None:
    """The types of arrays tell the formats apart."""
    graph.load(graph.tensor("x", (1, 2), INT8), tile=(1, 2)).sink("y")
    with pytest.raises(InputError):
        interpret(graph, {"x": np.array([[0.5, 1]], FP8_E4M3.numpy)})
