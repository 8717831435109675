"""Families of transformers at small sizes: what imports as a prefill layer and as a step that writes, and how exactly.

    python -m benchmarks.families [--json FILE] [NAMES..]

Prefill: the rms error of the program to the layers in float64, over that of torch in BF16; a step: how many tokens are
those of torch's own `generate`. Otherwise the first lines of the error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
from torch import nn  # noqa: E402

import step_torch  # noqa: E402
from step.errors import StepError  # noqa: E402
from step_torch.agreement import agreements  # noqa: E402
from step_torch.generating import LanguageModel  # noqa: E402

ROWS, ROOM = 16, 14
SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64, "tie_word_embeddings": False, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
GROUPED = {"num_key_value_heads": 2, "head_dim": 16}
ROUTED = {
    "num_local_experts": 4, "num_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "moe_num_experts": 4, "moe_topk": 2,
}  # fmt: skip
LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "head_dim": 8,
    "n_group": 1, "topk_group": 1, "first_k_dense_replace": 0, "num_key_value_heads": 4,
}  # fmt: skip
PAIR = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_start_token_id": 1, "forced_eos_token_id": 2,
}  # fmt: skip
IMAGE = {"image_size": 32, "patch_size": 8}
SCANNED = {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8}
ALTERNATING = ["linear_attention", "full_attention"]
LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "layer_types": ALTERNATING,
}  # fmt: skip
HEADS = {"mamba_d_head": 8, "mamba_headdim": 8, "mamba_d_state": 8, "mamba_chunk_size": 8, "chunk_size": 8}
WINDOW = {"sliding_window": 8}

ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("bert", "roberta", "distilbert", "electra", "albert", "wav2vec2")},
    **{name: (name, IMAGE) for name in ("vit", "deit", "dinov2")},
    "clip_text": ("clip_text_model", {}),
    "clip_vision": ("clip_vision_model", IMAGE),
    "siglip": ("siglip_vision_model", IMAGE),
    "whisper": ("whisper", PAIR),
    "t5": ("t5", {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}),
    "bart": ("bart", PAIR),
}
DECODERS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("gpt2", "gpt_neox", "falcon", "persimmon", "rwkv", "mamba")},
    **{name: {"rotary_dim": 4} for name in ("gptj", "codegen")},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 8, "num_heads": 4},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "bloom": {"n_layer": 2, "n_head": 4},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
    **{name: {**GROUPED, "head_dim": 8} for name in ("helium", "bitnet", "stablelm")},
    **{name: GROUPED for name in (
        "llama", "qwen2", "qwen3", "gemma", "phi", "phi3", "starcoder2", "olmo", "olmo2", "cohere", "glm",
        "glm4", "granite", "nemotron", "smollm3", "ernie4_5", "hunyuan_v1_dense", "seed_oss", "arcee", "apertus",
    )},
    **{name: {**GROUPED, **WINDOW} for name in ("mistral", "gemma2", "gemma3_text", "cohere2", "ministral", "exaone4")},
    "olmo3": {**GROUPED, **WINDOW},
    **{name: {**GROUPED, **ROUTED} for name in (
        "mixtral", "qwen2_moe", "qwen3_moe", "phimoe", "granitemoe", "gpt_oss", "llama4_text", "minimax_m2",
    )},
    "olmoe": {**ROUTED, "num_key_value_heads": 2, "head_dim": 8},
    "qwen3_next": {**GROUPED, **ROUTED, **LINEAR},
    **{name: {**ROUTED, **LATENT} for name in ("deepseek_v2", "deepseek_v3")},
    "mamba2": SCANNED,
    "falcon_mamba": {"state_size": 8},
    "falcon_h1": {**GROUPED, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_state": 8},
    "bamba": {**GROUPED, **HEADS, "mamba_n_heads": 8, "attn_layer_indices": [1]},
    "zamba2": {**HEADS, "n_mamba_heads": 8, "layers_block_type": ["linear_attention", "hybrid"]},
    "qwen3_5_text": {**GROUPED, **LINEAR},
    "kimi_linear": {**ROUTED, **LATENT, "linear_head_dim": 8, "linear_num_heads": 4, "layer_types": ALTERNATING},
    "gemma4_text": {**GROUPED, **WINDOW, "hidden_size_per_layer_input": 0},
    "nemotron_h": {**GROUPED, **ROUTED, "layers_block_type": ["moe", "attention"], "n_group": 1, "topk_group": 1,
                   "moe_shared_expert_intermediate_size": 32},
    "lfm2_moe": {**GROUPED, **ROUTED, "num_dense_layers": 0, "layer_types": ["conv", "full_attention"]},
    "xglm": {"d_model": 32, "ffn_dim": 64, "num_layers": 2, "attention_heads": 4},
    "lfm2": {**GROUPED, "head_dim": 8, "layer_types": ["conv", "full_attention"]},
    "jamba": {**GROUPED, **ROUTED, "attn_layer_period": 2, "attn_layer_offset": 1},
    "dbrx": {"d_model": 32, "n_heads": 4, "n_layers": 2, "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4,
             "moe_top_k": 2}, "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4}},
    "bart_decoder": PAIR,
}  # fmt: skip
PARTIAL = {"phi": 0.5, "phi3": 1.0, "stablelm": 0.5, "glm": 0.5, "glm4": 0.5, "nemotron": 0.5, "persimmon": 0.5}


def model(name: str) -> nn.Module:
    """The family ``name`` with random weights: of a decoder with its head."""
    torch.manual_seed(0)
    kind, changes = ENCODERS.get(name) or (name.removesuffix("_decoder"), DECODERS[name])
    sizes: dict[str, Any] = {**SIZES, **changes}
    if name in PARTIAL:
        sizes["partial_rotary_factor"] = PARTIAL[name]
        sizes["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": PARTIAL[name]}
    config = transformers.AutoConfig.for_model(kind, **sizes)
    auto = transformers.AutoModel if name in ENCODERS else transformers.AutoModelForCausalLM
    made = auto.from_config(config).to(torch.bfloat16).eval()
    with torch.no_grad():
        for each in made.parameters():
            random = torch.randn_like(each)
            each.copy_(1 + random / 4 if each.ndim == 1 else random / each.shape[-1] ** 0.5)
    return made


def prefill(made: nn.Module, folder: Path) -> str:
    """One layer, all rows at once."""
    layers, rows = step_torch.Layers(made), torch.randn(1, ROWS, 32, dtype=torch.bfloat16)
    path = step_torch.capture(layers, (rows, *step_torch.tables(made, range(ROWS))), folder / "layer.pt2")
    imported = step_torch.load(path)
    check = imported.check()
    said = f"{check.error / check.torch_error:.2f} of torch, rms {check.error:.1e}"
    return said if check.passed else f"FAILED: {said}"


def writing(made: nn.Module, folder: Path) -> str:
    """The whole model, token by token."""
    path = step_torch.capture_decoding(made, folder / "model.pt2", room=ROOM, prompts=[[3, 1, 4, 9], [15]])
    found = list(agreements(LanguageModel.load(path)))
    differences = [each for text in found for each in text.differences]
    most = max([each.margin for each in differences], default=0.0)
    said = f"{sum(each.agreed for each in found)} of {sum(each.count for each in found)} tokens"
    return f"{said}{f', margins up to {most:.3f}' * bool(differences)}"


def tried(what: Callable[[nn.Module, Path], str], name: str) -> tuple[bool, str]:
    """Whether ``what`` is possible, and its result or its error."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            said = what(model(name), Path(folder))
            return not said.startswith("FAILED"), said
        except StepError as error:
            return False, str(error).replace(folder, "")
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return False, f"TRACEBACK {type(error).__name__}: {error} at {last.filename}:{last.lineno}"


def main() -> None:
    """A line a family, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=["prefill", "writing"])
    options = parser.parse_args()
    kinds = {each.__name__: each for each in (prefill, writing) if options.only in (None, each.__name__)}
    found = dict[str, dict[str, tuple[bool, str]]]()
    for name in options.names or [*ENCODERS, *DECODERS]:
        started = time.process_time()
        some = {key: each for key, each in kinds.items() if key == "prefill" or name in DECODERS}
        found[name] = {key: tried(each, name) for key, each in some.items()}
        for key, (is_good, said) in found[name].items():
            lines = "\n".join(line[:230] for line in said.splitlines()[:8])
            sys.stdout.write(f"{'+' if is_good else '-'} {name} {key}: {lines}\n")
        sys.stdout.write(f"    {time.process_time() - started:.1f} s\n")
        sys.stdout.flush()
    for key in kinds:
        count = sum(each[key][0] for each in found.values() if key in each)
        sys.stdout.write(f"{key}: {count} of {sum(key in each for each in found.values())}\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
