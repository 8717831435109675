"""Language models of two layers over 32 symbols, trained on the text below: Llama layers, or ones with routed experts.

    python examples/tiny_lm/train.py tiny_lm|tiny_moe_lm [SECONDS]

writes `model.pt2`, a decode step with its weights and what transformers writes with it in BF16, into `examples/tiny_lm`
or `examples/tiny_moe_lm`. It needs torch and transformers; the result needs neither. `symbols.txt` has the symbols, in
order; the first one ends a text.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}

import torch
import transformers

import step_torch
from step_torch.vocabulary import read_symbols

EXAMPLES = Path(__file__).parents[1]
ROOM = 64
PROMPTS = ("every tile", "the cache", "a ", "what is read", "zzz")
TEXT = (
    "every tile has its turn, and every stream comes to an end. a tile waits in a channel until its reader is free. "
    "rows of the cache stay where they are, and the new row goes behind them. a product sums in one order, so the "
    "hardware and the model agree to the last bit. what is read twice is kept on chip, and what is read once streams "
    "by. a layer is built once, and the rows go round. "
)


SYMBOLS = read_symbols(EXAMPLES / "tiny_lm" / "symbols.txt")
"""All symbols, in order."""

COMMON = {
    "vocab_size": len(SYMBOLS), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": ROOM,
    "tie_word_embeddings": False, "eos_token_id": 0,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True, "moe_intermediate_size": 32}


def make(name: str) -> transformers.PreTrainedModel:
    """The model ``name`` before training."""
    if name == "tiny_moe_lm":
        return transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(**COMMON, **EXPERTS))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**COMMON))


def train(model: transformers.PreTrainedModel, seconds: float) -> float:
    """Train for some seconds; returns the last loss."""
    data = torch.tensor([SYMBOLS.index(each) for each in TEXT] * 2)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    started = time.monotonic()
    while (part := (time.monotonic() - started) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * (1 - part) + 1e-4
        starts = torch.randint(0, len(TEXT), (16,))
        batch = torch.stack([data[start : start + ROOM] for start in starts])
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def main(name: str, seconds: float = 60) -> None:
    """Train the model ``name``, and write its folder."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = make(name)
    loss = train(model, seconds)
    model = model.to(torch.bfloat16).eval()
    folder = EXAMPLES / name
    prompts = [[SYMBOLS.index(each) for each in prompt] for prompt in PROMPTS]
    path = step_torch.capture_decoding(model, folder / "model.pt2", room=ROOM, prompts=prompts)
    count = sum(each.numel() for each in model.parameters())
    print(f"{path}: {path.stat().st_size:,} bytes, {count:,} parameters, loss {loss:.2f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
