"""Layers of seven models of transformers at small sizes, with random weights, as `.pt2` files.

    python tests/step_torch/capturing.py [FOLDER]

writes all of them into FOLDER, by default those that the tests read without torch into `captured/`.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import odd  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from torch import nn  # noqa: E402

import step_torch  # noqa: E402
from step_torch.archive import read_archive  # noqa: E402
from step_torch.vocabulary import read_symbols  # noqa: E402

CAPTURED = Path(__file__).parent / "captured"
EXAMPLES = Path(__file__).parents[2] / "examples"
SYMBOLS = read_symbols(EXAMPLES / "tiny_lm" / "symbols.txt")
TINY = "tiny_lm", "tiny_moe_lm"
STORED = ("llama_prefill", "qwen3_decode", "qwen3moe_prefill", "gpt2_prefill", "gemma_decode")
"""What the tests read."""

HIDDEN = 32
TOKENS = {"prefill": 16, "decode": 8}
SAMPLES = {"prefill": 1, "decode": 24}
"""A decode step has one row: its 32 scalars are too few to tell errors apart."""

COMMON = {
    "vocab_size": 64, "hidden_size": HIDDEN, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 64, "tie_word_embeddings": False,
}  # fmt: skip
EXPERTS = {"num_experts_per_tok": 2, "norm_topk_prob": True}
MODELS: dict[str, dict[str, Any]] = {
    "Llama": COMMON,
    "Qwen2": COMMON,
    "Qwen3": COMMON,
    "Gemma": COMMON,
    "Qwen3Moe": {**COMMON, **EXPERTS, "num_experts": 4, "moe_intermediate_size": 32},
    "Mixtral": {**COMMON, **EXPERTS, "num_local_experts": 4, "intermediate_size": 32},
    "GPT2": {"vocab_size": 64, "n_embd": HIDDEN, "n_layer": 1, "n_head": 4, "n_positions": 64},
}
NAMES = {name.lower(): name for name in MODELS}


def model(name: str, **changes: Any) -> nn.Module:
    """One of `MODELS`, with changes to its sizes."""
    return small(name, "LMHeadModel" if name == "GPT2" else "ForCausalLM", **{**MODELS[name], **changes})


def small(kind: str, of: str = "ForCausalLM", **config: Any) -> nn.Module:
    """A model of random weights in BF16; norms that are not one, and scores and routers that decide."""
    torch.manual_seed(0)
    made = getattr(transformers, kind + of)(getattr(transformers, f"{kind}Config")(**config)).to(torch.bfloat16).eval()
    with torch.no_grad():
        for each in made.parameters():
            random = torch.randn_like(each)
            each.copy_(1 + random / 4 if each.ndim == 1 else random / each.shape[-1] ** 0.5)
    return made


def arguments(made: nn.Module, how: str, tokens: int | None = None) -> tuple[torch.Tensor, ...]:
    """Rows of ``tokens`` (prefill), or one behind a cache of all before (decode)."""
    tokens = tokens or TOKENS[how]
    rows = torch.randn(1, tokens, HIDDEN, dtype=torch.bfloat16)
    tables = step_torch.tables(made, range(tokens))
    if how == "prefill":
        return rows, *tables
    config = made.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    size = getattr(config, "head_dim", config.hidden_size // config.num_attention_heads)
    past = [torch.randn(1, heads, tokens - 1, size, dtype=torch.bfloat16) for _ in range(2)]
    return rows[:, -1:], *(each[:, -1:] for each in tables), *past


def capture(name: str, folder: Path = CAPTURED) -> Path:
    """The layer ``name``, of `llama_prefill` say, in ``folder``."""
    kind, how = name.split("_")
    made = model(NAMES[kind])
    args, *samples = (arguments(made, how) for _ in range(SAMPLES[how]))
    tokens = {1: torch.export.Dim("tokens", min=2, max=64)}
    dynamic = None
    if how == "prefill":
        dynamic = {"x": tokens, **({"rest": (tokens, tokens)} if args[1:] else {})}
    path = folder / f"{name}.pt2"
    return step_torch.capture(step_torch.Layers(made), args, path, dynamic_shapes=dynamic, samples=samples)


WRITING: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2", {"n_layer": 2, "n_inner": 64, "vocab_size": 48, "tie_word_embeddings": False}),
    "deep": ("Llama", {"num_hidden_layers": 4, "hidden_size": 16, "intermediate_size": 16, "head_dim": 8}),
    "flat": ("Llama", {"num_hidden_layers": 1, "hidden_size": 16, "intermediate_size": 16, "head_dim": 8}),
    "gemma": ("Gemma", {"num_hidden_layers": 1, "hidden_size": 16, "intermediate_size": 16, "head_dim": 8}),
}
"""Models that write: the class, and changes to its sizes."""

ROOM = 48


def capture_writing(name: str, folder: Path = CAPTURED) -> Path:
    """A model that writes, and what transformers writes with it, as tokens, behind some prompts."""
    kind, changes = WRITING[name]
    made = model(kind, **changes)
    with torch.no_grad():
        for parameter, each in made.named_parameters():
            if parameter.endswith("bias"):
                each.sub_(1)  # ones would always write the same
    (folder / "language").mkdir(exist_ok=True)
    path = step_torch.capture_decoding(made, folder / "language" / f"{name}.pt2", room=ROOM)
    written = []
    for prompt in ([3, 1, 4], [15], [9, 2, 6, 5, 35, 8, 9, 7, 9, 32]):
        with torch.no_grad():
            ids = made.generate(torch.tensor([prompt]), max_new_tokens=ROOM - 1, do_sample=False, eos_token_id=None)
        written.append([prompt, ids[0, len(prompt) :][: ROOM + 1 - len(prompt)].tolist()])
    path.with_suffix(".json").write_text(json.dumps(written) + "\n")
    return path


def train() -> Any:
    """The script that trained the models of the examples."""
    sys.path.insert(0, str(EXAMPLES / "tiny_lm"))
    found = importlib.import_module("train")
    sys.path.pop(0)
    return found


def tiny(name: str) -> nn.Module:
    """The model ``name`` of the examples, with the weights of its file."""
    made = train().make(name).to(torch.bfloat16).eval()
    places = {"embedding.": "model.embed_tokens.", "head.": "lm_head.", "norm.": "model.norm."}
    found = dict[str, torch.Tensor]()
    for own, each in read_archive(EXAMPLES / name / "model.pt2").weights.items():
        begin, _, rest = own.partition(".")
        path = (
            own.replace("layers.layers.", "model.layers.") if begin == "layers" else places.get(f"{begin}.", "") + rest
        )
        if path in made.state_dict():
            found[path] = torch.from_numpy(np.ascontiguousarray(each).view(np.uint16)).view(torch.bfloat16)
    made.load_state_dict(found)
    return made  # type: ignore[no-any-return]


def capture_tiny(name: str, folder: Path = CAPTURED) -> Path:
    """The model ``name`` of the examples in W4A8, with two texts that torch writes with it."""
    made = step_torch.quantize(tiny(name), weights=4, group=32, head=True)
    prompts = [[SYMBOLS.index(symbol) for symbol in prompt] for prompt in ("every tile", "a ")]
    (folder / "w4a8").mkdir(exist_ok=True)
    return step_torch.capture_decoding(made, folder / "w4a8" / f"{name}.pt2", room=64, prompts=prompts)


def all_names() -> list[str]:
    """Every model, prefill and decode."""
    return [f"{kind}_{how}" for kind in NAMES for how in ("prefill", "decode")]


def capture_page(folder: Path = CAPTURED) -> Path:
    """The layer of docs/torch.md."""
    page = (Path(__file__).parents[2] / "docs" / "torch.md").read_text()
    block = re.findall(r"```python\n(import torch.*?)```", page, re.DOTALL)[0]
    exec(compile(block.replace("model.pt2", str(folder / "page.pt2")), "model.py", "exec"), {"__name__": "page"})
    return folder / "page.pt2"


if __name__ == "__main__":
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for each in all_names() if into else STORED:
        path = capture(each, into or CAPTURED)
        sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")
    capture_page(into or CAPTURED)
    for each in WRITING:
        capture_writing(each, into or CAPTURED)
    for each in TINY:
        capture_tiny(each, into or CAPTURED)
    for each in odd.ODD:
        odd.capture(each, (into or CAPTURED) / "odd")
