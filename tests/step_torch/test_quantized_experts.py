"""Routed experts whose weights are one tensor, in integers of 4 and 8 bits: the blocks of transformers' families."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from raising import raising

import step
import step_torch
from step.errors import InputError
from step_torch import Tiling

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
from test_experts import Family  # noqa: E402


def block(name: str) -> Any:
    torch.manual_seed(0)
    return Family(name).to(torch.bfloat16).eval()


def rows(count: int) -> torch.Tensor:
    return torch.randn(1, count, 32, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)


@pytest.mark.parametrize(
    ("name", "bits", "group", "tiling"),
    [
        ("Mixtral", 4, 16, None),
        ("Qwen3Moe", 8, None, Tiling(columns=16)),
        ("GptOss", 4, 32, Tiling(columns=16)),
        ("DeepseekV3", 8, 16, Tiling(columns=8)),
    ],
)
def test_a_block(name: str, bits: int, group: int | None, tiling: Tiling | None, tmp_path: Path) -> None:
    """It is as exact as torch with the same integers; biases, gates one beside the other, and several blocks, too."""
    plain = block(name)
    made = step_torch.quantize(copy.deepcopy(plain), weights=bits, group=group)
    imported = step_torch.load(step_torch.capture(made, (rows(6),), tmp_path / "block.pt2"), tiling=tiling)
    check = imported.check()
    assert check.passed, check
    inputs = imported.program.inputs.items()
    kept = [each for tensor, each in inputs if tensor.startswith("experts_expert") and each.dtype.name == "int8"]
    assert len(kept) == 4 * 3
    assert sum(each.nbytes for each in kept) == 4 * 3 * 32 * 32 * bits // 8
    plain.config._experts_implementation = "eager"
    with torch.no_grad():
        exact, off = plain.double()(rows(6).double()), made.double()(rows(6).double())
    assert 0 < float((off - exact).std() / exact.std()) < (0.3 if bits == 4 else 0.03)


def test_interpreter_and_fast_model_agree(tmp_path: Path) -> None:
    path = step_torch.capture(step_torch.quantize(block("Mixtral"), group=16), (rows(3),), tmp_path / "block.pt2")
    program = step_torch.load(path).program
    runs = [step.run(program, "interpret"), step.run(program, "approx", values="all")]
    assert runs[0].outputs["output"].numpy().tobytes() == runs[1].outputs["output"].numpy().tobytes()


@cases(
    ({"group": 24}, "groups of 24 do not divide the 32 inputs of 'block.experts': group=32 does"),
    ({"group": 32, "act": torch.nn.Tanh()}, "experts of 'block.experts' have the activation Tanh or a gate of their "
     "own: silu, gelu, gelu_tanh, relu, relu_squared, clamped_silu have a lowering"),
)  # fmt: skip
def test_what_can_not_be_quantised(options: dict[str, Any], complaint: str) -> None:
    made = block("Mixtral")
    if "act" in options:
        made.block.experts.act_fn = options["act"]
    with raising(InputError, complaint):
        step_torch.quantize(made, group=options["group"])
