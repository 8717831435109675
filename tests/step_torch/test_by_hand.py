"""Attention that a module writes by hand over a cache is the mark, and what is nearly that is none."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from cases import cases

import step_torch
from step.errors import InputError
from step_torch.agreement import agreements
from step_torch.archive import read_archive
from step_torch.generating import LanguageModel
from step_torch.nodes import nodes_of

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import capturing  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from transformers.models.bloom import modeling_bloom  # noqa: E402

LEAST = torch.finfo(torch.bfloat16).min
SEEN = torch.arange(9)[None] > 3
SLOPES = torch.tensor([1.0, 0.5, 0.25, 0.125])[:, None, None]


class Step(nn.Module):
    """A new row behind eight; ``weights`` makes them of scores [batch, heads, 1, 9]."""

    def __init__(self, weights: Callable[[Tensor], Tensor], keys: int) -> None:
        super().__init__()
        self.weights, self.keys = weights, keys
        self.query, self.both = nn.Linear(32, 32), nn.Linear(32, 16 * keys)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        q = self.query(x).view(1, 1, 4, 8).transpose(1, 2)
        new = self.both(x).view(1, 1, self.keys, 16).transpose(1, 2).split(8, -1)
        k, v = (torch.cat(each, 2) for each in ((keys, new[0]), (values, new[1])))
        k, v = (each.repeat_interleave(4 // self.keys, 1) for each in (k, v))
        y: Tensor = self.weights(q @ k.transpose(2, 3)).to(x.dtype) @ v
        return y.transpose(1, 2).reshape(1, 1, 32)


def softmax(x: Tensor) -> Tensor:
    """Of the last dimension."""
    return torch.softmax(x, -1)


FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": softmax,
    "a quotient": lambda x: softmax(x / 8**0.5),
    "FP32": lambda x: torch.softmax(x * 0.25, -1, dtype=torch.float32),
    "hidden rows": lambda x: softmax((x * 0.3).masked_fill(~SEEN, LEAST)),
    "hidden twice": lambda x: softmax(torch.where(SEEN, x, LEAST) + torch.where(SEEN, 0.0, LEAST)),
    "a bias": lambda x: softmax(SLOPES * torch.arange(9) + x.float() * 0.35),
}

NEAR_MISSES: dict[str, Callable[[Tensor], Tensor]] = {
    "heads against each other": lambda x: torch.softmax(x, 1),
    "a cap": lambda x: softmax(4 * torch.tanh(x / 4)),
    "bounds": lambda x: softmax(x.clamp(-50, 50)),
    "a square": lambda x: softmax(x * x),
    "hidden a little": lambda x: softmax(torch.where(SEEN, x, -5.0)),
    "weights once more": lambda x: softmax(x) * 0.5,
    "a scale of each head": lambda x: softmax(x * SLOPES.to(x.dtype)),
    "weights and their sum": lambda x: (w := softmax(x)) + w.sum(1, keepdim=True),
}


@pytest.mark.parametrize("keys", [4, 2])
@pytest.mark.parametrize("name", [*FORMS, *NEAR_MISSES])
def test_it_is_the_mark_or_as_it_is_written(name: str, keys: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    made = Step({**FORMS, **NEAR_MISSES}[name], keys).to(torch.bfloat16)
    given = [(3 * torch.randn(1, 1, 32), *(torch.randn(1, keys, 8, 8) for _ in range(2))) for _ in range(8)]
    rounded = [tuple(each.to(torch.bfloat16) for each in some) for some in given]
    path = step_torch.capture(made, rounded[0], tmp_path / "step.pt2", samples=rounded[1:])
    ops = [node.op for node in nodes_of(read_archive(path)).nodes]
    assert ops.count("step.attention.default") == (name in FORMS)
    assert name not in FORMS or step_torch.load(path).check().passed


SMALL = {"vocab_size": 64, "hidden_size": 32, "tie_word_embeddings": False}
TWO = {"num_hidden_layers": 2, "n_layer": 2, "num_attention_heads": 4, "n_head": 4}
LOCAL = {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4}


@cases(
    ("Falcon", TWO),
    ("GPTNeo", LOCAL),
    ("OPT", {**TWO, "ffn_dim": 32, "word_embed_proj_dim": 32}),
    ("Bloom", TWO),
    ("Mpt", {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64}),
)
def test_families_write_as_torch_does(name: str, sizes: dict[str, object], tmp_path: Path) -> None:
    capturing.MODELS.setdefault(name, SMALL | sizes)
    made = capturing.model(name)
    path = step_torch.capture_decoding(made, tmp_path / "model.pt2", room=12, prompts=[[3, 1, 4], [7]])
    for found in agreements(LanguageModel.load(path)):
        assert found.agreed >= 0.8 * found.count and all(each.margin < 0.05 for each in found.differences)


class Slopes:
    """What Bloom multiplies with the numbers of rows, and another bias instead."""

    def __init__(self, bias: Callable[[int], Tensor]) -> None:
        self.bias = bias

    def __getitem__(self, place: object) -> Slopes:
        return self

    def __mul__(self, numbers: Tensor) -> Tensor:
        return self.bias(len(numbers))


def distance(rows: int) -> Tensor:
    """How far rows are from the last one."""
    return torch.arange(rows) - rows + 1.0


BIASES: dict[str, tuple[Callable[[int], Tensor], str]] = {
    "from the last row": (lambda rows: SLOPES * distance(rows), ""),
    "squares": (
        lambda rows: -SLOPES * distance(rows) ** 2,
        "a mask of a new row behind a cache; a window, or what grows alike from key to key, has a lowering",
    ),
    "a row that is off": (
        lambda rows: SLOPES * distance(rows) * torch.where(distance(rows) == -3, 1.03, 1.0),
        "a mask of a new row behind a cache; a window, or what grows alike from key to key, has a lowering",
    ),
    "chunks": (
        lambda rows: torch.where(torch.arange(rows) // 4 == (rows - 1) // 4, 0.0, LEAST).expand(4, 1, rows),
        " behind another number of tokens: a step can be told that by position_ids alone",
    ),
    "slopes by the number of rows": (
        lambda rows: SLOPES * distance(rows) / rows,
        " behind another number of tokens: a step can be told that by position_ids alone",
    ),
}


@pytest.mark.parametrize("name", BIASES)
def test_biases_of_positions(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bias, says = BIASES[name]
    capturing.MODELS.setdefault("Bloom", SMALL | TWO)
    made = capturing.model("Bloom")
    monkeypatch.setattr(modeling_bloom, "_get_alibi_slopes", lambda *_: Slopes(bias))
    if not says:
        path = step_torch.capture_decoding(made, tmp_path / "model.pt2", room=12, prompts=[[3, 1, 4]])
        (found,) = agreements(LanguageModel.load(path))
        assert found.agreed >= 0.8 * found.count and all(each.margin < 0.05 for each in found.differences)
        return
    with pytest.raises(InputError) as caught:
        LanguageModel.load(step_torch.capture_decoding(made, tmp_path / "model.pt2", room=12)).program([1, 2], 3)
    assert says in str(caught.value)


class Scaled(nn.Module):
    """Results times a number that is no weight."""

    def __init__(self, inner: nn.Module, number: int) -> None:
        super().__init__()
        self.inner = inner
        self.register_buffer("number", torch.tensor(number))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * self.number


@pytest.mark.parametrize("numbers, count", [((2, 2), 2), ((1, 3), 1)])
def test_layers_with_other_constants_are_other_layers(numbers: tuple[int, ...], count: int, tmp_path: Path) -> None:
    """One of them does not stand for both: a pair is one layer then."""
    made = capturing.model("Llama", num_hidden_layers=2)
    for layer, number in zip(made.model.layers, numbers, strict=True):
        layer.mlp = Scaled(layer.mlp, number)
    path = step_torch.capture_decoding(made, tmp_path / "model.pt2", room=8, prompts=[[3, 1, 4]])
    model = LanguageModel.load(path)
    (found,) = agreements(model)
    assert model.parts.count == count
    assert found.agreed >= 0.8 * found.count and all(each.margin < 0.05 for each in found.differences)
