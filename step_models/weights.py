"""Data of workloads: random values, or none where only the time is wanted, and what is expected of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import ml_dtypes
import numpy as np

from step import FabricConfig, Graph, Program
from step.language.graph import Tensor
from step_models.fabrics import fitting


def normal(random: np.random.Generator, *shape: int, deviation: float = 1.0) -> np.ndarray:
    """Normally distributed numbers, rounded to BF16."""
    return (deviation * random.standard_normal(shape)).astype(ml_dtypes.bfloat16)


def projection(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A weight [rows, columns] with the variance that keeps activations near one."""
    return normal(random, rows, columns, deviation=1 / np.sqrt(rows))


def blank(tensor: Tensor) -> np.ndarray:
    """Zeros in the tensor's shape, which take no memory."""
    return np.broadcast_to(np.zeros((), tensor.dtype.numpy), tensor.shape)


def blank_tensors(graph: Graph) -> dict[str, np.ndarray]:
    """`blank` data for all tensors of a program, for runs in which only the time is wanted."""
    return {name: blank(tensor) for name, tensor in graph.tensors.items()}


Data = tuple[dict[str, np.ndarray], dict[str, tuple[np.ndarray, np.ndarray]]]
"""Inputs, and the float64 results of outputs, each with a bound on the error per element."""


def finished(
    graph: Graph,
    fabric: FabricConfig | None,
    make: Callable[[np.random.Generator], Data] | None,
    given: Mapping[str, np.ndarray] = MappingProxyType({}),
    rows: int = 1,
) -> Program:
    """The program of ``graph`` on ``fabric``, by default the smallest one that has room for its tiles, of so many
    ``rows`` where these are dynamic.

    ``make`` makes its data; without it all but what is ``given`` is zeros, and nothing is expected.
    """
    fabric = fitting(graph, rows=rows) if fabric is None else fabric
    if make is None:
        return Program(graph, {**blank_tensors(graph), **given}, fabric)
    inputs, results = make(np.random.default_rng(0))
    tolerance = float(max(bound.max() / np.abs(result).max() for result, bound in results.values()))
    return Program(graph, inputs, fabric, {name: result for name, (result, _) in results.items()}, tolerance)
