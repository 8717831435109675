"""Programs that go from selectors to indices and back: expert-choice routing, and block-sparse attention of pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from step import BF16, FP8_E4M3, UINT32, Graph, Tile
from step.functions import Cast, Div, Exp, Matmul, RetileCol, RetileRow, RowMax, RowSum, Sub, TopK
from step.library import indices_of, selector_of

TOKENS, EXPERTS, CAPACITY, HIDDEN = 12, 3, 4, 8
PAGES, KEPT, ROWS = 10, 3, 4


def expert_choice(graph: Graph) -> dict[str, Any]:
    """Each of `EXPERTS` picks the `CAPACITY` tokens that score highest with it, and multiplies them by its weight.

    Outputs: ``chosen`` [experts] selectors of tokens, and ``y`` [experts] tiles [capacity, hidden]. Weights are FP8.
    """
    x = graph.tensor("x", (TOKENS, HIDDEN), BF16)
    router = graph.tensor("router", (EXPERTS, HIDDEN), BF16)
    weights = graph.tensor("weights", (EXPERTS * HIDDEN, HIDDEN), FP8_E4M3)
    rows = graph.load(router, tile=(1, HIDDEN), name="load_router").flatten(0, 1)
    tokens = graph.load(x, tile=(TOKENS, HIDDEN), out=(1,), reference=rows, name="load_tokens").flatten(0, 1)
    scores = rows.map(Matmul(transposed=True), tokens, name="scores")
    chosen = scores.map(TopK(CAPACITY), name="choice")
    chosen.sink("chosen")
    picked = indices_of(chosen, CAPACITY).load_random(x, tile=(1, HIDDEN), name="gather").accum(RetileRow())
    each = graph.load(weights, tile=(HIDDEN, HIDDEN), name="load_weights").flatten(0, 1).map(Cast(BF16), name="wide")
    picked.map(Matmul(), each, name="experts").sink("y")
    random = np.random.default_rng(1)
    shapes = {"x": x, "router": router, "weights": weights}
    return {name: random.standard_normal(each.shape).astype(each.dtype.numpy) for name, each in shapes.items()}


def chosen_tokens(data: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of every expert in ascending order, and what it makes of them, in float64."""
    x, router, weights = (data[name].astype(np.float64) for name in ("x", "router", "weights"))
    best = np.sort(np.argsort(-(router @ x.T), axis=1, kind="stable")[:, :CAPACITY], axis=1)
    return best, x[best] @ weights.reshape(EXPERTS, HIDDEN, HIDDEN)


def sparse_pages(graph: Graph, queries: int = 2) -> dict[str, Any]:
    """Every query attends to the `KEPT` pages whose mean key scores highest with it.

    Outputs: ``y`` [queries] rows; and ``pages`` [queries] selectors, of rows of page numbers as a host has them.
    """
    keys, values = (graph.tensor(name, (PAGES * ROWS, HIDDEN), BF16) for name in ("keys", "values"))
    means, listed = graph.tensor("means", (PAGES, HIDDEN), BF16), graph.tensor("listed", (queries, KEPT), UINT32)
    query = graph.source("query", Tile(BF16, 1, HIDDEN), [queries])
    summary = graph.load(means, tile=(PAGES, HIDDEN), out=(1,), reference=query, name="load_means").flatten(0, 1)
    pages = indices_of(query.map(Matmul(transposed=True), summary, name="page_scores").map(TopK(KEPT)), KEPT)
    found = [pages.load_random(each, tile=(ROWS, HIDDEN)) for each in (keys, values)]
    scores = query.buffered(4).repeat(KEPT).map(Matmul(transposed=True), found[0], name="key_scores")
    row = scores.accum(RetileCol(), name="scores_of_pages")
    weight = row.map(Sub(), row.map(RowMax())).map(Exp(), name="weight")
    whole = found[1].accum(RetileRow(), name="values_of_pages")
    mean = weight.map(Cast(BF16)).map(Matmul(), whole).map(Div(), weight.map(RowSum()), name="mean")
    mean.sink("y")
    table = graph.load(listed, tile=(1, KEPT), name="load_listed").flatten(0, 1)
    selector_of(table, PAGES).sink("pages")
    random = np.random.default_rng(2)
    shapes = {"keys": keys, "values": values}
    data: dict[str, Any] = {
        name: random.standard_normal(each.shape).astype(BF16.numpy) for name, each in shapes.items()
    }
    data["means"] = data["keys"].astype(np.float64).reshape(PAGES, ROWS, HIDDEN).mean(axis=1).astype(BF16.numpy)
    data["query"] = random.standard_normal((queries, 1, HIDDEN)).astype(BF16.numpy)
    data["listed"] = np.array([random.permutation(PAGES)[:KEPT] for _ in range(queries)], np.uint32)
    return data


def attended(data: dict[str, Any]) -> np.ndarray:
    """The same in float64."""
    query, means, keys, values = (data[name].astype(np.float64) for name in ("query", "means", "keys", "values"))
    results = []
    for (row,) in query:
        best = np.argsort(-(means @ row), kind="stable")[:KEPT]
        held, kept = (each.reshape(PAGES, ROWS, HIDDEN)[best].reshape(-1, HIDDEN) for each in (keys, values))
        weight = np.exp(held @ row - (held @ row).max())
        results.append(weight @ kept / weight.sum())
    return np.array(results)
