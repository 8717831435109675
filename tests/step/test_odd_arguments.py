"""Arguments of the odd kinds that NumPy and people have: an error of the toolkit, never one of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import cases
from raising import raised

import step
from step import BF16, FP32, FabricConfig, Graph, Program, Tile
from step.errors import FabricError, InputError, StepError, TypeMismatch, UnknownName
from step_models import check_lengths, check_routing

ARRAY = np.array([1, 2])
POINT = np.array(3)
"""An array without dimensions, which no loop goes over."""


def program() -> Program:
    graph = Graph("p")
    (graph.source("x", Tile(FP32), [2]) + 1).sink("y")
    return Program(graph, {"x": [1, 2]})


@cases(
    (lambda: Graph("g").source("x", Tile(FP32), POINT), TypeMismatch,  # type: ignore[arg-type]
     "source needs dims to be a list, each a Dim or an integer, not 3; did you mean [3]?"),
    (lambda: Graph("g").tensor("w", POINT, BF16), TypeMismatch,  # type: ignore[arg-type]
     "tensor needs dims to be a list, each an integer, not 3"),
    (lambda: Graph("g").turns(2, POINT), TypeMismatch,  # type: ignore[arg-type]
     "turns needs order to be a list, each an integer or a list, each an integer or None, not 3"),
    (lambda: Graph("g").reassemble(POINT, POINT), TypeMismatch,  # type: ignore[arg-type]
     "reassemble needs inputs to be a list, each a Stream, not 3"),
    (lambda: step.run(program(), ARRAY), UnknownName, "there is no back end array([1, 2]); "),  # type: ignore[arg-type]
    (lambda: step.lower(program().graph, None), InputError,  # type: ignore[arg-type]
     "fabric must be a FabricConfig, not None"),
    (lambda: step.lower(program(), FabricConfig()), InputError,  # type: ignore[arg-type]
     "graph must be a Graph, not <program p: 4 operators, 1 inputs>"),
    (lambda: FabricConfig(arithmetic=ARRAY), FabricError,  # type: ignore[arg-type]
     'arithmetic must be "rtl" or "model", not array([1, 2])'),
    (lambda: step.sweep(program, {"fabric.stages": [1]}, objectives=[3]), InputError,  # type: ignore[list-item]
     "there is no objective 3; there are "),
    (lambda: step.sweep(program, {"fabric.stages": [1]}, objectives=POINT), StepError, ""),  # type: ignore[arg-type]
    (lambda: step.fit(program(), within=float("inf")), InputError, "within must be at most 1,000,000, not inf"),
    (lambda: step.tune(program, {"fabric.stages": 1}, within=float("inf")), InputError,  # type: ignore[dict-item]
     "within must be at most 1,000,000, not inf"),
    (lambda: step.tune(program, {"fabric.stages": 1}, jobs=1), InputError, ""),  # type: ignore[dict-item]
    (lambda: step.tune(program, {"fabric.stages": []}, jobs=1), InputError, ""),
    (lambda: check_routing([[1], [2, 3]], 4), InputError,  # type: ignore[arg-type]
     "routing has rows of different lengths, which is no array"),
    (lambda: check_lengths([[1], [2, 3]]), InputError,  # type: ignore[arg-type]
     "KV lengths has rows of different lengths, which is no array"),
)  # fmt: skip
def test_odd_arguments(make: Callable[[], Any], kind: type[StepError], text: str) -> None:
    error = raised(kind, make)
    assert text in error


def test_an_array_without_dimensions_is_its_number() -> None:
    assert str(Graph("g").source("x", Tile(FP32), [POINT]).type) == "[3] of Tile(FP32, 1, 1)"  # type: ignore[list-item]
    assert FabricConfig(stages=POINT).stages == 3  # type: ignore[arg-type]
