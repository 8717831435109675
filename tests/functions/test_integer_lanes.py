"""Multiply-accumulates of integers against NumPy, one or two in a multiplier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from driving import played
from verilated import Verilated

from hw.arithmetic.multiply_accumulate import IntegerMultiplyAccumulate
from step.functions.dequantize import unpacked

LANES = [(8, False), (4, False), (4, True)]


def vectors(bits: int, pairs: bool, count: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Operands of a lane by cycle, of which the sums come a cycle later, and the sums that leave with these.

    The first ones are all products that there are.
    """
    random = np.random.default_rng([bits, pairs])
    every = np.arange(1 << 16)
    first, second = (np.append(each, random.integers(0, 256, count)) for each in (every >> 8, every & 255))
    sums = random.choice([0, 1, -1, 2**31 - 1, -(2**31)], (len(first), 2)) + random.integers(-2, 3, (len(first), 2))
    sums = np.where(random.random(sums.shape) < 0.5, sums, random.integers(-(2**31), 2**31, sums.shape))
    bytes_of = second.astype(np.uint8).view(np.int8)[:, None]
    factors = unpacked(bytes_of)[:, : 1 + pairs] if bits == 4 else bytes_of
    wide = sums[:, : factors.shape[1]].astype(np.int32)
    wanted = wide + first.astype(np.uint8).view(np.int8)[:, None].astype(np.int32) * factors
    second = second if pairs or bits == 8 else second & 15
    late = np.pad(wide.view(np.uint32), ((1, 0), (0, 0)))
    return {"sum": late, "first": np.append(first, 0), "second": np.append(second, 0)}, wanted.view(np.uint32)


@pytest.mark.parametrize(("bits", "pairs"), LANES)
def test_lane(bits: int, pairs: bool) -> None:
    given, wanted = vectors(bits, pairs, 1000)
    kept = slice(64_000, None)
    wide = [int.from_bytes(each.astype("<u4").tobytes(), "little") for each in given["sum"][kept]]
    rows = {"sum": wide, **{name: given[name][kept].tolist() for name in ("first", "second")}}
    got = played(IntegerMultiplyAccumulate(bits, pairs=pairs), rows)[1:]
    assert got == [int.from_bytes(each.astype("<u4").tobytes(), "little") for each in wanted[kept]]


@pytest.mark.parametrize(("bits", "pairs"), LANES)
def test_lane_of_narrow_sums(bits: int, pairs: bool) -> None:
    width, given, wanted = 18, *vectors(bits, pairs, 500)
    kept, mask = slice(64_000, None), (1 << 18) - 1

    def packed(sums: np.ndarray) -> list[int]:
        return [sum(int(each) % (mask + 1) << width * at for at, each in enumerate(row)) for row in sums[kept]]

    rows = {"sum": packed(given["sum"]), **{name: given[name][kept].tolist() for name in ("first", "second")}}
    assert played(IntegerMultiplyAccumulate(bits, pairs=pairs, width=width), rows)[1:] == packed(wanted)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "pairs"), LANES)
def test_all_products_and_millions_of_sums_in_verilator(bits: int, pairs: bool, tmp_path: Path) -> None:
    given, wanted = vectors(bits, pairs, 10_000_000)
    got = Verilated(IntegerMultiplyAccumulate(bits, pairs=pairs), tmp_path).run(given)["result"][1:]
    assert (got == wanted).all()
