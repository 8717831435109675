"""Linear layers of 4 and 8 bits: the bits of torch, data that helps, checkpoints as others pack them, and refusals."""

from __future__ import annotations

import copy
import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
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

import capturing  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from torch import nn  # noqa: E402

LLAMA = {**capturing.COMMON, "num_hidden_layers": 3, "initializer_range": 0.3}


class Gated(nn.Module):
    """Three products, of which two take the same rows."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.gate, self.up, self.down = nn.Linear(64, 128), nn.Linear(64, 128, bias=False), nn.Linear(128, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))  # type: ignore[no-any-return]


def made(kind: Any, *args: Any) -> Any:
    torch.manual_seed(0)
    return kind(*args).to(torch.bfloat16).eval()


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)


@pytest.mark.parametrize(
    ("bits", "group", "columns", "tiling"),
    [
        (4, 32, 24, None),
        (8, None, 7, None),
        (4, 64, 64, Tiling(columns=64, side_by_side=2)),
        (4, 32, 64, Tiling(columns=32, side_by_side=16)),
        (4, 32, 24, Tiling(columns=512, side_by_side=8)),
    ],
)
def test_a_product_has_the_bits_of_torch(
    bits: int, group: int | None, columns: int, tiling: Tiling | None, tmp_path: Path
) -> None:
    """Rows of zeros, too, in one unit, in units that take groups by turns, and in shares of the columns."""
    module = step_torch.quantize(made(nn.Sequential, nn.Linear(128, columns)), weights=bits, group=group)
    given = rows(1, 16, 128) * 3
    given[0, 3] = 0
    imported = step_torch.load(step_torch.capture(module, (given,), tmp_path / "one.pt2"), tiling=tiling)
    assert imported.check().passed
    run = step.run(imported.program, "approx", values="all")
    assert np.array_equal(np.asarray(run.outputs["output"]).reshape(1, 16, -1), imported.archive.results[0].bf16[0])
    weight = next(each for name, each in imported.archive.weights.items() if name.endswith("weight"))
    assert weight.nbytes == 128 * columns * bits // 8


def test_products_of_the_same_rows_share_their_integers(tmp_path: Path) -> None:
    path = step_torch.capture(step_torch.quantize(made(Gated), group=32), (rows(1, 8, 64),), tmp_path / "gated.pt2")
    imported = step_torch.load(path)
    assert imported.check().passed
    assert sum(name.endswith("rows_largest") for name in imported.lowered.graph.nodes) == 2
    assert imported.notes == ("rows in 8 bits, and weights in 4 with a scale for 32: sums are of integers",)


def test_data_makes_the_error_smaller() -> None:
    """Of rows whose columns are alike; by a third, and of rows that were not among the data."""
    spread = torch.randn(16, 64, generator=torch.Generator().manual_seed(2))
    given, other = (rows(400, 16).float() @ spread).to(torch.bfloat16).split(200)
    module = made(Gated)
    with torch.no_grad():
        exact = copy.deepcopy(module).double()(other.double())
        made_so = (
            step_torch.quantize(copy.deepcopy(module), group=32, data=data) for data in ([], [given], [(given,)])
        )
        errors = [float((each.double()(other.double()) - exact).std()) for each in made_so]
    assert errors[1] == errors[2] < 0.75 * errors[0]


@cases(
    (lambda: step_torch.quantize(Gated(), weights=3), "quantize needs weights to be 8 or 4, not 3"),
    (lambda: step_torch.quantize(Gated(), group=48),
     "groups of 48 do not divide the 64 inputs of 'gate': group=64 does"),
    (lambda: step_torch.quantize(nn.Sequential(nn.Linear(14, 2)), group=4),
     "groups of 4 do not divide the 14 inputs of '0': group=None is one for all"),
    (lambda: step_torch.quantize(nn.Sequential(nn.Linear(32, 3)), group=32),
     "'0' is [3, 32], and two weights of 4 bits are a byte: odd numbers take weights=8"),
    (lambda: step_torch.quantize(nn.LayerNorm(8)), "LayerNorm has no linear layers to quantise: parts that are "
     "nn.Linear, or Conv1D of transformers, are"),
    (lambda: step_torch.quantize(nn.Linear(8, 8), group=None), "Linear has no linear layers to quantise: parts that "
     "are nn.Linear, or Conv1D of transformers, are"),
    (lambda: step_torch.quantize("folder", data=[rows(1, 64)]),
     "a folder takes no data: quantize the model itself, and give that to capture"),
    (lambda: step_torch.quantize(Gated(), group=32, data=[rows(1, 3)]), "the module can not be called with data: in "),
)  # fmt: skip
def test_what_can_not_be_quantised(change: Any, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        change()
    assert str(caught.value).startswith(complaint) and (complaint.endswith("in ") or str(caught.value) == complaint)


def test_scales_of_another_format(tmp_path: Path) -> None:
    """Of the operator of torch, that a module may call by itself."""

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.ones(3, 4, dtype=torch.int8))
            self.register_buffer("scales", torch.ones(3, 1, dtype=torch.float16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.step.quantized_linear(x, self.weight, self.scales, None, 8)  # type: ignore[no-any-return]

    path = step_torch.capture(Own(), (rows(4, 4),), tmp_path / "own.pt2")
    with pytest.raises(InputError) as caught:
        step_torch.load(path)
    assert str(caught.value).endswith(
        "weights int8[3, 4] of 8 bits and scales float16[3, 1] for rows of 4; int8 [columns, depth * bits / 8] of 4 or "
        "8 and bfloat16 or float32 [columns, groups] have a lowering"
    )


# -- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("plain")
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)).to(torch.bfloat16).save_pretrained(path)
    return path


def packed(integers: torch.Tensor, bits: int, columns: Any) -> torch.Tensor:
    """Integers from 0 on, neighbours of the last axis in 32 bits each; ``columns``: from the lowest bits on."""
    apart = integers.to(torch.int64).unflatten(-1, (-1, 32 // bits))
    whole = sum(apart[..., column] << (bits * place) for place, column in enumerate(columns))
    return torch.from_numpy(np.asarray(whole, np.int64).astype(np.uint32).view(np.int32))


def written(folder: Path, to: Path, method: str, *, bits: int = 4, off: int = 0, config: Any = None) -> dict[str, Any]:
    """``folder`` as GPTQ or AWQ write it, in groups of 16, with zero points ``off`` the middle; what weights are."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, to)
    state, exact = load_file(to / "model.safetensors"), dict[str, Any]()
    generator = torch.Generator().manual_seed(3)
    for name in [each for each in state if "proj.weight" in each]:
        path, (columns, depth) = name.removesuffix(".weight"), state.pop(name).shape
        integers = torch.randint(0, 1 << bits, (depth, columns), generator=generator)
        zeros = torch.full((depth // 16, columns), (1 << bits - 1) + off)
        scales = torch.rand(depth // 16, columns, generator=generator).half() / 32
        exact[name] = (integers - zeros.repeat_interleave(16, 0)) * scales.double().repeat_interleave(16, 0)
        if method == "gptq":
            plain = range(32 // bits)
            kept = packed(integers.T, bits, plain).T.contiguous(), packed(zeros - 1, bits, plain)
            state[f"{path}.g_idx"] = torch.arange(depth, dtype=torch.int32) // 16
        else:
            order = (0, 2, 4, 6, 1, 3, 5, 7)
            kept = packed(integers, bits, order), packed(zeros, bits, order)
        state |= {f"{path}.qweight": kept[0], f"{path}.qzeros": kept[1], f"{path}.scales": scales}
    save_file({key: each.contiguous() for key, each in state.items()}, to / "model.safetensors", {"format": "pt"})
    whole = json.loads((to / "config.json").read_text())
    whole["quantization_config"] = {"quant_method": method, "bits": bits, "group_size": 16, **(config or {})}
    (to / "config.json").write_text(json.dumps(whole))
    return exact


def test_what_no_data_reaches_is_rounded_to_nearest() -> None:
    module = made(Gated)
    module.idle = made(nn.Linear, 64, 64)
    plain, fitted = (step_torch.quantize(copy.deepcopy(module), data=data) for data in ([], [rows(8, 64)]))
    assert torch.equal(plain.idle.weight, fitted.idle.weight)
    assert not torch.equal(plain.gate.weight, fitted.gate.weight)


@pytest.mark.parametrize(
    ("method", "bits", "off", "ours"), [("gptq", 4, 0, 4), ("gptq", 8, 0, 8), ("awq", 4, 0, 4), ("awq", 4, -3, 8)]
)
def test_a_folder_of_packed_integers(method: str, bits: int, off: int, ours: int, folder: Path, tmp_path: Path) -> None:
    """Weights are the same numbers; zero points that are not in the middle make integers of 8 bits."""
    exact = written(folder, tmp_path / method, method, bits=bits, off=off)
    checkpoint = step_torch.from_pretrained(tmp_path / method)
    own = checkpoint.model([0, 1, 2]).get_submodule("model.layers.1.mlp.down_proj")
    integers = torch.from_numpy(step.functions.dequantize.unpacked(own.weight.numpy())) if ours == 4 else own.weight
    found = integers * own.scales.double().repeat_interleave(16, 1)
    assert own.bits == ours and torch.equal(found, exact["model.layers.1.mlp.down_proj.weight"].T)
    layer = checkpoint.layer(1, tokens=8)
    assert layer.check().passed and layer.notes[0].startswith(f"rows in 8 bits, and weights in {ours} with a scale for")


def test_a_folder_is_quantised_as_it_is_read_and_writes_as_torch_does(folder: Path) -> None:
    checkpoint = step_torch.quantize(folder, group=32, head=True)
    assert checkpoint.layer(1, tokens=8).check().passed
    model, prompt = checkpoint.language_model(room=24), [1, 2, 3]
    run = step.run(model.program(prompt, 7), backend="approx", values="all")
    whole = step_torch.quantize(
        transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16), group=32, head=True
    )
    theirs = whole.generate(torch.tensor([prompt]), max_new_tokens=7, do_sample=False, eos_token_id=None)
    assert model.batch(prompt, 7).written(run.outputs["tokens"], 0) == theirs[0, 3:].tolist()


@cases(
    ({"method": "bitsandbytes"}, "'{0}' has quantized weights (bitsandbytes), and gptq and awq have a lowering: store "
     "them in bfloat16, by model.dequantize() and save_pretrained"),
    ({"method": "awq", "config": {"bits": 8}}, "'{0}' has awq weights of 8 bits: 4 have a lowering"),
    ({"method": "awq", "config": {"version": "gemv"}}, "'{0}' has the awq layout 'gemv': 'gemm' has a lowering"),
    ({"method": "gptq", "bits": 8, "off": 1}, "'{0}' has 'model.layers.0.mlp.down_proj' with zero points other than "
     "128: of 8 bits that one has a lowering"),
    ({"method": "gptq", "turned": True}, "'{0}' has 'model.layers.0.mlp.down_proj' with inputs in another order "
     "(desc_act): neighbours make a group"),
)  # fmt: skip
def test_a_folder_of_other_integers(options: dict[str, Any], complaint: str, folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    path, turned = tmp_path / "odd", options.get("turned")
    written(folder, path, **{name: each for name, each in options.items() if name != "turned"})
    if turned:
        state = load_file(path / "model.safetensors")
        turned_over = {name: each.flip(0) if name.endswith("g_idx") else each for name, each in state.items()}
        save_file(turned_over, path / "model.safetensors", {"format": "pt"})
    with raising(InputError, complaint.format(path)):
        step_torch.from_pretrained(path).layer(0)


def test_perplexity_of_the_tiny_model() -> None:
    """Of its own text: W4A8 loses 4 % by rounding to the nearest, and a tenth of that with data; W8A8 nothing."""
    kept = capturing.train().TEXT
    text = torch.tensor([capturing.SYMBOLS.index(each) for each in kept * 2])
    windows = torch.stack([text[begin : begin + 64] for begin in range(0, len(kept), 16)])

    def loss(model: Any) -> float:
        with torch.no_grad():
            return float(model(input_ids=windows, labels=windows).loss)

    plain, data = loss(capturing.tiny("tiny_lm")), list(windows[:, None])
    nearest, by_data, eight = (
        loss(step_torch.quantize(capturing.tiny("tiny_lm"), weights=bits, group=16, data=given)) / plain - 1
        for bits, given in ((4, []), (4, data), (8, []))
    )
    assert 0.02 < nearest < 0.06 and by_data < nearest / 4 and abs(eight) < 0.003
