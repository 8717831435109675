"""Norms: of rows of the last dimensions, of groups of channels, and by statistics that are parameters."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from step import FP32
from step.functions import Add, Mul, MulAdd
from step_models.projection import standardized
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value, sizes
from step_torch.lowerings.elementwise import alongside
from step_torch.registry import lowers
from step_torch.sources import Stored, supported
from step_torch.views import in_shape


@lowers("aten.layer_norm.default")
def layer_norm(
    at: Importer,
    x: Any,
    shape: list[int],
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-5,
    cudnn: Any = True,
) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, rounded once."""
    own = sizes(x.dims)
    flat = [each and in_shape(at, each, (prod(shape),)) for each in (weight, bias)]
    rows = x if len(shape) == 1 else in_shape(at, x, (*own[: -len(shape)], prod(shape)))
    value = _scaled(at, _standard(at, rows, epsilon), *flat)
    return value if len(shape) == 1 else in_shape(at, value, own)


@lowers("aten.native_group_norm.default")
def group_norm(
    at: Importer, x: Any, weight: Any, bias: Any, count: int, channels: int, size: int, groups: int, epsilon: float
) -> tuple[Value]:
    """The same of groups of channels, each of which has its own weight."""
    rows = in_shape(at, x, (count, groups, channels * size // groups))
    value, each_channel = (
        in_shape(at, _standard(at, rows, epsilon), sizes(x.dims)),
        (channels, *(1,) * (len(x.dims) - 2)),
    )
    return (_scaled(at, value, *(each and in_shape(at, each, each_channel) for each in (weight, bias))),)


@lowers("aten._native_batch_norm_legit.no_stats")
def instance_norm(
    at: Importer, x: Any, weight: Any, bias: Any, training: bool, momentum: float, epsilon: float
) -> tuple[Value]:
    """The same of every channel by itself, of one sample."""
    count, channels, *size = sizes(x.dims)
    supported(count == 1, "statistics of a whole batch; those of one sample, or of the module, have a lowering")
    return group_norm(at, x, weight, bias, 1, channels, prod(size), channels, epsilon)


@lowers("aten._native_batch_norm_legit_no_training.default")
def batch_norm(
    at: Importer, x: Any, weight: Any, bias: Any, mean: Stored, variance: Stored, momentum: float, epsilon: float
) -> tuple[Value]:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias: one scale and one shift for each channel."""
    given = ((weight, 1.0), (bias, 0.0), (mean, 0.0), (variance, 0.0))
    w, b, m, v = (each.data.astype(np.float64) if each else np.float64(absent) for each, absent in given)
    scale = w / np.sqrt(v + epsilon)
    made, tail = {"scale": scale, "shift": b - m * scale}, (1,) * (len(x.dims) - 2)
    parameters = (at.constant(each.reshape(-1, *tail), name, "float32") for name, each in made.items())
    return (_scaled(at, at.tiles(x), *parameters),)


def _standard(at: Importer, x: Any, epsilon: float) -> Value:
    value = at.whole_rows(x, "a row is looked at as a whole", ragged=True)
    return with_dtype(value, standardized(at.graph, value.stream, epsilon, prefix=f"{at.node.name}_"), FP32)


def _scaled(at: Importer, value: Value, weight: Any, bias: Any) -> Value:
    """``value`` times the weight plus the bias, where they are there, rounded once."""
    given = [each for each in (weight, bias) if each is not None]
    (stream, *parameters), value = alongside(at, value, *given)
    if parameters:
        function = MulAdd if len(parameters) == 2 else Add if weight is None else Mul
        stream = stream.map(function(out=at.dtype), *parameters, name=at.name())
    return with_dtype(value, at.rounded(stream), at.dtype)
