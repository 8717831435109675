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
from step.errors import InputError
from step_torch.agreement import agreements
from step_torch.generating import LanguageModel, run
from step_torch.imported import Imported

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
import transformers  # noqa: E402
from torch import nn  # noqa: E402

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
KIMI = {
    "linear_num_heads": 2, "linear_head_dim": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": 4,
    "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 4, "head_dim": 4,
    "mlp_layer_types": ["dense", "dense"], "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "mamba": {}, "mamba2": HEADS, "mamba2_limited": {**HEADS, "time_step_limit": (0.1, 1.0)}, "qwen3_next": DELTA,
    "rwkv": {"attention_hidden_size": 8, "rescale_every": 1}, "kimi_linear": KIMI,
}  # fmt: skip


def language(name: str) -> nn.Module:
    """A family of random weights."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name.split("_limited")[0], **SIZES, **FAMILIES[name])
    made = transformers.AutoModelForCausalLM.from_config(config).to(torch.bfloat16).eval()
    with torch.no_grad():
        for each in made.parameters():
            random = torch.randn_like(each)
            each.copy_(1 + random / 4 if each.ndim == 1 else random / each.shape[-1] ** 0.5)
    return made


def layer(name: str, rows: int, path: Path) -> Imported:
    """The first layer of a family."""
    made = language(name)
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


def writer(name: str, path: Path) -> LanguageModel:
    """A family as a program that writes."""
    prompts = [[3, 1, 4], [7]]
    return LanguageModel.load(step_torch.capture_decoding(language(name), path / "model.pt2", room=8, prompts=prompts))


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "mamba2_limited"])
def test_it_writes_as_torch_does(name: str, tmp_path: Path) -> None:
    model = writer(name, tmp_path)
    assert model.parts.count == (1 if "layer_types" in FAMILIES[name] else 2)
    for found in agreements(model):
        assert found.agreed >= 0.8 * found.count and all(each.margin < 0.05 for each in found.differences)


PROMPTS, COUNTS = [[3, 1, 4], [7], [2, 9]], [3, 4, 2]


def test_a_text_begins_with_its_first_state(tmp_path: Path) -> None:
    """Several are written one behind the other, each as by itself, and one goes on from kept states."""
    model = writer("mamba", tmp_path)
    runs = [run(model.program(*each), "approx") for each in zip(PROMPTS, COUNTS, strict=True)]
    alone = [np.asarray(each.outputs["tokens"]).ravel().tolist() for each in runs]
    batch, together = model.batch(PROMPTS, COUNTS), run(model.program(PROMPTS, COUNTS), "approx")
    assert [batch.written(together.outputs["tokens"], at) for at in range(3)] == alone
    kept = {name: each for name, each in runs[0].outputs.items() if "_cache_" in name}
    more = run(model.program(alone[0][-1:], 2, past=5, caches=kept), "approx").outputs["tokens"]
    longer = run(model.program(PROMPTS[0], 5), "approx").outputs["tokens"]
    assert np.array_equal(np.asarray(more).ravel(), np.asarray(longer).ravel()[3:])
    with pytest.raises(InputError, match=r"keep states, of one text at a time: slots must be 1$"):
        model.batch(PROMPTS, COUNTS, slots=2)


@pytest.mark.large
def test_it_writes_in_rtl(tmp_path: Path) -> None:
    program = writer("mamba", tmp_path).program([3, 1, 4], 3)
    found = [run(program, backend).outputs for backend in ("interpret", "approx", "rtl")]
    for output, each in found[0].items():
        assert all(np.array_equal(np.asarray(each), np.asarray(other[output])) for other in found[1:])
