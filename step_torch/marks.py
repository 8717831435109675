"""Marks for what a capture keeps whole: attention and routed experts, through the registries of transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from step.errors import InputError


@torch.library.custom_op("step::attention", mutates_args=())
def attention(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    """Causal attention of [batch, heads, rows, size], whose last query sees all keys; groups of heads share keys."""
    rows, keys = query.shape[2], key.shape[2]
    seen = torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)
    return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=scale, enable_gqa=True)


@attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    return torch.empty_like(query)


@torch.library.custom_op("step::experts", mutates_args=())
def experts(x: Tensor, index: Tensor, weight: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """SwiGLU experts on rows ``x``; row i goes to the experts ``index[i]``, whose results count with ``weight[i]``."""
    result = torch.zeros_like(x)
    for number in range(len(gate_up)):
        rows, slot = torch.where(index == number)
        gate, up = nn.functional.linear(x[rows], gate_up[number]).chunk(2, dim=-1)
        y = nn.functional.linear(nn.functional.silu(gate) * up, down[number])
        result.index_add_(0, rows, (y * weight[rows, slot, None]).to(x.dtype))
    return result


@experts.register_fake
def _(x: Tensor, index: Tensor, weight: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    return torch.empty_like(x)


@contextmanager
def marked(module: nn.Module) -> Iterator[None]:
    """Attention and routed experts of transformers are marks meanwhile."""
    configs = {id(each.config): each.config for each in module.modules() if hasattr(each, "config")}
    if not configs:
        yield
        return
    _register()
    before = [(each, key, getattr(each, key, None)) for each in configs.values() for key in _KEYS]
    for config, key, _ in before:
        setattr(config, key, "step")
    try:
        yield
    finally:
        for config, key, value in before:
            setattr(config, key, value)


_KEYS = ("_attn_implementation", "_experts_implementation")


def _register() -> None:
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register("step", _attention_of_transformers)
    ALL_MASK_ATTENTION_FUNCTIONS.register("step", lambda *_, **__: None)
    ALL_EXPERTS_FUNCTIONS.register("step", _experts_of_transformers)


def _attention_of_transformers(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    for what in ("sliding_window", "softcap"):
        if options.get(what) is not None:
            raise InputError(f"attention with {what.replace('_', ' ')} {options[what]} has no lowering")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return attention(query, key, value, scale).transpose(1, 2).contiguous(), None


def _experts_of_transformers(module: Any, x: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    return experts(x, index, weight, module.gate_up_proj, module.down_proj)
