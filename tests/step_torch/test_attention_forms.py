"""Attention of all forms against NumPy, on the interpreter and on the fast model, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single import Name, Operator, bf16, written

import step
import step_torch
from cosim.comparing.compare import compare

MARK, SDPA = "step.attention.default", "aten.scaled_dot_product_attention.default"
ROWS, QUERY, FEW, FLAT = 16, (1, 4, 16, 8), (1, 2, 16, 8), (2, 2, 16, 8)
RANDOM = np.random.default_rng(1)
LEFT = np.arange(ROWS)[None, None, None] > 5
ALIBI = -np.array([1.0, 0.5, 0.25, 0.125])[:, None] * np.arange(ROWS)[::-1]
CHUNK = np.arange(ROWS)[:, None] // 8 == np.arange(ROWS) // 8


def masked(data: np.ndarray) -> dict[str, Any]:
    """A mask that is a weight of the module."""
    return {"weights": {"m": data if data.dtype == bool else data.astype(bf16(1).dtype)}}


def given(data: np.ndarray) -> dict[str, Any]:
    """A mask that is an input."""
    return {"inputs": {"m": data if data.dtype == bool else data.astype(bf16(1).dtype)}}


FORMS: dict[str, dict[str, Any]] = {
    "full": {"causal": False},
    "causal": {},
    "causal in a batch": {"shapes": (FLAT, FLAT, FLAT)},
    "full in a batch, with groups": {"shapes": ((3, 4, 8, 8), (3, 2, 8, 8), (3, 2, 8, 8)), "causal": False},
    "other lengths": {"shapes": ((1, 2, 8, 8), (1, 2, 12, 8), (1, 2, 12, 8)), "causal": False},
    "a single query": {"shapes": ((1, 2, 1, 8), (1, 2, 12, 8), (1, 2, 12, 8)), "causal": False},
    "a single key": {"shapes": ((1, 2, 8, 8), (1, 2, 1, 8), (1, 2, 1, 8)), "causal": False},
    "one head": {"shapes": ((1, 1, 8, 8),) * 3},
    "wide values": {"shapes": (QUERY, FEW, (1, 2, 16, 16))},
    "narrow values in steps": {"shapes": (QUERY, FEW, (1, 2, 16, 4)), "tiling": {"rows": 2}},
    "a soft cap": {"softcap": 1.5},
    "sinks": {"sinks": [3.0, -2.0, 0.0, 1.0]},
    "sinks of all rows": {"sinks": [3.0, -2.0, 0.0, 1.0], "causal": False},
    **{f"a window of {size}": {"window": size} for size in (1, 3, 5, 8, 15)},
    "a window in a batch": {"window": 4, "shapes": (FLAT, FLAT, FLAT)},
    "a window, a sink and a cap": {"window": 3, "sinks": [3.0, -2.0, 0.0, 1.0], "softcap": 2.0},
    "a causal mask": {"causal": False, **masked(np.tri(ROWS, dtype=bool)[None, None])},
    "a window as a mask": {"causal": False, **masked(np.tri(ROWS, dtype=bool) & ~np.tri(ROWS, k=-5, dtype=bool))},
    "a mask of chunks": {**masked(CHUNK)},
    "a mask of chunks that look ahead": {"causal": False, **masked(CHUNK)},
    "padding": {"causal": False, **masked(LEFT)},
    "padding of causal rows": {**masked(LEFT)},
    "alibi": {**masked(ALIBI[None, :, None])},
    "a bias of each head": {"causal": False, **masked(RANDOM.standard_normal((1, 4, ROWS, ROWS)))},
    "an additive input": {"causal": False, **given(np.where(CHUNK, 0.5, -np.inf)[None, None])},
    "an additive input of each head": {**given(RANDOM.standard_normal((1, 4, ROWS, ROWS)))},
    "a boolean input": {"causal": False, **given(CHUNK[None, None])},
    "padding as an input": {**given(LEFT)},
}


def meant(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, form: Mapping[str, Any]) -> np.ndarray:
    """The result by NumPy."""
    k, v = (np.repeat(each, q.shape[1] // k.shape[1], 1) for each in (k, v))
    scores = scale * q @ k.swapaxes(-1, -2)
    scores = form["softcap"] * np.tanh(scores / form["softcap"]) if "softcap" in form else scores
    mask = {**form.get("weights", {}), **form.get("inputs", {})}.get("m", np.zeros((1, 1)))
    scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask.astype(np.float64)
    query, key = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    hidden = (key > query) & form.get("causal", True) | (key <= query - form.get("window", 1000))
    scores = np.where(hidden, -np.inf, scores)
    sink = np.asarray(form.get("sinks", [-1e9] * q.shape[1]))[:, None, None]
    largest = np.maximum(scores.max(-1, keepdims=True), sink)
    weights = np.exp(scores - largest)
    result: np.ndarray = (
        weights / (weights.sum(-1, keepdims=True) + np.exp(sink - largest) * ("sinks" in form) + 1e-30) @ v
    )
    return result


def imported(path: Path, form: Mapping[str, Any]) -> tuple[step_torch.Imported, np.ndarray]:
    """The program of a form, and its result by NumPy."""
    shapes = form.get("shapes", (QUERY, FEW, FEW))
    data = {name: bf16(*shape, seed=at) for at, (name, shape) in enumerate(zip("qkv", shapes, strict=True))}
    weights = dict(form.get("weights", {}))
    if "sinks" in form:
        weights["s"] = np.asarray(form["sinks"]).astype(bf16(1).dtype)
    inputs = {**data, **form.get("inputs", {})}
    read = [Name("m") if "m" in {**weights, **inputs} else None, Name("s") if "s" in weights else None]
    more = [form.get("causal", True), form.get("window"), form.get("softcap")]
    result = {"y": ("bfloat16", (*shapes[0][:-1], shapes[2][-1]))}
    operator = Operator(MARK, [*map(Name, "qkv"), 0.5, *read, *more], result)
    tiling = step_torch.Tiling(**form.get("tiling", {}))
    loaded = step_torch.load(written(path / "model.pt2", [operator], inputs, weights), tiling=tiling)
    q, k, v = (np.asarray(each, np.float64) for each in data.values())
    return loaded, meant(q, k, v, 0.5, form)


@pytest.mark.parametrize("name", FORMS)
def test_a_form(name: str, tmp_path: Path) -> None:
    loaded, right = imported(tmp_path, FORMS[name])
    runs = [step.run(loaded.program, "interpret"), step.run(loaded.program, "approx", values="all")]
    mine = [np.asarray(run.outputs["output"], np.float64).reshape(right.shape) for run in runs]
    assert np.abs(mine[0] - right).max() < 0.02 and np.array_equal(mine[0], mine[1])


def test_a_window_costs_a_window(tmp_path: Path) -> None:
    """Eight times as many rows take eight times as long, not sixty-four times."""
    cycles = []
    for rows in (32, 256):
        loaded, _ = imported(tmp_path, {"window": 5, "shapes": ((1, 1, rows, 8),) * 3})
        cycles.append(step.run(loaded.program, backend="approx").cycles or 0)
    assert cycles[1] < 9 * cycles[0]


@pytest.mark.large
@pytest.mark.parametrize("name", ["a window, a sink and a cap", "full in a batch, with groups", "a boolean input"])
def test_in_rtl(name: str, tmp_path: Path) -> None:
    loaded, _ = imported(tmp_path, FORMS[name])
    found = compare(loaded.program, optimize=False)
    assert found.passed and found.mismatches == 0, found.complaints
