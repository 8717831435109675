"""Columns that are drawn by their scores: as NumPy draws them in float64 with the same random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from drawing import drawn

import step
from step import BF16, FP32, UINT32, Graph, Program, Tile
from step.errors import ProgramError
from step.library import draw


def program(scores: np.ndarray, seed: int, temperature: float, top_k: int, top_p: float, most: int) -> Program:
    """One column is drawn for every row of ``scores`` [draws, rows, columns]; draws are numbered from 0 on."""
    draws, rows, columns = scores.shape
    graph = Graph("drawn")
    x = graph.source("scores", Tile(BF16, rows, 1), [draws, columns])
    whole, real = Tile(UINT32, rows, 1), Tile(FP32, rows, 1)
    given = [graph.source(f"given_{at}", tile, [draws]) for at, tile in enumerate((whole, whole, real, whole, real))]
    draw(x, *given, most=most).sink("y")
    inputs = {"scores": scores.transpose(0, 2, 1)[..., None]}
    values: tuple[Any, ...] = (seed, np.arange(draws)[:, None, None], 1 / temperature, top_k, top_p)
    for at, each in enumerate(values):
        inputs[f"given_{at}"] = np.broadcast_to(each, (draws, rows, 1))
    return Program(graph, inputs)


@cases(
    (1, 1.0, 12, 1.0, 12),
    (2, 0.7, 5, 1.0, 12),
    (3, 1.5, 12, 0.8, 8),
    (4, 2.0, 3, 0.6, 3),
    (5, 1.0, 1, 1.0, 12),
    (6, 0.01, 12, 1.0, 12),
)
def test_as_numpy_draws(seed: int, temperature: float, top_k: int, top_p: float, most: int) -> None:
    scores = np.random.default_rng(seed).integers(-8, 8, (20, 2, 12)).astype(BF16.numpy) / BF16.numpy.type(4)
    made = program(scores, seed, temperature, top_k, top_p, most)
    meant, timed = step.run(made, "interpret"), step.run(made, "approx", values="all")
    found = np.asarray(meant.outputs["y"])[..., 0]
    assert np.array_equal(found, np.asarray(timed.outputs["y"])[..., 0])
    for number, rows in enumerate(scores):
        expected = [drawn(row, seed, number, temperature, min(top_k, most), top_p) for row in rows]
        assert found[number].tolist() == expected


def test_as_often_as_it_is_likely() -> None:
    scores = np.log(np.array([0.5, 0.125, 0.25, 0.125])).astype(BF16.numpy)
    made = program(np.broadcast_to(scores, (2000, 1, 4)), 9, 1.0, 4, 1.0, 4)
    found = np.asarray(step.run(made, "interpret").outputs["y"]).ravel()
    assert np.abs(np.bincount(found, minlength=4) / 2000 - [0.5, 0.125, 0.25, 0.125]).max() < 0.03


def test_scores_of_no_fixed_number() -> None:
    graph = Graph("ragged")
    x = graph.source("x", Tile(BF16), [2, graph.symbol("n")])
    with pytest.raises(ProgramError, match=r"^draw 'draw' .*: scores must be a fixed number of static tiles, but x "):
        draw(x, x, x, x, x, x)
