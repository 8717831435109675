"""Axes that tiles do not divide: what the last tile has more than there is never comes into a result."""

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
from step_torch.imported import Imported

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
from called import Called  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

Shapes = tuple[tuple[int, ...], ...]
sdpa = functional.scaled_dot_product_attention


def near(rows: int) -> Tensor:
    """Which rows see each other: those that are less than four apart."""
    place = torch.arange(rows)
    return (place[:, None] - place).abs() < 4


def experts(router: nn.Module, up: nn.Module, x: Tensor) -> Tensor:
    """The two largest of four shares of every row, times what one layer makes of it."""
    share, place = torch.softmax(router(x), -1).topk(2, -1)
    return torch.zeros_like(router(x)).scatter(-1, place, share).sum(-1, keepdim=True) * up(x)


ROWS: Shapes = ((13, 16),)
HEADS: Shapes = ((1, 2, 13, 16),) * 3
FUNCTIONS: dict[str, tuple[Callable[..., Any], Shapes]] = {
    "sum": (lambda x: x.exp().sum(0), ROWS),
    "mean_of_all": (lambda x: x.cos().mean(), ROWS),
    "variance": (lambda x: x.cos().var(0), ROWS),
    "largest": (lambda x: (-x.abs() - 3).amax(0), ROWS),
    "place_of_largest": (lambda x: x.tanh().argmax(0).to(x.dtype), ROWS),
    "softmax_of_rows": (lambda x: x.cos().softmax(0), ROWS),
    "softmax_of_columns": (lambda x: x.cos().softmax(1), ROWS),
    "sums_so_far": (lambda x: x.cos().flip(0).cumsum(0), ROWS),
    "of_the_mean": (lambda x: x / x.exp().mean(0), ROWS),
    "topk": (lambda x: x.cos().topk(3, 0)[0], ROWS),
    "turned": (lambda x: x.cos().T.contiguous(), ROWS),
    "with_itself": (lambda x: (x.cos() @ x.cos().T).softmax(-1) @ x, ROWS),
    "product_over_rows": (lambda x: x.exp().T @ x.exp(), ROWS),
    "in_one_row": (lambda x: x.cos().reshape(-1), ROWS),
    "chained": (lambda x, y: torch.cat([x.cos(), y.cos()]), ((13, 16), (17, 16))),
    "with_others": (lambda x, y: x.cos() + y, ((13, 16), (13, 1))),
    "merged": (lambda x: x.view(26, 16).exp().sum(0), ((2, 13, 16),)),
    "split": (lambda x: x.view(3, 2, 31, 4).exp().sum(2), ((3, 62, 4),)),
    "numbered": (lambda x: x[torch.tensor([1, 0, 1])].exp(), ((2, 13, 16),)),
    "outer": (lambda x, y: x.cos()[:, None] * y[None], ((13, 4), (11, 4))),
    "batches": (lambda x, y: torch.bmm(x.cos(), y.exp()), ((2, 13, 17), (2, 17, 19))),
    "full": (lambda q, k, v: sdpa(q.cos(), k.exp(), v.abs().log()), HEADS),
    "causal": (lambda q, k, v: sdpa(q, k, v, is_causal=True), HEADS),
    "crossed": (lambda q, k: sdpa(q, k, k), ((1, 2, 16, 16), (1, 2, 13, 16))),
    "crossed_too": (lambda q, k: sdpa(q, k, k), ((1, 2, 13, 16), (1, 2, 16, 16))),
    "masked": (lambda q: sdpa(q, q, q, near(13)), HEADS[:1]),
    "masked_by_an_input": (lambda q, x: sdpa(q, q, q, (x @ x.T)), (HEADS[0], (13, 4))),
}
MODULES: dict[str, tuple[Callable[[], nn.Module], Shapes]] = {
    "layers": (lambda: nn.Sequential(nn.Linear(131, 67), nn.Sigmoid(), nn.Linear(67, 10)), ((13, 131),)),
    "one_row": (lambda: nn.Sequential(nn.Linear(131, 67), nn.ReLU(), nn.Linear(67, 10)), ((1, 131),)),
    "wide": (lambda: nn.Linear(16, 1009), ((3, 16),)),
    "of_wide": (lambda: Called(lambda f, x: f(x).exp().sum(-1), nn.Linear(16, 37)), ROWS),
    "place_of_wide": (lambda: Called(lambda f, x: f(x).argmax(-1), nn.Linear(16, 37)), ROWS),
    "norm": (lambda: nn.LayerNorm(16), ROWS),
    "norm_of_images": (lambda: nn.GroupNorm(2, 4), ((1, 4, 13, 13),)),
    "images": (
        lambda: nn.Sequential(nn.Conv2d(2, 7, 3), nn.BatchNorm2d(7), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(7, 5, 3)),
        ((1, 2, 15, 28),),
    ),
    "pooled": (lambda: nn.MaxPool2d(3, 2), ((1, 4, 27, 27),)),
    "signal": (lambda: nn.Conv1d(3, 7, 3, padding=1), ((2, 3, 13),)),
    "cell": (lambda: nn.GRU(5, 11, batch_first=True), ((13, 7, 5),)),
    "encoder": (lambda: nn.TransformerEncoderLayer(36, 3, 67, batch_first=True, dropout=0.0), ((2, 13, 36),)),
    "experts": (lambda: Called(experts, nn.Linear(16, 4), nn.Linear(16, 37)), ROWS),
}
ALL = {**{name: (lambda of=each: Called(of), shapes) for name, (each, shapes) in FUNCTIONS.items()}, **MODULES}


def imported(make: Callable[[], nn.Module], shapes: Shapes, path: Path, **options: Any) -> Imported:
    """The module on random numbers."""
    torch.manual_seed(1)
    data = tuple(torch.randn(*shape, dtype=torch.bfloat16) for shape in shapes)
    return step_torch.load(step_torch.capture(make().to(torch.bfloat16).eval(), data, path), **options)


@pytest.mark.parametrize("name", ALL)
def test_as_exact_as_torch(name: str, tmp_path: Path) -> None:
    model = imported(*ALL[name], tmp_path / "model.pt2")
    check = model.check()
    assert check.passed and check.error < 0.01
    timed, meant = step.run(model.program, "approx", values="all"), step.run(model.program, "interpret")
    for output, each in meant.outputs.items():
        assert np.array_equal(np.asarray(timed.outputs[output]), np.asarray(each))


@pytest.mark.parametrize(("rows", "said"), [(13, "4, the last one 1"), (7, "7"), (62, "4, the last one 2")])
def test_it_is_said(rows: int, said: str, tmp_path: Path) -> None:
    model = imported(lambda: Called(torch.tanh), ((rows, 16),), tmp_path / "model.pt2")
    assert model.notes == (f"axis 0 of 'given_0' is {rows}, which tiles of 4 rows do not divide: they have {said}",)


def test_as_fast_as_whole_tiles(tmp_path: Path) -> None:
    """Thirteen rows take as long as sixteen, and no longer as thirteen tiles."""
    cycles = {}
    for rows in (13, 16):
        shapes, path = ((1, rows, 32),), tmp_path / f"of_{rows}.pt2"
        model = imported(lambda: nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0.0), shapes, path)
        cycles[rows] = step.run(model.program, "approx").cycles
    assert cycles[13] < 1.2 * cycles[16]


@pytest.mark.large
@pytest.mark.parametrize("name", ["full", "layers", "images"])
def test_in_rtl(name: str, tmp_path: Path) -> None:
    found = compare(imported(*ALL[name], tmp_path / "model.pt2").program, optimize=False)
    assert found.passed and found.mismatches == 0, found.complaints
