"""Routed experts: the operator that they become, and experts of transformers as its arguments, or in integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from step.errors import InputError, expect

EXPERTS: dict[str, tuple[bool, str]] = {
    "has_post_expert_norm": (False, "a norm behind them"),
    "_is_expert_parallel": (False, "several devices"),
}
"""Attributes of experts of transformers as they must be, and what there is otherwise."""

ACTIVATIONS = {
    "SiLU": "silu", "SiLUActivation": "silu", "GELU": "gelu", "GELUActivation": "gelu", "GELUTanh": "gelu_tanh",
    "PytorchGELUTanh": "gelu_tanh", "NewGELUActivation": "gelu_tanh", "ReLU": "relu", "silu": "silu", "gelu": "gelu",
    "relu": "relu", "ReLUSquaredActivation": "relu_squared",
}  # fmt: skip
"""Names of activations, by those of their classes, or of functions."""

Refused = Callable[[str], InputError]
"""Makes an error of why something is refused."""


@torch.library.custom_op("step::experts", mutates_args=())
def experts(
    x: Tensor,
    index: Tensor,
    weight: Tensor,
    gate_up: Tensor,
    down: Tensor,
    gate_up_bias: Tensor | None = None,
    down_bias: Tensor | None = None,
    activation: str = "silu",
    transposed: bool = False,
    interleaved: bool = False,
    gate_up_scales: Tensor | None = None,
    down_scales: Tensor | None = None,
    bits: int = 8,
) -> Tensor:
    """Experts, each with weights and biases of its own: down(activation(gate(x)) * up(x)).

    ``x``: rows [rows, hidden]; row i goes to the experts ``index[i]``, whose results count with ``weight[i]``.
    ``gate_up``: [experts, 2 * inner, hidden], first what belongs to gate, or one after the other if ``interleaved``;
    [experts, inner, hidden] where nothing is gated. ``down``: [experts, hidden, inner]. Both have their last two axes
    changed if ``transposed``. ``activation``: silu, gelu, gelu_tanh, relu or relu_squared, or clamped_silu, that of
    GPT-OSS. With scales [experts, columns, groups] weights are integers of so many ``bits``: see
    `step_torch.quantized`.
    """
    result = torch.zeros_like(x)
    inner = down.shape[1] if transposed else down.shape[2] * 8 // (8 if down_scales is None else bits)

    def product(y: Tensor, number: int, of: Tensor, scales: Tensor | None, bias: Tensor | None) -> Tensor:
        matrix, added = of[number], None if bias is None else bias[number]
        if scales is not None:
            made: Tensor = torch.ops.step.quantized_linear(y, matrix, scales[number], added, bits)
            return made
        y = y @ (matrix if transposed else matrix.T)
        return y if added is None else y + added

    for number in range(len(gate_up)):
        rows, slot = torch.where(index == number)
        if len(rows):
            y = product(x[rows], number, gate_up, gate_up_scales, gate_up_bias)
            halves = (y[:, ::2], y[:, 1::2]) if interleaved else y.chunk(2, -1)
            y = _activated(activation, *(halves if inner < y.shape[1] else (None, y)))
            y = product(y, number, down, down_scales, down_bias)
            result.index_add_(0, rows, (y * weight[rows, slot, None]).to(x.dtype))
    return result


@experts.register_fake
def _(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return torch.empty_like(x)


def _activated(activation: str, gate: Tensor | None, up: Tensor) -> Tensor:
    if activation == "clamped_silu" and gate is not None:
        gate = gate.clamp(max=7.0)
        return gate * torch.sigmoid(1.702 * gate) * (up.clamp(-7.0, 7.0) + 1)
    function: Callable[[Tensor], Tensor] = {
        "silu": nn.functional.silu, "gelu": nn.functional.gelu, "relu": nn.functional.relu,
        "gelu_tanh": partial(nn.functional.gelu, approximate="tanh"), "relu_squared": lambda y: y.relu().square(),
    }[activation]  # fmt: skip
    return function(up) if gate is None else function(gate) * up


def experts_of(module: Any, refused: Refused) -> tuple[Any, ...]:
    """Arguments of `experts` behind the weights of rows, of a module of transformers; raises what ``refused`` makes."""
    from transformers.integrations.moe import _default_apply_gate

    for name, (right, otherwise) in EXPERTS.items():
        expect(getattr(module, name, right) is right, f"have {otherwise}, which has no lowering", refused)
    gated, own = getattr(module, "has_gate", True), getattr(module._apply_gate, "__func__", None)
    activation = _activation_of(getattr(module, "act_fn", None))
    if gated and own is not _default_apply_gate:
        clamped = (getattr(module, "alpha", None), getattr(module, "limit", None)) == (1.702, 7.0)
        activation = "clamped_silu" if clamped else ""
    if not activation:
        name = _name_of(getattr(module, "act_fn", None))
        known = ", ".join(dict.fromkeys([*ACTIVATIONS.values(), "clamped_silu"]))
        raise refused(f"have the activation {name} or a gate of their own: {known} have a lowering")
    up, bias = ("gate_up_proj" if gated else "up_proj"), getattr(module, "has_bias", False)
    weights = [getattr(module, each) for each in (up, "down_proj")]
    biases = [getattr(module, f"{each}_bias") if bias else None for each in (up, "down_proj")]
    interleaved = gated and not getattr(module, "is_concatenated", True)
    transposed = getattr(module, "is_transposed", False)
    return *weights, *biases, activation, transposed, interleaved


def _activation_of(function: Any) -> str:
    """The name of an activation of transformers; empty for one that experts do not have."""
    known = ACTIVATIONS.get(_name_of(function), "")
    return "gelu_tanh" if known == "gelu" and getattr(function, "approximate", "") == "tanh" else known


def _name_of(function: Any) -> str:
    """The name of a function, or of the class of a module."""
    return str(getattr(function, "__name__", type(function).__name__))


class QuantizedExperts(nn.Module):
    """Experts of integers ``gate_up`` and ``down`` of so many ``bits``, with scales, as `experts` takes them."""

    def __init__(self, activation: str, bits: int, *, interleaved: bool, **tensors: Tensor | None) -> None:
        super().__init__()
        self.options = {"activation": activation, "interleaved": interleaved, "bits": bits}
        for name, each in tensors.items():
            self.register_buffer(name, None if each is None else each.detach())

    def forward(self, x: Tensor, index: Tensor, weight: Tensor) -> Tensor:
        return experts(x, index, weight, **self._buffers, **self.options)
