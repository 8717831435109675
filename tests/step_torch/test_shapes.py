"""Operators of shapes, of choices and along dimensions, each in a module of its own: as exact as torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import step
import step_torch

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

F, BF16 = torch.nn.functional, torch.bfloat16
ONE, TWO, SQUARE, IMAGE = [(8, 16)], [(8, 16), (8, 16)], [(4, 4)], [(2, 4, 4, 4)]
NUMBERS = torch.tensor([5, 2, 7, 0])

Forward = Callable[..., Any]


def rotated(x: Any) -> Any:
    """Interleaved, of a part of the columns."""
    part, rest = x[..., :8], x[..., 8:]
    return torch.cat([torch.stack([-part[..., 1::2], part[..., ::2]], -1).flatten(-2) * part, rest], -1)


def slots(x: Any) -> Any:
    """Soft experts: every slot is a mean of rows, and every row one of slots."""
    share = torch.einsum("bnd,dep->bnep", x, torch.ones(16, 4, 2, dtype=x.dtype).cumsum(0) / 16)
    made = torch.einsum("bnd,bnep->bepd", x, share.softmax(1))
    made = torch.stack([made[:, each].tanh() for each in range(4)], 1)
    return torch.einsum("bepd,bnep->bnd", made, share.flatten(2).softmax(-1).view_as(share))


CASES: dict[str, tuple[Forward, list[tuple[int, ...]]]] = {
    "select": (lambda x: x.tanh()[1], ONE),
    "select last of the middle": (lambda x: x[:, -1], [(2, 8, 16)]),
    "slice of rows": (lambda x: (x.tanh()[2:6], x.tanh()[::3], x[:, 3:9].tanh()), ONE),
    "slice of the middle": (lambda x: x.tanh()[:, 1:3], [(2, 4, 16)]),
    "slice of float32": (lambda x: x.float().exp()[:, 4:12].to(BF16), ONE),
    "columns side by side": (lambda x, y: torch.cat([x.tanh(), y, x], -1), [(8, 16), (8, 24)]),
    "rows below each other": (lambda x, y: torch.cat([x.tanh(), y], 0), [(1, 16), (8, 16)]),
    "blocks of the middle": (lambda x, y: torch.cat([x.tanh(), y], 1), [(2, 4, 16), (2, 8, 16)]),
    "stacks": (lambda x, y: tuple(torch.stack([x.tanh(), y], dim) for dim in (0, 1, 2)), TWO),
    "rotary": (rotated, [(1, 2, 8, 16)]),
    "repeated": (lambda x: (x.tanh().repeat(2, 3), x.repeat_interleave(2, -1), x.tanh().repeat_interleave(2, 0)), ONE),
    "expanded": (lambda x: (x.tanh()[:, None].expand(8, 4, 16), x.tanh()[:, :, None].expand(8, 16, 4)), ONE),
    "rolled": (lambda x: (x.tanh().roll(2, 0), x.tanh().roll(2, 1), x.tanh().flip(0, 1)), ONE),
    "padded": (lambda x: (F.pad(x.tanh(), (1, 2)), F.pad(x.tanh(), (1, -2, 2, 1), value=0.5)), ONE),
    "padded as a mirror": (lambda x: F.pad(x.tanh(), (1, 2), mode="reflect"), [(1, 4, 16)]),
    "split": (lambda x: (x.tanh().split([2, 6], 0)[1], x.tanh().chunk(3, 0)[2], x.unbind(1)[3].tanh()), ONE),
    "chosen": (lambda x: (x.tanh()[[3, 1, 1]], x.tanh()[:, [3, 1]]), ONE),
    "chosen of two dimensions": (lambda x: (x.tanh()[[3, -1, 1], [1, 0, 5]], x.view(2, 4, 16)[:, [3, 1], [0, 7]]), ONE),
    "attention without heads": (lambda x, y: F.scaled_dot_product_attention(x.tanh(), y, y), [(2, 8, 16), (2, 4, 16)]),
    "put": (lambda x: x.slice_scatter(x[2:4].tanh(), 0, 1, 3), ONE),
    "pixels": (lambda x: F.pixel_shuffle(x.tanh(), 2), IMAGE),
    "plus its transpose": (lambda x: x + x.T, SQUARE),
    "constants": (lambda x: x * torch.ones(16, 16, dtype=BF16).tril()[:8] + torch.arange(16), ONE),
    "means": (lambda x: (x.tanh().mean(0), x.mean(-1), x.tanh().mean() * x), ONE),
    "mean of an image": (lambda x: (x.tanh().mean((2, 3)), x.tanh().sum((1, 3), keepdim=True)), IMAGE),
    "variance": (lambda x: (x.var(1), x.tanh().var(0, unbiased=False)), ONE),
    "extremes": (lambda x: (x.tanh().max(0)[0], x.max(), x.tanh().amin(1)), ONE),
    "places": (lambda x: (x.argmax(1), x.argmax(0), x.min(1)[1], x.argmax()), ONE),
    "product": (lambda x: (1 + x / 8).prod(0), SQUARE),
    "sums so far": (lambda x: (x.tanh().cumsum(1), x.tanh().cumsum(0)), ONE),
    "softmax of the middle": (lambda x: (x.tanh().softmax(1), x.tanh().softmax(0)), [(2, 4, 16)]),
    "sorted": (lambda x: (x.tanh().sort(-1)[0], x.argsort(0, descending=True)), ONE),
    "scalars by number": (lambda x: (x.gather(1, x.argsort(1)[:, :2]), x.scatter_add(1, x.argsort(1), x)), ONE),
    "scalars put": (lambda x: torch.zeros_like(x).scatter(1, x.argsort(1)[:, :2], 1.0), ONE),
    "best rows": (lambda x: x[x.argmax(0)].mean(1), [(8, 4, 16)]),
    "windows": (lambda x: (x.unfold(1, 4, 2), x.unfold(0, 2, 1).exp(), x.tanh().unfold(-1, 16, 1)), ONE),
    "diagonals": (lambda x: (x.diagonal(), x.exp().diagonal(-2), x[:, :8].trace()), ONE),
    "turned by complex numbers": (
        lambda x: torch.view_as_real(
            2 * torch.view_as_complex(x.float().unflatten(-1, (8, 2))) * torch.polar(torch.ones(8), torch.arange(8.0))
        ).flatten(3).to(BF16), [(2, 2, 8, 16)]),
    "columns of outer products": (
        lambda x: torch.cat([x, (x[..., None] * NUMBERS.to(x.dtype)).flatten(1)], -1), [(8, 3)]),
    "slots": (slots, [(2, 8, 16)]),
    "medians": (lambda x: (x.tanh().median(-1)[0], x.median(0, keepdim=True)[1].to(BF16)), ONE),
    "rows put": (lambda x: (x.index_put((NUMBERS,), x[:4].tanh()), x.index_add(0, NUMBERS, x[:4].tanh())), ONE),
}  # fmt: skip
LAYERS = {
    "group": (lambda: torch.nn.GroupNorm(2, 4), IMAGE), "layer": (lambda: torch.nn.LayerNorm((4, 4)), IMAGE),
    "batch": (lambda: torch.nn.BatchNorm2d(4), IMAGE), "instance": (lambda: torch.nn.InstanceNorm2d(4), [(1, 4, 4, 4)]),
}  # fmt: skip


class Module(torch.nn.Module):
    """A function as a module."""

    def __init__(self, forward: Forward, table: int = 0) -> None:
        super().__init__()
        self.made = forward
        self.bags = torch.nn.EmbeddingBag(32, 16) if table else None

    def forward(self, *args: Any) -> Any:
        return self.made(*args) if self.bags is None else self.bags(*args)


def imported(module: Any, args: list[Any], folder: Path) -> step_torch.Imported:
    return step_torch.load(step_torch.capture(module.to(BF16), args, folder / "model.pt2"))


@pytest.mark.parametrize("name", CASES)
def test_a_function_of_shapes(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    forward, shapes = CASES[name]
    model = imported(Module(forward), [torch.randn(shape, dtype=BF16) for shape in shapes], tmp_path)
    check = model.check()
    assert check.error <= 1.1 * check.torch_error + 1e-9 and check.error < 0.01, check
    timed, meant = step.run(model.program, "approx", values="all"), step.run(model.program, "interpret")
    for output, each in meant.outputs.items():
        assert np.array_equal(np.asarray(timed.outputs[output]), np.asarray(each))


@pytest.mark.parametrize("name", LAYERS)
def test_a_norm(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    make, shapes = LAYERS[name]
    layer = make()
    for each in (*layer.parameters(), *layer.buffers()):
        if each.is_floating_point():
            each.data.uniform_(0.5, 1.5)
    check = imported(layer, [torch.randn(shape, dtype=BF16) for shape in shapes], tmp_path).check()
    assert check.passed and check.error < 0.01, check


def test_bags_of_rows(tmp_path: Path) -> None:
    torch.manual_seed(1)
    check = imported(Module(abs, 1), [torch.randint(0, 32, (4, 8))], tmp_path).check()
    assert check.passed and check.error < 0.01, check
