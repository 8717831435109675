"""Products, convolutions, pooling and recurrent layers of torch: as exact as torch, with the same bits when timed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import step
import step_torch
from cosim.comparing.compare import compare
from step.errors import InputError

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
from called import Called  # noqa: E402
from torch import Tensor, einsum, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

Shapes = tuple[tuple[int, ...], ...]


class Weighed(nn.Module):
    """A parameter times what comes, from one side or the other."""

    def __init__(self, *shape: int, left: bool) -> None:
        super().__init__()
        self.weight, self.left = nn.Parameter(torch.randn(*shape) / 4), left

    def forward(self, x: Tensor) -> Tensor:
        return self.weight @ x if self.left else x @ self.weight


def attention(qkv: nn.Module, x: Tensor) -> Tensor:
    """Attention of two heads, by hand."""
    q, k, v = (each.unflatten(-1, (2, -1)).transpose(1, 2) for each in qkv(x).chunk(3, -1))
    return (torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v).transpose(1, 2).flatten(2)


def flat_attention(qkv: nn.Module, x: Tensor) -> Tensor:
    """The same, of heads in the batch."""
    rows, tokens, _ = x.shape
    q, k, v = (y.unflatten(-1, (2, -1)).transpose(1, 2).reshape(2 * rows, tokens, -1) for y in qkv(x).chunk(3, -1))
    return (torch.softmax(q @ k.mT / 2, -1) @ v).view(rows, 2, tokens, -1).transpose(1, 2).flatten(2)


PRODUCTS: dict[str, tuple[Callable[..., Any], Shapes]] = {
    "matrices": (lambda x, y: x @ y, ((6, 16), (16, 12))),
    "with_itself": (lambda x: x @ x.T, ((8, 16),)),
    "itself_turned": (lambda x: x.T @ x, ((8, 16),)),
    "batches": (torch.bmm, ((3, 6, 16), (3, 16, 12))),
    "heads": (lambda x, y: x.tanh() @ y.tanh().mT, ((2, 3, 4, 16), (2, 3, 8, 16))),
    "one_for_all": (lambda x, y: x @ y, ((2, 3, 4, 16), (16, 8))),
    "vector": (lambda x, y: x @ y, ((16,), (16, 8))),
    "einsum_heads": (lambda x, y: einsum("bqhd,bkhd->bhqk", x, y), ((2, 4, 3, 8), (2, 8, 3, 8))),
    "einsum_vector": (lambda x, y: einsum("ij,j->i", x, y), ((4, 8), (8,))),
    "einsum_inner": (lambda x, y: einsum("bij,bik->bjk", x, y), ((2, 4, 8), (2, 4, 6))),
    "added_batches": (torch.baddbmm, ((3, 4, 6), (3, 4, 16), (3, 16, 6))),
    "added": (torch.addmm, ((4, 6), (4, 16), (16, 6))),
    "linear": (functional.linear, ((2, 4, 16), (8, 16), (8,))),
    "one_row": (lambda x, y: x @ y, ((3, 1, 16), (3, 16, 1))),
    "outer": (lambda x, y: x @ y, ((3, 4, 1), (3, 1, 8))),
}
MODULES: dict[str, tuple[Callable[[], nn.Module], Shapes]] = {
    "attention": (lambda: Called(attention, nn.Linear(8, 24)), ((2, 8, 8),)),
    "flat_attention": (lambda: Called(flat_attention, nn.Linear(8, 24)), ((2, 8, 8),)),
    "weights_of_a_batch": (lambda: Weighed(3, 16, 12, left=False), ((3, 8, 16),)),
    "weight_first": (lambda: Weighed(12, 8, left=True), ((3, 8, 16),)),
    "border": (lambda: nn.Conv2d(3, 8, 3, padding=1), ((1, 3, 8, 8),)),
    "steps": (lambda: nn.Conv2d(3, 8, (3, 2), (1, 2), (2, 1), 2, bias=False), ((2, 3, 9, 8),)),
    "pixels": (lambda: nn.Conv2d(3, 8, 1), ((2, 3, 4, 4),)),
    "groups": (lambda: nn.Conv2d(4, 8, 3, groups=2), ((1, 4, 6, 6),)),
    "by_itself": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), ((1, 4, 6, 6),)),
    "signal": (lambda: nn.Conv1d(3, 8, 3, padding=1), ((2, 3, 8),)),
    "signal_by_itself": (lambda: nn.Conv1d(4, 4, 4, padding=3, groups=4, bias=False), ((1, 4, 8),)),
    "one_channel": (lambda: nn.Sequential(nn.Conv2d(1, 4, 5), nn.Conv2d(4, 1, 3)), ((1, 1, 8, 8),)),
    "volume": (lambda: nn.Conv3d(2, 4, 3), ((1, 2, 4, 4, 4),)),
    "grown": (lambda: nn.ConvTranspose2d(3, 8, 2, 2), ((1, 3, 4, 4),)),
    "grown_groups": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), ((1, 4, 4, 4),)),
    "largest": (lambda: nn.MaxPool2d(3, 2, 1), ((1, 3, 8, 8),)),
    "largest_of_a_signal": (lambda: nn.MaxPool1d(2), ((2, 3, 8),)),
    "mean": (lambda: nn.AvgPool2d(3, 2, 1), ((2, 3, 8, 8),)),
    "mean_of_parts": (lambda: nn.AdaptiveAvgPool2d(2), ((1, 3, 8, 8),)),
    "mean_of_uneven_parts": (lambda: nn.AdaptiveAvgPool2d(3), ((1, 2, 8, 8),)),
    "nearest": (lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(3, 2, 3)), ((1, 3, 4, 4),)),
    "bilinear": (lambda: nn.Bilinear(8, 6, 4), ((4, 8), (4, 6))),
    "resized": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 2, 3), nn.Upsample((9, 6)), nn.ReLU(), nn.Upsample(scale_factor=2, mode="bilinear")
        ),
        ((1, 3, 6, 6),),
    ),
    "shuffled": (lambda: nn.Sequential(nn.Conv2d(3, 8, 1), nn.PixelShuffle(2), nn.Conv2d(2, 3, 3)), ((1, 3, 4, 4),)),
    "patches": (lambda: nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.Flatten(2)), ((1, 3, 8, 8),)),
    "classes": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.Tanh(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(72, 5),
        ),
        ((2, 1, 12, 12),),
    ),
}
CELLS: dict[str, tuple[Callable[[], nn.Module], Shapes]] = {
    "lstm": (lambda: Called(_lstm, nn.LSTM(4, 8, batch_first=True)), ((2, 5, 4), (1, 2, 8), (1, 2, 8))),
    "gru": (lambda: nn.GRU(4, 8), ((5, 1, 4), (1, 1, 8))),
    "layers_in_both_directions": (lambda: nn.GRU(4, 8, 2, bidirectional=True), ((3, 2, 4), (4, 2, 8))),
    "one_step": (lambda: nn.GRU(4, 8), ((1, 3, 4), (1, 3, 8))),
    "tanh": (lambda: nn.RNN(4, 8, bias=False), ((5, 2, 4), (1, 2, 8))),
    "relu": (lambda: nn.RNN(4, 8, nonlinearity="relu"), ((6, 1, 4), (1, 1, 8))),
}


def _lstm(layer: nn.Module, x: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    outputs, (last, kept) = layer(x, (state, cell))
    return outputs, last, kept


RTL: dict[str, tuple[Callable[[], nn.Module], Shapes]] = {
    "a_small_lenet": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Flatten(),
            nn.Linear(32, 5),
        ),
        ((1, 1, 8, 8),),
    ),
    "an_lstm": (
        lambda: Called(lambda lstm, last, x: last(lstm(x)[0][:, -1]), nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 3)),
        ((1, 4, 4),),
    ),
}  # fmt: skip


def captured(module: nn.Module, shapes: Shapes, path: Path) -> Path:
    """A module of random weights, and random data."""
    given = [torch.randn(*shape, dtype=torch.bfloat16) for shape in shapes]
    return step_torch.capture(module.to(torch.bfloat16), given, path)


MADE = {name: (lambda of=function: Called(of), shapes) for name, (function, shapes) in PRODUCTS.items()}
ALL = {**MADE, **MODULES, **CELLS}


@pytest.mark.parametrize("name", ALL)
def test_it_is_as_exact_as_torch(name: str, tmp_path: Path) -> None:
    make, shapes = ALL[name]
    torch.manual_seed(1)
    model = step_torch.load(captured(make(), shapes, tmp_path / "model.pt2"))
    check = model.check()
    assert check.passed and check.error < 0.01
    timed, meant = step.run(model.program, "approx", values="all"), step.run(model.program, "interpret")
    for output, each in meant.outputs.items():
        assert np.array_equal(np.asarray(timed.outputs[output]), np.asarray(each))


@pytest.mark.large
@pytest.mark.parametrize("name", RTL)
def test_in_rtl(name: str, tmp_path: Path) -> None:
    make, shapes = RTL[name]
    found = compare(step_torch.load(captured(make(), shapes, tmp_path / "model.pt2")).program, optimize=False)
    assert found.passed and found.mismatches == 0, found.complaints


@pytest.mark.parametrize(
    ("module", "shapes", "said"),
    [
        (lambda: nn.AvgPool2d(2, ceil_mode=True), ((1, 2, 5, 5),), "ceil_mode; without it there is a lowering"),
        (
            lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
            ((1, 2, 8, 8),),
            "a border that does not count; one that does has a lowering",
        ),
        (
            lambda: Called(functional.conv1d),
            ((1, 2, 8), (4, 2, 3)),
            "its weights are no parameter of the module",
        ),
    ],
)
def test_what_is_missing(module: Callable[[], nn.Module], shapes: Shapes, said: str, tmp_path: Path) -> None:
    path = captured(module(), shapes, tmp_path / "model.pt2")
    with pytest.raises(InputError) as caught:
        step_torch.load(path)
    assert str(caught.value).splitlines()[1].endswith(f": {said}")
