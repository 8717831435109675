"""Plain modules of PyTorch as people write them: what imports, and how exactly.

    python -m benchmarks.modules [NAMES..]

The rms error of the program to the module in float64, over that of torch in BF16; otherwise the first lines of the
error. Outputs of the fast model must be those of the interpreter.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import step  # noqa: E402
import step_torch  # noqa: E402
from step.errors import StepError  # noqa: E402

Shapes = Sequence[tuple[int, ...]]
HIDDEN = 32


class Called(nn.Module):
    """``parts`` and inputs go through a function."""

    def __init__(self, function: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *given: Tensor) -> Any:
        return self.function(*self.parts, *given)


def chain(*parts: nn.Module) -> nn.Module:
    """One after the other."""
    return nn.Sequential(*parts)


def mlp(activation: Callable[[], nn.Module], *between: nn.Module) -> nn.Module:
    """Two layers, and ``between`` behind the first."""
    return chain(nn.Linear(HIDDEN, 64), *between, activation(), nn.Linear(64, HIDDEN))


def residual(*parts: nn.Module) -> nn.Module:
    """x + what the parts make of it."""
    return Called(lambda inner, x: x + inner(x), chain(*parts))


def convolved(channels: int, out: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution of 3 x 3, its norm and activation."""
    return [nn.Conv2d(channels, out, 3, stride, 1, groups=groups, bias=False), nn.BatchNorm2d(out), nn.ReLU6()]


def attention(q: nn.Module, k: nn.Module, v: nn.Module, out: nn.Module, x: Tensor, y: Tensor, **options: Any) -> Tensor:
    """Four heads of attention of ``x`` to ``y``."""
    query, key, value = (each(of).unflatten(-1, (4, -1)).transpose(1, 2) for each, of in ((q, x), (k, y), (v, y)))
    seen = functional.scaled_dot_product_attention(query, key, value, enable_gqa=key.shape[1] != 4, **options)
    return out(seen.transpose(1, 2).flatten(2))


def heads(**options: Any) -> nn.Module:
    """Attention to itself."""
    parts = [nn.Linear(HIDDEN, HIDDEN) for _ in range(4)]
    return Called(lambda q, k, v, out, x: attention(q, k, v, out, x, x, **options), *parts)


def by_hand(q: nn.Module, k: nn.Module, v: nn.Module, x: Tensor) -> Tensor:
    """Causal attention by single operators."""
    scores = q(x) @ k(x).mT / HIDDEN**0.5
    hidden = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
    return torch.softmax(scores.masked_fill(hidden, -1e9), -1) @ v(x)


def gates(router: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and numbers of two experts."""
    weight, index = torch.softmax(router(x), -1).topk(2, -1)
    return weight / weight.sum(-1, keepdim=True), index


def dense_experts(router: nn.Module, *rest: Any) -> Tensor:
    """All experts, and gates that are mostly zero."""
    *experts, x = rest
    weight, index = gates(router, x)
    share = torch.zeros_like(router(x)).scatter(-1, index, weight)
    return sum(share[..., n : n + 1] * each(x) for n, each in enumerate(experts))


def looped_experts(router: nn.Module, *rest: Any) -> Tensor:
    """The rows of each expert."""
    *experts, x = rest
    weight, index = gates(router, x)
    result = torch.zeros_like(x)
    for n, each in enumerate(experts):
        rows, slot = torch.where(index == n)
        result.index_add_(0, rows, each(x[rows]) * weight[rows, slot, None])
    return result


def chosen_rows(router: nn.Module, *rest: Any) -> Tensor:
    """Experts that choose their rows."""
    *experts, x = rest
    weight, index = torch.softmax(router(x), -1).T.topk(4, -1)
    result = torch.zeros_like(x)
    for n, each in enumerate(experts):
        result = result.index_add(0, index[n], each(x[index[n]]) * weight[n, :, None])
    return result


def experts(function: Callable[..., Tensor]) -> nn.Module:
    """A router of four experts."""
    return Called(function, nn.Linear(HIDDEN, 4), *(mlp(nn.GELU) for _ in range(4)))


def two_towers(user: nn.Module, item: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Likeness of two of them."""
    return (functional.normalize(user(x), dim=-1) * functional.normalize(item(y), dim=-1)).sum(-1, keepdim=True)


def crossed(weight: nn.Module, x: Tensor) -> Tensor:
    """A layer of a cross network."""
    return x * weight(x) + x


def factorised(linear: nn.Module, factors: nn.Module, x: Tensor) -> Tensor:
    """A factorisation machine."""
    return linear(x) + 0.5 * (factors(x) ** 2 - functional.linear(x**2, factors.weight**2)).sum(-1, keepdim=True)


def scanned(inner: nn.Module, decay: nn.Module, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """A step of a selective state space: state [batch, hidden, 8]."""
    rate = functional.softplus(decay(x)).unsqueeze(-1)
    b, c = inner(x).chunk(2, -1)
    new = torch.exp(-rate) * state + rate * b.unsqueeze(1) * x.unsqueeze(-1)
    return (new * c.unsqueeze(1)).sum(-1), new


def mixed(receptance: nn.Module, key: nn.Module, x: Tensor, before: Tensor) -> Tensor:
    """RWKV's channel mixing."""
    blended = 0.5 * x + 0.5 * before
    return torch.sigmoid(receptance(blended)) * key(blended).relu().square()


def last_of(layer: nn.Module, head: nn.Module, x: Tensor) -> Tensor:
    """The head behind the last row."""
    return head(layer(x)[0][:, -1])


IMAGE, SIGNAL, ROWS = [(1, 4, 8, 8)], [(1, 4, 8)], [(1, 8, HIDDEN)]
FLAT, PAIR = [(8, HIDDEN)], [(8, HIDDEN), (8, HIDDEN)]
MODULES: dict[str, tuple[Callable[[], nn.Module], Shapes]] = {
    **{
        f"mlp {each.__name__}": (partial(mlp, each), FLAT)
        for each in (
            nn.ReLU,
            nn.GELU,
            nn.SiLU,
            nn.Tanh,
            nn.Sigmoid,
            nn.LeakyReLU,
            nn.ELU,
            nn.SELU,
            nn.Mish,
            nn.Hardswish,
            nn.Softplus,
        )
    },
    "mlp batch norm": (lambda: mlp(nn.ReLU, nn.BatchNorm1d(64)), FLAT),
    "mlp layer norm": (lambda: mlp(nn.GELU, nn.LayerNorm(64)), ROWS),
    "mlp rms norm": (lambda: mlp(nn.SiLU, nn.RMSNorm(64)), ROWS),
    "mlp glu": (lambda: chain(nn.Linear(HIDDEN, 64), nn.GLU(), nn.Linear(HIDDEN, 8)), FLAT),
    "residual mlp": (lambda: residual(nn.LayerNorm(HIDDEN), mlp(nn.GELU)), ROWS),
    "classifier": (lambda: chain(mlp(nn.ReLU), nn.LogSoftmax(-1)), FLAT),
    "autoencoder": (lambda: chain(nn.Linear(HIDDEN, 8), nn.Tanh(), nn.Linear(8, HIDDEN), nn.Sigmoid()), FLAT),
    "variational": (
        lambda: Called(
            lambda a, b, c, x: c(a(x) + torch.exp(0.5 * b(x))),
            nn.Linear(HIDDEN, 8),
            nn.Linear(HIDDEN, 8),
            nn.Linear(8, HIDDEN),
        ),
        FLAT,
    ),
    "convolutional autoencoder": (
        lambda: chain(nn.Conv2d(4, 8, 2, 2), nn.ReLU(), nn.ConvTranspose2d(8, 4, 2, 2)),
        IMAGE,
    ),
    "lenet": (
        lambda: chain(
            nn.Conv2d(1, 4, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32, 10),
        ),
        [(1, 1, 10, 10)],
    ),
    "resnet block": (lambda: chain(residual(*convolved(4, 4), nn.Conv2d(4, 4, 3, padding=1)), nn.ReLU()), IMAGE),
    "mobilenet block": (
        lambda: residual(nn.Conv2d(4, 16, 1), nn.ReLU6(), *convolved(16, 16, groups=16), nn.Conv2d(16, 4, 1)),
        IMAGE,
    ),
    "squeeze and excite": (
        lambda: Called(lambda gate, x: x * gate(x), chain(nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 4, 1), nn.Sigmoid())),
        IMAGE,
    ),
    "u-net step": (
        lambda: Called(
            lambda down, up, x: torch.cat([x, up(down(x))], 1),
            chain(nn.MaxPool2d(2), *convolved(4, 8)),
            chain(nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 1)),
        ),
        IMAGE,
    ),
    "vgg": (lambda: chain(*convolved(4, 8), *convolved(8, 8), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 8)), IMAGE),
    "all pixels' mean": (
        lambda: chain(*convolved(4, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
        IMAGE,
    ),
    "temporal": (lambda: chain(nn.Conv1d(4, 8, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv1d(8, 4, 3)), SIGNAL),
    "patches": (
        lambda: Called(lambda c, n, x: n(c(x).flatten(2).transpose(1, 2)), nn.Conv2d(4, 16, 2, 2), nn.LayerNorm(16)),
        IMAGE,
    ),
    "pixel shuffle": (lambda: chain(nn.Conv2d(4, 8, 1), nn.PixelShuffle(2)), IMAGE),
    "group norm": (lambda: chain(nn.Conv2d(4, 8, 1), nn.GroupNorm(2, 8), nn.SiLU()), IMAGE),
    "instance norm": (lambda: chain(nn.Conv2d(4, 8, 1), nn.InstanceNorm2d(8)), IMAGE),
    "lstm": (lambda: Called(last_of, nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 4)), [(1, 6, 8)]),
    "deep lstm": (lambda: Called(last_of, nn.LSTM(8, 16, 2, batch_first=True), nn.Linear(16, 4)), [(1, 6, 8)]),
    "gru": (lambda: Called(last_of, nn.GRU(8, 16, batch_first=True), nn.Linear(16, 4)), [(1, 6, 8)]),
    "rnn": (lambda: Called(last_of, nn.RNN(8, 16, batch_first=True), nn.Linear(16, 4)), [(1, 6, 8)]),
    "bidirectional gru": (
        lambda: Called(last_of, nn.GRU(8, 16, batch_first=True, bidirectional=True), nn.Linear(32, 4)),
        [(1, 6, 8)],
    ),
    "lstm cell": (lambda: nn.LSTMCell(8, 16), [(4, 8)]),
    "gru cell": (lambda: nn.GRUCell(8, 16), [(4, 8), (4, 16)]),
    "convolutions and lstm": (
        lambda: Called(
            lambda c, r, x: r(c(x).transpose(1, 2))[0], nn.Conv1d(4, 8, 3), nn.LSTM(8, 16, batch_first=True)
        ),
        SIGNAL,
    ),
    "multi-head": (
        lambda: Called(
            lambda a, x: a(x, x, x, need_weights=False)[0], nn.MultiheadAttention(HIDDEN, 4, batch_first=True)
        ),
        ROWS,
    ),
    "cross attention": (
        lambda: Called(lambda a, x, y: a(x, y, y)[0], nn.MultiheadAttention(HIDDEN, 4, batch_first=True)),
        [*ROWS, (1, 12, HIDDEN)],
    ),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(HIDDEN, 4, 64, batch_first=True), [(2, 8, HIDDEN)]),
    "encoder layer, norm first": (
        lambda: nn.TransformerEncoderLayer(HIDDEN, 4, 64, activation="gelu", batch_first=True, norm_first=True),
        ROWS,
    ),
    "decoder layer": (lambda: nn.TransformerDecoderLayer(HIDDEN, 4, 64, batch_first=True), [*ROWS, (1, 12, HIDDEN)]),
    "causal attention": (lambda: heads(is_causal=True), ROWS),
    "full attention": (heads, [(2, 8, HIDDEN)]),
    "attention with a mask": (
        lambda: Called(
            lambda q, k, v, o, x, m: attention(q, k, v, o, x, x, attn_mask=m),
            *(nn.Linear(HIDDEN, HIDDEN) for _ in range(4)),
        ),
        [*ROWS, (8, 8)],
    ),
    "attention by hand": (lambda: Called(by_hand, *(nn.Linear(HIDDEN, HIDDEN) for _ in range(3))), ROWS),
    "linear attention": (
        lambda: Called(
            lambda q, k, v, x: functional.elu(q(x)) @ (functional.elu(k(x)).mT @ v(x)),
            *(nn.Linear(HIDDEN, 16) for _ in range(3)),
        ),
        ROWS,
    ),
    "mixer": (
        lambda: chain(
            residual(nn.LayerNorm(HIDDEN), Called(lambda f, x: f(x.mT).mT, nn.Linear(8, 8))),
            residual(nn.LayerNorm(HIDDEN), mlp(nn.GELU)),
        ),
        ROWS,
    ),
    "dense experts": (lambda: experts(dense_experts), FLAT),
    "experts in a loop": (lambda: experts(looped_experts), FLAT),
    "experts choose": (lambda: experts(chosen_rows), FLAT),
    "soft experts": (
        lambda: experts(
            lambda r, *e: sum(
                torch.softmax(r(e[-1]), -1)[..., n : n + 1] * each(e[-1]) for n, each in enumerate(e[:-1])
            )
        ),
        FLAT,
    ),
    "two towers": (lambda: Called(two_towers, mlp(nn.ReLU), mlp(nn.ReLU)), PAIR),
    "cross network": (lambda: Called(crossed, nn.Linear(HIDDEN, HIDDEN)), FLAT),
    "factorisation machine": (lambda: Called(factorised, nn.Linear(HIDDEN, 1), nn.Linear(HIDDEN, 8, bias=False)), FLAT),
    "wide and deep": (
        lambda: Called(lambda w, d, x: torch.sigmoid(w(x) + d(x)), nn.Linear(HIDDEN, HIDDEN), mlp(nn.ReLU)),
        FLAT,
    ),
    "state space step": (
        lambda: Called(scanned, nn.Linear(HIDDEN, 16), nn.Linear(HIDDEN, HIDDEN)),
        [(2, HIDDEN), (2, HIDDEN, 8)],
    ),
    "channel mixing": (lambda: Called(mixed, nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)), PAIR),
    "highway": (
        lambda: Called(
            lambda g, h, x: torch.sigmoid(g(x)) * h(x).relu() + (1 - torch.sigmoid(g(x))) * x,
            nn.Linear(HIDDEN, HIDDEN),
            nn.Linear(HIDDEN, HIDDEN),
        ),
        FLAT,
    ),
    "pooled rows": (lambda: Called(lambda f, x: f(x.mean(1)), nn.Linear(HIDDEN, 4)), ROWS),
    "largest of rows": (lambda: Called(lambda f, x: f(x.amax(1)), nn.Linear(HIDDEN, 4)), ROWS),
    "positions": (
        lambda: Called(lambda e, f, x: f(x + e.weight[:8]), nn.Embedding(16, HIDDEN), nn.Linear(HIDDEN, 4)),
        ROWS,
    ),
}


def told(name: str, folder: Path) -> str:
    """Exactness of the module, or why it does not import."""
    make, shapes = MODULES[name]
    torch.manual_seed(0)
    path = folder / "module.pt2"
    try:
        given = tuple(torch.randn(*shape, dtype=torch.bfloat16) for shape in shapes)
        step_torch.capture(make().to(torch.bfloat16), given, path)
        model = step_torch.load(path)
        check = model.check()
    except StepError as error:
        return "no: " + " / ".join(str(error).splitlines()[:2])[:160]
    runs = step.run(model.program, "approx", values="all"), step.run(model.program, "interpret")
    outputs = ([np.asarray(each) for each in run.outputs.values()] for run in runs)
    same = all(np.array_equal(mine, theirs) for mine, theirs in zip(*outputs, strict=True))
    off = check.error / check.torch_error if check.torch_error else float(check.error > 0)
    return f"{'yes' if off <= 1.1 and same else 'OFF'}: {off:.2f} of torch's error, {runs[0].cycles:,} cycles"


def main() -> None:
    """Print a line for every module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names or [*MODULES]
    found = list[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            found.append(told(name, Path(scratch)))
            print(f"{name:28} {found[-1]}", flush=True)
    print(f"{sum(each.startswith('yes') for each in found)} of {len(found)}")


if __name__ == "__main__":
    main()
