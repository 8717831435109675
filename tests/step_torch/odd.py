"""Small modules that read, see and give their tensors in ways that layers of transformers do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import step_torch

BF16 = torch.bfloat16


class Module(nn.Module):
    """What ``forward`` makes of ``parts``: modules, parameters (of floats) and buffers (others), by name."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.made = forward
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            elif part.is_floating_point():
                self.register_parameter(name, nn.Parameter(part))
            else:
                self.register_buffer(name, part)

    def forward(self, *args: Tensor) -> Any:
        return self.made(self, *args)


def inner(b: Tensor) -> nn.Module:
    """A module with the parameter b."""
    return Module(lambda self: self.b, b=b)


def attention(self: Any, x: Tensor) -> Tensor:
    """Attention by hand."""
    query, key, value = self.q(x), self.k(x), self.v(x)
    return torch.softmax(query @ key.transpose(-1, -2) / 4, -1) @ value


def routed(self: Any, x: Tensor) -> Tensor:
    """Experts that add their rows up."""
    weight, index = torch.softmax(self.router(x), -1).topk(2, -1)
    result = torch.zeros_like(x)
    for number, expert in enumerate((self.first, self.second)):
        rows, slot = torch.where(index == number)
        result.index_add_(0, rows, expert(x[rows]) * weight[rows, slot, None])
    return result


def odd() -> dict[str, tuple[nn.Module, list[list[int]], Any]]:
    """Modules, shapes of their arguments, and dynamic axes."""

    def linear() -> nn.Module:
        return nn.Linear(16, 16)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape)

    flat, square, batch = [[8, 16]], [[16, 16]], [[1, 16, 16]]
    both = [[8, 16], [8, 16]]
    rows = torch.export.Dim("rows", min=2, max=64)
    numbers = {"f": torch.arange(16)}
    return {
        "linear_reshaped": (Module(lambda self, x: self.a(x).reshape(16, 16), a=linear()), batch, None),
        "twice": (Module(lambda self, x: x * x + torch.tanh(x) * x), flat, None),
        "product_with_itself": (Module(lambda self, x: x @ x.T), square, None),
        "attention_by_hand": (Module(attention, q=linear(), k=linear(), v=linear()), batch, None),
        "gru": (Module(lambda self, x, h: self.a(x, h), a=nn.GRUCell(16, 16)), both, None),
        "chunks": (Module(lambda self, x: (self.a(x).chunk(2, -1)[0], self.a(x)), a=nn.Linear(16, 32)), flat, None),
        "transposed": (Module(lambda self, x: x.T), square, None),
        "permuted": (Module(lambda self, x: x.permute(0, 2, 1, 3).tanh()), [[2, 3, 4, 8]], None),
        "columns_to_rows": (Module(lambda self, x: x.permute(0, 3, 1, 2).tanh()), [[2, 3, 4, 8]], None),
        "turned_weight": (Module(lambda self, x: x @ self.w.T, w=random(16, 16)), flat, None),
        "seen_weight": (Module(lambda self, x: x @ self.w.reshape(32, 16).T, w=random(2, 16, 16)), flat, None),
        "tied": (
            Module(lambda self, x: (x @ self.w.T).tanh() @ self.w, w=random(16, 16)), flat, None,
        ),
        "split_columns": (Module(lambda self, x: self.a(x.reshape(8, 4, 4)), a=nn.Linear(4, 4)), flat, None),
        "merged_columns": (Module(lambda self, x: self.a(x.reshape(2, 64)), a=nn.Linear(64, 8)), flat, None),
        "plus_transposed": (Module(lambda self, x: x + x.T), [[4, 4]], None),
        "scalars": (Module(lambda self, x, y: x * self.a + y, a=random()), [[8, 16], []], None),
        "scalar_alone": (Module(lambda self, x: x.tanh()), [[]], None),
        "same_names": (
            Module(lambda self, x: x * self.x + self.a_b * self.a.b * self.output,
                   x=random(16), a_b=random(16), a=inner(random(16)), output=random(16)), flat, None,
        ),
        "letters": (Module(lambda self, x: self.ß(x * self.é), é=random(16), ß=linear()), flat, None),
        "unread": (Module(lambda self, x: x.tanh(), **numbers), flat, None),
        "read": (Module(lambda self, x: x * self.f, **numbers), flat, None),
        "itself": (Module(lambda self, x: (x, x.tanh(), x)), flat, None),
        "seven_rows": (Module(lambda self, x: self.a(x), a=linear()), [[7, 16]], ({0: rows},)),
        "many_rows": (Module(lambda self, x: self.a(x), a=nn.LayerNorm(4)), [[1, 62, 4]], None),
        "twice_a_dimension": (
            Module(lambda self, x: x.reshape(-1, 2, 16).tanh()), flat, ({0: 2 * torch.export.Dim("half", max=32)},),
        ),
        "routed": (Module(routed, router=nn.Linear(16, 2), first=linear(), second=linear()), flat, None),
        "no_columns": (Module(lambda self, x: x[:, 8:8] * 2), flat, None),
    }  # fmt: skip


torch.manual_seed(0)
ODD = odd()


def capture(name: str, folder: Path) -> Path:
    """The module ``name`` in ``folder``."""
    torch.manual_seed(0)
    module, shapes, dynamic = ODD[name]
    if dynamic is not None:
        dynamic = {"args": dynamic}
    folder.mkdir(exist_ok=True)
    args = [torch.randn(shape, dtype=BF16) for shape in shapes]
    return step_torch.capture(module.to(BF16), args, folder / f"{name}.pt2", dynamic_shapes=dynamic)
