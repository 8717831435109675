"""Modules are captured anew, where torch is (`pytest -m torch`): all models, and what can not be captured."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from raising import raising

import step_torch
from step.errors import InputError
from step_torch.archive import read_archive

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import capturing  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402


@pytest.mark.parametrize("name", capturing.all_names())
def test_a_layer_is_as_exact_as_torch(name: str, tmp_path: Path) -> None:
    imported = step_torch.load(capturing.capture(name, tmp_path))
    assert imported.check().passed
    assert sum(each.bytes for each in imported.joins()) <= 0.15 * imported.intermediate_bytes
    assert imported.program.graph.depths is not None


@pytest.mark.parametrize("name", [*capturing.STORED, "page"])
def test_a_stored_layer_is_what_is_captured(name: str, tmp_path: Path) -> None:
    """That of docs/torch.md, too."""
    anew = capturing.capture_page(tmp_path) if name == "page" else capturing.capture(name, tmp_path)
    stored = capturing.CAPTURED / anew.name
    assert read_archive(stored).model["graph_module"] == read_archive(anew).model["graph_module"]


class Deciding(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1


def test_a_branch_that_depends_on_data(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        step_torch.capture(Deciding(), (torch.ones(1, 4, 4, dtype=torch.bfloat16),), tmp_path / "model.pt2")
    line = Deciding.forward.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"the module decides on data at {__file__}:{line}: a stream of operators can not, so take it apart"
    )


def test_a_module_that_is_not_in_bfloat16(tmp_path: Path) -> None:
    with raising(InputError, "parameter 'weight' is float32, not bfloat16: call .to(torch.bfloat16) first"):
        step_torch.capture(nn.Linear(4, 4), (torch.ones(1, 4),), tmp_path / "model.pt2")


@pytest.mark.parametrize("name", capturing.WRITING)
def test_a_stored_model_that_writes_is_what_is_captured(name: str, tmp_path: Path) -> None:
    anew = capturing.capture_writing(name, tmp_path)
    stored = capturing.CAPTURED / "language" / f"{name}.pt2"
    assert read_archive(stored).model["graph_module"] == read_archive(anew).model["graph_module"]
    assert stored.with_suffix(".json").read_text() == anew.with_suffix(".json").read_text()


def test_models_that_do_not_write(tmp_path: Path) -> None:
    with raising(InputError, "GPT2LMHeadModel has 64 positions: room can not be 65, for more tokens"):
        step_torch.capture_decoding(capturing.model("GPT2"), tmp_path / "model.pt2", room=65)
    with raising(
        InputError,
        "Linear has no step that can be captured: language models of transformers have, whose layers are a list of "
        "modules",
    ):
        step_torch.capture_decoding(nn.Linear(4, 4), tmp_path / "model.pt2", room=8)


def test_torch_still_reads_what_is_captured(tmp_path: Path) -> None:
    args = (torch.ones(1, 4, 16, dtype=torch.bfloat16),)
    module = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.LayerNorm(16)).to(torch.bfloat16)
    path = step_torch.capture(module, args, tmp_path / "model.pt2")
    assert torch.equal(torch.export.load(path).module()(*args), module(*args))
    assert step_torch.load(path).check().passed


def test_attention_of_torch_itself(tmp_path: Path) -> None:
    class Attending(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)

    args = tuple(torch.randn(1, 2, 8, 16, dtype=torch.bfloat16) for _ in range(3))
    assert step_torch.load(step_torch.capture(Attending(), args, tmp_path / "model.pt2")).check().passed
