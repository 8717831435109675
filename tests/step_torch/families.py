"""Families of transformers at small sizes that are no step of a language model, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import capturing
import torch
import transformers
from torch import nn

ROUTED = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "head_dim": 8,
    "num_key_value_heads": 4,
}  # fmt: skip
TWO = {**capturing.COMMON, "num_hidden_layers": 2}

FAMILIES: dict[str, tuple[str, dict[str, Any], str, list[str]]] = {
    "Llama4": ("Llama4TextConfig", {**TWO, **ROUTED, "intermediate_size_mlp": 64, "attention_chunk_size": 4},
     "Llama4ForCausalLM does something else at transformers/models/llama4/modeling_llama4.py:",
     []),
    "Doge": ("DogeConfig", TWO,
     "DogeForCausalLM does something else at transformers/models/doge/modeling_doge.py:", []),
    "Dbrx": ("DbrxConfig",
     {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
      "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2, "hidden_size": 32},
      "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4}},
     "the module decides on data at transformers/models/dbrx/modeling_dbrx.py:", []),
    "MiniMax": ("MiniMaxConfig",
     {**TWO, **ROUTED, "block_size": 4, "layer_types": ["linear_attention", "full_attention"]},
     "MiniMaxForCausalLM can not be captured: in model, at transformers/models/minimax/modeling_minimax.py:",
     ["recurrent state that is not in the cache: 'model.layers.0.self_attn' is a MiniMaxLightningAttention"]),
}  # fmt: skip
"""By the names of their classes: the configuration, its sizes, and lines of the error: its begin, and others."""


UNEVEN = {"no_rope_layers": [1, 0], "layer_types": ["full_attention"] * 2, "floor_scale": 2, "attn_scale": 0.5}
WRITING: dict[str, tuple[str, dict[str, Any]]] = {
    "DiffLlama": ("DiffLlamaConfig", TWO),
    "GPTNeoXJapanese": ("GPTNeoXJapaneseConfig", {**TWO, "head_dim": 8, "intermediate_multiple_size": 2}),
    "RecurrentGemma": ("RecurrentGemmaConfig", {**TWO, "lru_width": 32, "num_hidden_layers": 3}),
    "DeepseekV2": ("DeepseekV2Config", {**TWO, **ROUTED, **LATENT}),
    "DeepseekV3": ("DeepseekV3Config", {**TWO, **ROUTED, **LATENT}),
    "Llama4": ("Llama4TextConfig", {**TWO, **ROUTED, "intermediate_size_mlp": 64, **UNEVEN}),
}
"""Families that write, by the names of their classes: the configuration, and its sizes."""


def model(name: str, families: Mapping[str, Any] = FAMILIES) -> nn.Module:
    """The family ``name`` with random weights."""
    config, sizes, *_ = families[name]
    torch.manual_seed(0)
    made = getattr(transformers, config)(**{"vocab_size": 64, "pad_token_id": 0, **sizes})
    return getattr(transformers, f"{name}ForCausalLM")(made).to(torch.bfloat16).eval()  # type: ignore[no-any-return]
