"""Fused sums in RTL against their NumPy definition, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import patterns
import pytest
from driving import played
from grids import grid
from verilated import Verilated

from hw.arithmetic.fused_sum import FusedNumbers, FusedProducts, FusedSum
from step.language import numerics
from step.language.dtypes import BF16
from step.language.fused import exponents, fused_sum, products
from step.lowering.limits import MOST_STAGES

Vectors = dict[str, np.ndarray]

KINDS: dict[str, type[FusedSum]] = {"products": FusedProducts, "numbers": FusedNumbers}
TERMS = (2, 4, 8, 16, 32)


def number_vectors(random: np.random.Generator, count: int, terms: int) -> Vectors:
    """FP32 patterns: rows of any, of near exponents, and of numbers that cancel in pairs."""
    anything = patterns.fp32(random, count * terms).reshape(count, terms)
    near = patterns.near(random, np.repeat(patterns.fp32(random, count), terms)).reshape(count, terms)
    finite = np.where((near >> 23 & 255) == 255, near & np.uint32(0xBFFFFFFF), near)
    opposite = finite ^ np.uint32(1 << 31)
    cancelling = np.concatenate([finite[:, : terms // 2], opposite[:, : terms // 2]], axis=1)
    few = np.where(random.random((count, terms)) < 0.7, finite & np.uint32(1 << 31), finite)
    kind = random.integers(0, 10, (count, 1))
    return {"values": np.choose(np.minimum(kind, 4), [anything, cancelling, few, near, finite])}


def product_vectors(random: np.random.Generator, count: int, terms: int) -> Vectors:
    first = number_vectors(random, count, terms)["values"] >> 16
    second = number_vectors(random, count, terms)["values"] >> 16
    again = np.repeat(second[:, :1], terms, axis=1)  # what cancels in the first one does
    return {"first": first, "second": np.where(random.random((count, 1)) < 0.4, again, second)}


VECTORS = {"products": product_vectors, "numbers": number_vectors}


def expected(vectors: Vectors) -> np.ndarray:
    """The definition, as patterns."""
    with numerics.quiet():
        if "values" in vectors:
            values = numerics.widen(vectors["values"].astype(np.uint32).view(np.float32))
            found = fused_sum(values.astype(np.float64), exponents(values), axis=1)
        else:
            factors = (vectors[name].astype(np.uint16).view(BF16.numpy) for name in ("first", "second"))
            found = fused_sum(*products(*map(numerics.widen, factors)), axis=1)
        return numerics.canonical(found).view(np.uint32)


def packed(vectors: Vectors) -> dict[str, np.ndarray]:
    """The words of each port, of 32 bits."""
    return {
        name: each.astype(np.uint32 if name == "values" else np.uint16).view(np.uint32)
        for name, each in vectors.items()
    }


def disagreements(vectors: Vectors, got: np.ndarray) -> list[Any]:
    """The first vectors with a wrong result."""
    wanted = expected(vectors)
    bad = np.flatnonzero(got != wanted)[:3]
    return [(f"{got[at]:08x}", f"{wanted[at]:08x}", {name: each[at] for name, each in vectors.items()}) for at in bad]


def simulate(component: FusedSum, vectors: Vectors) -> np.ndarray:
    """Results in Amaranth's simulator, a vector a cycle."""
    rows = {name: [int.from_bytes(row.tobytes(), "little") for row in each] for name, each in packed(vectors).items()}
    held = {name: [*each, *each[-1:] * component.depth] for name, each in rows.items()}
    return np.array(played(component, held)[component.depth :])


@grid(kind=KINDS, terms=TERMS, stages=range(1, len(FusedSum.cuts) + 1))
def test_a_sum_is_the_definition(kind: str, terms: int, stages: int) -> None:
    vectors = VECTORS[kind](np.random.default_rng([terms, stages]), 300, terms)
    assert disagreements(vectors, simulate(KINDS[kind](terms, stages), vectors)) == []


@pytest.mark.slow
@pytest.mark.parametrize("terms", TERMS[1:])
@pytest.mark.parametrize("kind", KINDS)
def test_millions_of_vectors_in_verilator(kind: str, terms: int, tmp_path: Path) -> None:
    """Ten million in all."""
    component = KINDS[kind](terms, MOST_STAGES)
    program = Verilated(component, tmp_path)
    for seed in range(13):
        vectors = VECTORS[kind](np.random.default_rng([8, seed]), 100_000, terms)
        timed = {name: np.pad(each, ((0, component.depth), (0, 0))) for name, each in packed(vectors).items()}
        assert disagreements(vectors, program.run(timed)["result"][component.depth :, 0]) == []
