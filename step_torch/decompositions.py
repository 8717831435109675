"""Operators of ATen that a capture takes apart, or keeps whole, besides those that `torch.export` does by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

WHOLE = (
    "linear", "silu", "gelu", "softmax", "layer_norm", "scaled_dot_product_attention", "split", "addmm", "lstm", "gru",
    "rnn_tanh", "rnn_relu",
)  # fmt: skip
"""Operators that are not taken apart."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """What each operator is made of."""
    table: dict[Any, Callable[..., Any]] = torch.export.default_decompositions()
    kept = {each: made for each, made in table.items() if each.name().split("::")[-1].split(".")[0] not in WHOLE}
    return kept | {
        aten.isnan.default: lambda x: x != x,
        aten.logical_not.default: lambda x: ~x.bool(),
        aten.logical_and.default: lambda x, y: x.bool() & y.bool(),
        aten.logical_or.default: lambda x, y: x.bool() | y.bool(),
        aten.logical_xor.default: lambda x, y: x.bool() ^ y.bool(),
        aten.hardtanh.default: lambda x, low=-1, high=1: x.clamp(low, high),
        aten.leaky_relu.default: _leaky_relu,
        aten.max.default: Tensor.amax,
        aten.max.dim: lambda x, dim, keepdim=False: (x.amax(dim, keepdim), x.argmax(dim, keepdim)),
        aten.min.dim: lambda x, dim, keepdim=False: (-(-x).amax(dim, keepdim), (-x).argmax(dim, keepdim)),
        aten.min.default: lambda x: -(-x).amax(),
        aten.amin.default: lambda x, dim=(), keepdim=False: -(-x).amax(dim, keepdim),
        aten.argmin.default: lambda x, dim=None, keepdim=False: (-x).argmax(dim, keepdim),
    }


def _leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    return torch.maximum(x, x * slope) if slope <= 1 else torch.minimum(x, x * slope)
