"""Recurrent layers as one loop: as exact as torch, the same on all back ends, and with the hardware of one step."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import step
import step_torch
from cosim.comparing.compare import compare
from step_torch.imported import Imported

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
import transformers  # noqa: E402

SIZES = {
    "vocab_size": 16, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "state_size": 4, "expand": 2,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
HEADS = {"num_heads": 4, "head_dim": 4, "n_groups": 2, "chunk_size": 4}
DELTA = {
    "linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 4, "linear_value_head_dim": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "mlp_only_layers": [0, 1],
    "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "mamba": {}, "mamba2": HEADS, "mamba2_limited": {**HEADS, "time_step_limit": (0.1, 1.0)}, "qwen3_next": DELTA,
    "rwkv": {"attention_hidden_size": 8},
}  # fmt: skip


def layer(name: str, rows: int, path: Path) -> Imported:
    """The first layer of a family, of random weights."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name.split("_limited")[0], **SIZES, **FAMILIES[name])
    made = transformers.AutoModelForCausalLM.from_config(config).to(torch.bfloat16).eval()
    with torch.no_grad():
        for each in made.parameters():
            random = torch.randn_like(each)
            each.copy_(1 + random / 4 if each.ndim == 1 else random / each.shape[-1] ** 0.5)
    given = (torch.randn(1, rows, 8, dtype=torch.bfloat16), *step_torch.tables(made, range(rows)))
    return step_torch.load(step_torch.capture(step_torch.Layers(made), given, path / f"{name}.pt2"))


def check(model: Imported) -> None:
    """It is as exact as torch, and the fast model computes what the interpreter does."""
    found = model.check()
    assert found.passed and found.error < 0.01
    timed, meant = step.run(model.program, "approx", values="all"), step.run(model.program, "interpret")
    for output, each in meant.outputs.items():
        assert np.array_equal(np.asarray(timed.outputs[output]), np.asarray(each))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_layer_is_as_exact_as_torch(name: str, tmp_path: Path) -> None:
    check(layer(name, 8, tmp_path))


def test_more_rows_need_no_more_hardware(tmp_path: Path) -> None:
    few, many = (layer("mamba", rows, tmp_path) for rows in (8, 16))
    assert len(few.lowered.graph.nodes) == len(many.lowered.graph.nodes)


@pytest.mark.large
@pytest.mark.parametrize("name", ["mamba", "qwen3_next"])
def test_in_rtl(name: str, tmp_path: Path) -> None:
    found = compare(layer(name, 4, tmp_path).program, optimize=False)
    assert found.passed and found.mismatches == 0, found.complaints
