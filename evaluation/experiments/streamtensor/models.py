"""Language models of StreamTensor's evaluation (MICRO'25, Table 7), made once by transformers with random weights."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from step_torch.generating import LanguageModel

CACHE = Path(os.environ.get("STEP_STREAMTENSOR", Path(tempfile.gettempdir()) / "step_streamtensor"))
"""Folder of the captured models: each is made once."""

GROUP = 64
"""Weights of 4 bits with one scale; StreamTensor does not say how many it has."""

ROOM = 513
"""Tokens of a text, and one."""


@dataclass(frozen=True)
class Model:
    """Shape of a model, of the class that transformers has for its ``family``; of the ``vocabulary`` are bytes, as of
    StreamTensor nothing says that embedding and head are on the board."""

    name: str
    family: str
    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int = 256
    room: int = ROOM
    captured: int = 2
    """Layers that are captured: all have the same nodes and shapes, and control alone reads no weight."""

    @property
    def head(self) -> int:
        """Scalars of a head; those of Gemma are wider than its rows divided by its heads."""
        return 256 if self.family == "gemma" and self.hidden > 1000 else self.hidden // self.heads

    @property
    def weights(self) -> int:
        """Weights of all layers, which a token reads."""
        queries, keys = self.heads * self.head, self.kv_heads * self.head
        return self.layers * self.hidden * (2 * queries + 2 * keys + (2 if self.family == "gpt2" else 3) * self.inner)

    @property
    def weight_bytes(self) -> int:
        """Bytes of these in 4 bits, and of their scales in BF16."""
        return self.weights // 2 + 2 * self.weights // GROUP

    @property
    def path(self) -> Path:
        """The captured model, W4A8."""
        parts = (self.name, self.captured, self.hidden, self.inner, self.vocabulary, self.room)
        return CACHE / f"{'_'.join(map(str, parts))}.pt2"

    def small(self) -> Model:
        """The same with some ten thousand weights, for RTL."""
        return replace(
            self, name=f"{self.name}_small", vocabulary=32, room=16, layers=2, hidden=64, inner=128, heads=2,
            kv_heads=2 if self.kv_heads == self.heads else 1,
        )  # fmt: skip

    def loaded(self) -> LanguageModel:
        """The model with all of its layers."""
        found = LanguageModel.load(self.made())
        times, parts = self.layers // self.captured, found.parts
        own = {name: each * times for name, each in parts.parameters.items()}
        return replace(found, parts=replace(parts, count=self.layers, parameters=own))

    def made(self) -> Path:
        """The path of the captured model, which is made where it is missing."""
        if not self.path.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            _capture(self)
        return self.path


MODELS = {
    "gpt2": Model("gpt2", "gpt2", 24, 1024, 4096, 16, 16),
    "qwen": Model("qwen", "qwen2", 24, 896, 4864, 14, 2),
    "llama": Model("llama", "llama", 22, 2048, 5632, 32, 4),
    "gemma": Model("gemma", "gemma", 26, 1152, 6912, 4, 1),
}


def _capture(model: Model) -> None:
    """Make ``model`` by torch, quantise it, and write it."""
    import step_torch

    step_torch.capture_decoding(by_torch(model), model.path, room=model.room)


def by_torch(model: Model) -> Any:
    """The module, W4A8, with random weights."""
    import torch

    import step_torch

    torch.manual_seed(0)
    made = module_of(model).to(torch.bfloat16).eval()
    with torch.no_grad():
        for each in made.parameters():
            random = torch.randn_like(each)
            each.copy_(1 + random / 4 if each.ndim == 1 else random / each.shape[-1] ** 0.5)
    return step_torch.quantize(made, weights=4, group=GROUP)


def module_of(model: Model) -> Any:
    import transformers

    if model.family == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=model.vocabulary,
            n_positions=model.room,
            n_embd=model.hidden,
            n_layer=model.captured,
            n_head=model.heads,
            n_inner=model.inner,
        )
        return transformers.GPT2LMHeadModel(config)
    name = {"qwen2": "Qwen2", "llama": "Llama", "gemma": "Gemma"}[model.family]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=model.vocabulary,
        hidden_size=model.hidden,
        intermediate_size=model.inner,
        num_hidden_layers=model.captured,
        num_attention_heads=model.heads,
        num_key_value_heads=model.kv_heads,
        head_dim=model.head,
        max_position_embeddings=model.room,
        tie_word_embeddings=False,
    )
    return getattr(transformers, f"{name}ForCausalLM")(config)
