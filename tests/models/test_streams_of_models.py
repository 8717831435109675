"""Parts of models whose routing and lengths are made by the program itself, and such parts with extents of 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from running_models import assert_runs

from step import BF16, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.functions import Add
from step_models import Configuration, attention, decoder, moe, projection, sampled_routing, swiglu
from step_models.attending import Attention
from step_models.mixture import Mixture
from step_models.router import scores
from step_models.weights import normal
from step_models.weights import projection as weight

FABRIC = FabricConfig(matmul_lanes=4, vector_lanes=2, link_bytes=16, memory=MemoryConfig(beat_bytes=16))


def routed(graph: Graph, tokens: int = 6, experts: int = 3, chosen: int = 2, **how: Any) -> Program:
    """A mixture of experts behind its router; two of three experts, or as many as are ``chosen``."""
    hidden, inner, random = 16, 8, np.random.default_rng(2)
    mixture = Mixture(experts, hidden, inner, **{"rows": 2, "depth": hidden, "columns": 8, **how})
    rows = graph.load(graph.tensor("x", (tokens, hidden), BF16), tile=(1, hidden), name="load_x").flatten(0, 2)
    router = graph.tensor("router", (hidden, experts), BF16)
    routes = mixture.chosen(scores(graph, rows, router), chosen)
    mixture.mix(graph, rows.buffered(tokens + 1), routes).store("output")
    x, matrix = normal(random, tokens, hidden), weight(random, hidden, experts)
    weights = [swiglu.random_weights(random, hidden, inner) for _ in range(experts)]
    logits = x.astype(np.float64) @ matrix.astype(np.float64)
    routing = np.argsort(-logits, axis=1, kind="stable")[:, :chosen]
    shares = np.exp(np.take_along_axis(logits, routing, 1))
    shares /= shares.sum(1, keepdims=True)
    expected, bound = moe.mixture_reference(x, routing, shares, weights)
    inputs = {"x": x, "router": matrix, **mixture.tensors(weights)}
    tolerance = float(bound.max() / np.abs(expected).max()) + 2**-9  # of the shares, which are BF16
    return Program(graph, inputs, FABRIC, expected={"output": expected}, tolerance=tolerance)


@cases({}, {"rows": None}, {"regions": 1}, {"tokens": 1}, {"experts": 1, "chosen": 1}, ids=str)
def test_a_mixture_behind_its_router(how: dict[str, Any]) -> None:
    assert_runs(routed(Graph("routed"), **how))


def behind(graph: Graph, before: np.ndarray) -> dict[str, np.ndarray]:
    """Attention whose lengths are one more than those ``before``, as a sum of the program."""
    count, size, random = len(before), 4, np.random.default_rng(3)
    part = Attention(graph, count, 3, 2, size, 1, 1, "interleaved", in_memory=False, prefix="a_")
    earlier = graph.source("before", Tile(UINT32), [count])
    length = earlier.map(Add(), graph.constant(1, dtype=UINT32, reference=earlier), name="length")
    new = {each: graph.source(each, Tile(BF16, 1, size), [count]) for each in ("keys", "values", "query")}
    work = part.append(length, new.__getitem__, new["query"])
    part.results(work, in_order=True).item_of(1).sink("attended")
    caches = {each: normal(random, 6 * count, size) for each in ("a_keys", "a_values")}
    return {"before": before, **caches, **{each: normal(random, count, size).reshape(count, 1, size) for each in new}}


def test_attention_of_lengths_that_the_program_makes() -> None:
    before = np.array([0, 2, 1, 4])
    graph = Graph("made")
    inputs = behind(graph, before)
    caches = {name: inputs[f"a_{name}"].astype(np.float64).reshape(-1, 6, 4) for name in ("keys", "values")}
    expected = []
    for at, length in enumerate(before + 1):
        for name, cache in caches.items():
            cache[at, length] = inputs[name][at]
        rows = [caches[name][at, : length + 1] for name in ("keys", "values")]
        expected.append(attention.reference(inputs["query"][at].astype(np.float64), *rows)[0])
    assert_runs(Program(graph, inputs, FABRIC, expected={"attended": np.concatenate(expected)}, tolerance=2**-7))


ONES: dict[str, Any] = {
    "an expert": lambda: swiglu.program(1, 1, 1, rows=1, columns=1),
    "a mixture": lambda: moe.program(np.array([[0]]), experts=1, hidden=1, inner=1, rows=1, columns=1),
    "a mixture on one tile": lambda: moe.program(np.array([[0]]), experts=1, hidden=1, inner=1, rows=None, columns=1),
    "a region": lambda: moe.program(np.array([[0]]), experts=1, hidden=1, inner=1, rows=1, columns=1, regions=1),
    "attention": lambda: attention.program(np.array([0]), heads=1, group=1, size=1, rows=1, regions=1),
    "attention on one tile": lambda: attention.program(np.array([0]), heads=1, group=1, size=1, rows=None, regions=1),
    "coarse attention": lambda: attention.program(
        np.array([1]), arrangement="coarse", heads=1, group=1, size=1, rows=1, regions=1
    ),
    "projections": lambda: projection.program(1, 1, 1, 1, 1, rows=1, columns=1),
    "the output projection": lambda: projection.output_program(1, 1, 1, 1, rows=1, columns=1),
    "a layer": lambda: decoder.program(  # whose one result is no small difference of large terms
        Configuration("ones", 1, 1, 1, 1, 1, 1, 1, 1),
        np.array([2]),
        [sampled_routing(1, 1, 1)],
        decoder.Schedule(rows=1, columns=1, expert_rows=1, cache_rows=1, regions=1),
    ),
}


@pytest.mark.parametrize("make", ONES.values(), ids=ONES)
def test_extents_of_one(make: Any) -> None:
    assert_runs(make())
