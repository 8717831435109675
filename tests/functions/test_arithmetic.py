"""The arithmetic leaves against the NumPy definitions, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import patterns
import pytest
from amaranth.sim import Simulator
from verilated import HARMLESS, Verilated, kinds, lint

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import Convert
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.multiply_accumulate import MultiplyAccumulate
from hw.arithmetic.silu import Silu
from hw.shared import Parametric
from step.functions.matmul import Matmul
from step.functions.silu import silu
from step.language import numerics
from step.language.dtypes import BF16, FP32
from step.lowering.fabric import MOST_STAGES

Vectors = dict[str, np.ndarray]
Leaf = tuple[Callable[[int], Parametric], Callable[[np.random.Generator, int], Vectors], Callable[..., np.ndarray]]


def fp32(values: np.ndarray) -> np.ndarray:
    return numerics.widen(values.astype(np.uint32).view(np.float32))


def bf16(values: np.ndarray) -> np.ndarray:
    return numerics.widen(values.astype(np.uint16).view(BF16.numpy))


def pairs(random: np.random.Generator, count: int) -> Vectors:
    first = patterns.fp32(random, count)
    return {"first": first, "second": patterns.near(random, first)}


def halves(random: np.random.Generator, count: int) -> Vectors:
    return {name: values >> 16 for name, values in pairs(random, count).items()}


def accumulations(random: np.random.Generator, count: int) -> Vectors:
    operands = halves(random, count)
    product = numerics.flush(bf16(operands["first"]) * bf16(operands["second"])).view(np.uint32)
    return {"sum": patterns.near(random, product), **operands}


def single(random: np.random.Generator, count: int) -> Vectors:
    return {"value": patterns.fp32(random, count)}


def single_half(random: np.random.Generator, count: int) -> Vectors:
    return {"value": patterns.fp32(random, count) >> 16}


def around_zero(random: np.random.Generator, count: int) -> Vectors:
    moderate = random.normal(0, 40, count).astype(np.float32).view(np.uint32)
    return {"value": np.where(random.random(count) < 0.7, moderate, patterns.fp32(random, count))}


def accumulate(sum: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The definition itself, one scalar after the other where K is 1: a row by a 1 x 1 tile would not do."""
    state = np.array([numerics.flush(sum.astype(np.uint32).view(np.float32))])
    columns = second.astype(np.uint16).view(BF16.numpy)[None]
    rows = first.astype(np.uint16).view(BF16.numpy)
    parts = [Matmul().update(state[:, [at]], rows[[at], None], columns[:, [at]]) for at in range(len(rows))]
    return np.concatenate(parts, axis=1)[0].view(np.uint32)


LEAVES: dict[str, Leaf] = {
    "add": (Fp32Add, pairs, lambda first, second: _bits(numerics.add(fp32(first), fp32(second)))),
    "multiply": (Fp32Multiply, pairs, lambda first, second: _bits(numerics.multiply(fp32(first), fp32(second)))),
    "multiply_bf16": (Bf16Multiply, halves, lambda first, second: _bits(numerics.flush(bf16(first) * bf16(second)))),
    "accumulate": (MultiplyAccumulate, accumulations, accumulate),
    "to_bf16": (
        lambda stages: Convert(FP32, BF16),
        single,
        lambda value: numerics.narrow(fp32(value), BF16).view(np.uint16),
    ),
    "to_fp32": (lambda stages: Convert(BF16, FP32), single_half, lambda value: _bits(bf16(value))),
    "same_fp32": (lambda stages: Convert(FP32, FP32), single, lambda value: _bits(fp32(value))),
    "same_bf16": (
        lambda stages: Convert(BF16, BF16),
        single_half,
        lambda value: numerics.narrow(bf16(value), BF16).view(np.uint16),
    ),
    "silu": (Silu, around_zero, lambda value: _bits(silu(fp32(value)))),
}


def _bits(values: np.ndarray) -> np.ndarray:
    return numerics.canonical(values).view(np.uint32)


def expected(leaf: Leaf, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
    with numerics.quiet():
        return leaf[2](**vectors)


def vectors_of(leaf: Leaf, random: np.random.Generator, count: int) -> Vectors:
    with numerics.quiet():
        return leaf[1](random, count)


def disagreements(vectors: Mapping[str, np.ndarray], got: np.ndarray, wanted: np.ndarray) -> list[Any]:
    """The first vectors with a wrong result, as text."""
    bad = np.flatnonzero(got != wanted)[:5]
    return [[f"{name} {values[at]:08x}" for name, values in vectors.items()] + [f"{got[at]:08x}"] for at in bad]


def in_time(component: Parametric, vectors: Mapping[str, np.ndarray]) -> tuple[Vectors, int]:
    """``vectors`` by cycles, each operand when it is wanted and up to the last result, and cycles before the first."""
    depth = getattr(component, "depth", 0)
    waits = {"sum": component.product_cycles} if isinstance(component, MultiplyAccumulate) else {}
    timed = {}
    for name, values in vectors.items():
        wait = waits.get(name, 0)
        timed[name] = np.pad(values, (wait, depth - wait))
    return timed, depth


def simulate(component: Parametric, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Results in Amaranth's simulator, a vector a cycle."""
    results: list[int] = []
    timed, depth = in_time(component, vectors)

    async def bench(ctx: Any) -> None:
        for cycle, row in enumerate(zip(*timed.values(), strict=True)):
            for name, value in zip(timed, row, strict=True):
                ctx.set(getattr(component, name), int(value))
            if cycle >= depth:
                results.append(ctx.get(component.result))
            if component.clocked:
                await ctx.tick()

    simulator = Simulator(component)
    if component.clocked:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return np.array(results)


STAGES = range(1, MOST_STAGES + 1)
UNCUT = ("to_bf16", "to_fp32", "same_fp32", "same_bf16")
STAGED = [(name, stages) for name in LEAVES for stages in ([1] if name in UNCUT else STAGES)]
"""Leaves, with all the numbers of stages that matter to them."""


@pytest.mark.parametrize("name, stages", STAGED)
def test_leaf_is_the_definition(name: str, stages: int) -> None:
    leaf = LEAVES[name]
    vectors = vectors_of(leaf, np.random.default_rng(6), 3000)
    component = leaf[0](stages)
    assert disagreements(vectors, simulate(component, vectors), expected(leaf, vectors)) == []


@pytest.mark.parametrize("name, stages", [each for each in STAGED if each[0] in ("add", "multiply")])
def test_every_pair_of_corners(name: str, stages: int) -> None:
    """A sample of all pairs of extreme numbers, the same in every run."""
    leaf = LEAVES[name]
    corners = patterns.corners()
    first, second = (each.ravel()[::37] for each in np.meshgrid(corners, corners))
    vectors = {"first": first, "second": second}
    assert disagreements(vectors, simulate(leaf[0](stages), vectors), expected(leaf, vectors)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name, stages", [each for each in STAGED if each[0] != "accumulate"])
def test_millions_of_vectors_in_verilator(name: str, stages: int, tmp_path: Path) -> None:
    leaf = LEAVES[name]
    component = leaf[0](stages)
    program = Verilated(component, tmp_path)
    vectors = vectors_of(leaf, np.random.default_rng(7), 3_000_000)
    timed, depth = in_time(component, vectors)
    got = program.run(timed)["result"][depth:, 0]
    assert disagreements(vectors, got, expected(leaf, vectors)) == []


@pytest.mark.parametrize("name", LEAVES)
def test_verilog_has_only_harmless_warnings(name: str, tmp_path: Path) -> None:
    said = lint(LEAVES[name][0](MOST_STAGES), tmp_path)
    assert kinds(said) <= HARMLESS, said
