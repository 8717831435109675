"""Routed experts of all kinds: as people write them in torch, and the blocks of transformers' families."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import step
import step_torch

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
import transformers  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import step_torch.marks  # noqa: E402

COUNT, HIDDEN, INNER = 4, 32, 16
Forward = Callable[["Block", Tensor], Tensor]


class Block(nn.Module):
    """A router, experts, and weights of experts, for a ``way`` to use them."""

    def __init__(self, way: Forward) -> None:
        super().__init__()
        self.way = way
        self.router, self.shared, self.share = (nn.Linear(HIDDEN, size) for size in (COUNT, HIDDEN, 1))
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(HIDDEN, INNER), nn.ReLU(), nn.Linear(INNER, HIDDEN)) for _ in range(COUNT)
        )
        self.up = nn.Parameter(torch.randn(COUNT, HIDDEN, 2 * INNER) * 0.2)
        self.down = nn.Parameter(torch.randn(COUNT, INNER, HIDDEN) * 0.2)

    def forward(self, x: Tensor) -> Tensor:
        return self.way(self, x)


def chosen(self: Block, x: Tensor) -> tuple[Tensor, Tensor]:
    weight, index = F.softmax(self.router(x), -1).topk(2, -1)
    return weight / weight.sum(-1, keepdim=True), index


def dense(self: Block, x: Tensor) -> Tensor:
    weight, index = chosen(self, x)
    gates = torch.zeros_like(self.router(x)).scatter(-1, index, weight)
    result: Tensor = sum(gates[..., n : n + 1] * each(x) for n, each in enumerate(self.experts))
    return result + torch.sigmoid(self.share(x)) * self.shared(x)


def masked(self: Block, x: Tensor) -> Tensor:
    weight, index = chosen(self, x)
    result = torch.zeros_like(x)
    for n, each in enumerate(self.experts):
        share = torch.where(index == n, weight, torch.zeros_like(weight)).sum(-1, keepdim=True)
        result = result + each(x) * share * (index == n).any(-1, keepdim=True)
    return result


def one_hot(self: Block, x: Tensor) -> Tensor:
    weight, index = chosen(self, x)
    gates = (F.one_hot(index, COUNT).to(x.dtype) * weight.unsqueeze(-1)).sum(-2)
    return (gates.unsqueeze(-1) * torch.stack([each(x) for each in self.experts], -2)).sum(-2)


def in_a_loop(self: Block, x: Tensor) -> Tensor:
    weight, index = chosen(self, x)
    result = torch.zeros_like(x)
    for n, each in enumerate(self.experts):
        rows, slot = torch.where(index == n)
        result.index_add_(0, rows, each(x[rows]) * weight[rows, slot, None])
    return result


def by_experts(self: Block, x: Tensor) -> Tensor:
    weight, index = F.softmax(self.router(x), -1).t().topk(4, -1)
    result = torch.zeros_like(x)
    for n, each in enumerate(self.experts):
        result = result.index_add(0, index[n], each(x[index[n]]) * weight[n, :, None])
    return result


def marked(self: Block, x: Tensor) -> Tensor:
    weight, index = chosen(self, x)
    given = x, index, weight.to(x.dtype) * 2.5, self.up.transpose(1, 2), self.down.transpose(1, 2)
    result: Tensor = torch.ops.step.experts(*given, activation="gelu_tanh")
    return result


def others_than_chosen(self: Block, x: Tensor) -> Tensor:
    weight, index = chosen(self, x)
    result: Tensor = torch.ops.step.experts(x, 3 - index, weight, self.up.transpose(1, 2), self.down.transpose(1, 2))
    return result


def shares_turned_over(self: Block, x: Tensor) -> Tensor:
    weight, index = F.softmax(self.router(x), -1).topk(2, -1)
    return torch.zeros_like(self.router(x)).scatter(-1, index, weight.sum(-1, keepdim=True) / weight)


def entries_elsewhere(self: Block, x: Tensor) -> Tensor:
    scores = F.softmax(self.router(x), -1)
    return torch.gather(scores, -1, 3 - scores.topk(2, -1).indices)


def of_two_choices(self: Block, x: Tensor) -> Tensor:
    scores = F.softmax(self.router(x), -1)
    other = torch.sigmoid(-self.router(x)).topk(2, -1).values
    return torch.zeros_like(scores).scatter(-1, scores.topk(2, -1).indices, other)


ODD = (others_than_chosen, shares_turned_over, entries_elsewhere, of_two_choices)
"""Routers that do something else with what they chose than send rows there."""

SIZES: dict[str, Any] = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 32, "moe_intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 0, "n_shared_experts": 1,
    "shared_expert_intermediate_size": 32, "initializer_range": 0.2, "pad_token_id": 0, "decoder_sparse_step": 1,
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
}  # fmt: skip
FAMILIES = ("Mixtral", "Qwen2Moe", "Qwen3Moe", "Olmoe", "GraniteMoe", "Phimoe", "GptOss", "DeepseekV3", "Ernie4_5_Moe")


class Family(nn.Module):
    """The routed block of a family."""

    def __init__(self, name: str) -> None:
        super().__init__()
        model = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(**SIZES))
        parts = model.base_model.layers[0].named_children()
        self.block = next(each for path, each in parts if path in ("mlp", "block_sparse_moe"))
        self.config = model.config
        bias = getattr(getattr(self.block, "gate", None), "e_score_correction_bias", None)
        if bias is not None:
            bias.data.normal_(0, 0.1)

    def forward(self, x: Tensor) -> Any:
        y = self.block(x)
        return y[0] if isinstance(y, tuple) else y


def is_right(module: nn.Module, shape: tuple[int, ...], path: Path) -> None:
    """The import is as close to float64 as torch in BF16, and the fast model gives what the interpreter does."""
    torch.manual_seed(1)
    rows = torch.randn(*shape, dtype=torch.bfloat16)
    step_torch.capture(module.to(torch.bfloat16), (rows,), path)
    imported = step_torch.load(path)
    check = imported.check()
    assert check.error <= 1.1 * check.torch_error, str(check)
    fast, meant = step.run(imported.program, "approx", values="all"), step.run(imported.program, "interpret")
    assert np.array_equal(np.asarray(fast.outputs["output"]), np.asarray(meant.outputs["output"]))


@pytest.mark.parametrize("way", [dense, masked, one_hot, in_a_loop, by_experts, marked, *ODD])
def test_experts_written_in_torch(way: Forward, tmp_path: Path) -> None:
    torch.manual_seed(0)
    is_right(Block(way), (8, HIDDEN), tmp_path / "block.pt2")


@pytest.mark.parametrize("rows", [8, 1])
@pytest.mark.parametrize("name", FAMILIES)
def test_experts_of_transformers(name: str, rows: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    is_right(Family(name), (1, rows, 32), tmp_path / "block.pt2")
