"""Data of workloads: random values, or none where only the time is wanted, and what is expected of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from step import FabricConfig, Graph, Program
from step.language.graph import Tensor


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


def expecting(
    graph: Graph, inputs: dict[str, np.ndarray], results: dict[str, tuple[np.ndarray, np.ndarray]], fabric: FabricConfig
) -> Program:
    """A program with the float64 ``results`` of its outputs, each with a bound on the error per element."""
    return Program(
        graph,
        inputs,
        fabric,
        expected={name: result for name, (result, _) in results.items()},
        tolerance=float(max(bound.max() / np.abs(result).max() for result, bound in results.values())),
    )
