"""Families of transformers at small sizes that are no step of a language model, and what is said of each."""

from __future__ import annotations

from typing import Any

import capturing
import torch
import transformers
from torch import nn

ROUTED = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "head_dim": 8,
}  # fmt: skip
TWO = {**capturing.COMMON, "num_hidden_layers": 2}

FAMILIES: dict[str, tuple[str, dict[str, Any], str, list[str]]] = {
    "Llama4": ("Llama4TextConfig", {**TWO, **ROUTED, "intermediate_size_mlp": 64},
     "Llama4ForCausalLM gives no tables of positions: rotary_emb must give cosines and sines, not complex64[1, 8, 8]",
     ["attention in chunks (chunked_attention)"]),
    "RecurrentGemma": ("RecurrentGemmaConfig",
     {**TWO, "lru_width": 32, "num_hidden_layers": 3},
     "RecurrentGemmaForCausalLM sees tokens before it in another way than one by one: ",
     ["recurrent state that is not in the cache: 'model.layers.0.temporal_block' is a RecurrentGemmaRecurrentBlock"]),
    "DeepseekV3": ("DeepseekV3Config", {**TWO, **ROUTED, **LATENT}, "DeepseekV3ForCausalLM can not be captured: in ",
     ["a latent cache, keys and values of unlike heads (kv_lora_rank)"]),
}  # fmt: skip
"""By the names of their classes: the configuration, its sizes, and lines of the error: its begin, and others."""


def model(name: str) -> nn.Module:
    """The family ``name`` with random weights."""
    config, sizes, *_ = FAMILIES[name]
    torch.manual_seed(0)
    made = getattr(transformers, config)(**{"vocab_size": 64, "pad_token_id": 0, **sizes})
    return getattr(transformers, f"{name}ForCausalLM")(made).to(torch.bfloat16).eval()  # type: ignore[no-any-return]
