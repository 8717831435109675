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
LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "shared_expert_intermediate_size": 32, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
TWO = {**capturing.COMMON, "num_hidden_layers": 2}

FAMILIES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "Gemma3": ("Gemma3TextConfig", TWO, ["rotary tables of several kinds: 'model.rotary_emb' takes a layer_type"]),
    "Olmo3": ("Olmo3Config", TWO, ["rotary tables of several kinds: 'model.rotary_emb' takes a layer_type"]),
    "OPT": ("OPTConfig",
     {"hidden_size": 32, "num_hidden_layers": 2, "ffn_dim": 64, "num_attention_heads": 4, "word_embed_proj_dim": 32},
     ["layers that are not where they must be, `layers` or `h` of OPTModel: 'model.decoder.layers'",
     "learned positions inside the decoder: 'model.decoder.embed_positions'"]),
    "Mpt": ("MptConfig", {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
     ["layers that must be given 'position_bias' (positions as biases of scores): MptBlock"]),
    "Bloom": ("BloomConfig", {"hidden_size": 32, "n_layer": 2, "n_head": 4},
     ["layers that must be given 'alibi' (positions as biases of scores): BloomBlock"]),
    "Llama4": ("Llama4TextConfig", {**TWO, **ROUTED, "intermediate_size_mlp": 64},
     ["layers that are not where they must be, `layers` or `h` of Llama4ForCausalLM: 'model.layers'"]),
    "Rwkv": ("RwkvConfig",
     {"hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32, "intermediate_size": 64},
     ["recurrent state instead of keys and values: 'rwkv.blocks.0' is a RwkvBlock"]),
    "DeepseekV3": ("DeepseekV3Config", {**TWO, **ROUTED, **LATENT},
     ["a latent cache, keys and values of unlike heads (kv_lora_rank)"]),
    "GptOss": ("GptOssConfig", {**TWO, **ROUTED},
     ["attention with sinks: 'model.layers.0.self_attn'"]),
    "Qwen3Next": ("Qwen3NextConfig", {**TWO, **ROUTED, **LINEAR},
     ["recurrent state instead of keys and values: 'model.layers.0.linear_attn' is a Qwen3NextGatedDeltaNet"]),
}  # fmt: skip
"""By the names of their classes: the configuration, its sizes, and lines of the error."""


def model(name: str) -> nn.Module:
    """The family ``name`` with random weights."""
    config, sizes, _ = FAMILIES[name]
    torch.manual_seed(0)
    made = getattr(transformers, config)(**{"vocab_size": 64, "pad_token_id": 0, **sizes})
    return getattr(transformers, f"{name}ForCausalLM")(made).to(torch.bfloat16).eval()  # type: ignore[no-any-return]
