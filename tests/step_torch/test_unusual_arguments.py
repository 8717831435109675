"""Operators with arguments that are rarely given, on other data than that of the capture: as exact as torch.

A model that is silently another one is the worst that an import can make.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import step
import step_torch
from step.errors import InputError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

BF16 = torch.bfloat16

FLOATS = (
    "x.sum((0, -1)), x.mean((-3, -1), keepdim=True), x.sum(-1, dtype=torch.float32), x.prod()",
    "(x * 4).sum(-1, dtype=torch.int64), (x > 0).cumsum(1), (x > 0).long().cumsum(0), x.cumprod(-1)",
    "x.var((0, 1), correction=2), torch.var_mean(x, -1, keepdim=True), torch.std_mean(x, 0)",
    "x.kthvalue(3, -1), x.median(), x.flatten().median(0)",
    "torch.div(x, -0.7, rounding_mode='floor'), x % -0.7, x // 0.1, torch.fmod(x, 0.7), x % 0.3",
    "torch.addmm(x[0], y, z, alpha=0.5, beta=2), torch.addmm(x[0], y, z, alpha=2, beta=0)",
    "torch.addbmm(y, y[None], z[None, :, :4], beta=-1), torch.addmv(x[0, :, 0], y, z[:, 0], alpha=3)",
    "torch.tensordot(x, x, ([1, 2], [1, 2])), torch.block_diag(y, z), torch.einsum('bij,kj->bki', x, z)",
    "x.float() * self.large, x.float() + self.large, self.large / x.float(), x * self.large",
    "(x > 0) * x, (x > 0) * 0.5, (x > 0) + x, x / (1 + (x > 0)), torch.isinf(x / 0), torch.logaddexp(y, y)",
    "x.amax((0, 2)), x.argmin(1, keepdim=True), x.max(0), x.float().logsumexp((1, 2)), torch.erfc(x)",
    "torch.cat([y, y], 0), torch.cat([y, y[:, :0]], 1), x.roll((1, -2), (0, -1)), x.flip(0, -1), x.rot90()",
    "x.clamp(2, -1), torch.clamp(x, x.flip(0), x.flip(0) - 1), x.softmax(0), x.log_softmax(-2)",
    "torch.nn.functional.softplus(x, beta=3, threshold=2), torch.nn.functional.celu(x, 2.0)",
    "(-x.abs()).any(-1), (x * (x < 0)).any(1), (-x.abs()).int().any(0), x.scatter(-1, x.topk(2)[1], x)",
    "torch.zeros_like(x).scatter(-1, x.topk(2)[1], z[:2, None, :2].expand(2, 4, 2)), x.scatter(-1, x.topk(1)[1], x)",
    "torch.stack([x, -x], 1).tril(), x.flatten() + self.many, x.topk(3).values.sum()",
    "(torch.softmax(y.float(), -1).to(y.dtype), y)[1], (self.many.view(8, 8)[:1] @ x[0, 0])[0], x[0, 0] @ z[0]",
    "torch.nn.functional.linear(x[0, 0], self.many.view(8, 8)[:1])[0], x[..., :1] @ self.many.view(8, 8)[:1]",
    "[(torch.nn.functional.conv1d(e, self.w, None, 2), e) for e in [x[..., :4].log_softmax(0).topk(4, -2)[0]]][0]",
    "(x * 2).flatten().cumsum(0), (x * 2).flatten()[5:40], (x * 2).flatten()[::3], (x * 2).flatten().flip(0)",
    "torch.cat([(x * 2).flatten(), y.flatten()]), (x * 2).flatten().argsort()[:5], (x * 2).flatten(1).cumsum(-1)",
    "torch.nn.functional.pad(y, (2, 0)) @ torch.nn.functional.pad(y, (2, 0)).T, (z * 2)[:, 0] - z[:, :1]",
    "torch.nn.functional.pad(z[:, :2], (2, 0)) @ torch.nn.functional.pad(z[:, :2], (2, 0)).T, x.sum().cumsum(0)",
    "torch.arange(4).float() * 0.3, x, torch.tensor([True, False]), torch.ones(2, 2, dtype=x.dtype)",
)
"""Of x [2, 4, 8], y [4, 4] and z [4, 8]."""

IN_PLACE = (
    "x[self.numbers] = 7", "x[:, self.numbers] = 7", "x[self.numbers] = x[0] * 1", "x[self.numbers] = x[:3] * 1",
    "x[:, self.numbers] = x[:, :3] * 1", "x[self.negative] = x[:3] * 1", "x[x > 0] = -1", "x[x[:, 0] > 0] = -1",
    "x.index_put_((self.numbers,), x[:3] * 1, True)", "x[x[:, 0] > 0] = x[0] * 1", "x[:, ::2] += 1", "x[1::2] = 0",
    "x[:, 1:7:3] = x[:, :2] * 1", "x[1:3].mul_(2)", "x[0, 1] = x.sum()",
)  # fmt: skip
"""Changes of x [4, 8], by equal numbers, those from the end, masks, steps and views."""

BY_NUMBER = (
    "x[n], x[:, n[0]]", "x.index_put((n[0],), x[:3])", "x[:2].scatter(-1, n.abs(), 9.0)",
    "x[:2].scatter(-1, n.abs(), x[:2, 5:])", "x[:2].scatter_add(1, n.abs(), x[:2, 5:])",
    "x[:2].scatter(-1, n[:, :1].abs(), x[2:]), x[:2].scatter_add(-1, n[:, :1].abs(), x[2:])",
    "x[:2].scatter(-1, n.abs(), x[2:]), x.gather(0, n % 4), x.gather(-1, n.abs())",
    "x.index_add(0, n[0] % 4, x[:3], alpha=-2)",
    "torch.hypot(n, x[:2, :3]), (n > x[:2, :3])",
    "*(each.bfloat16() for each in (n.expm1(), n.erfc(), n.sigmoid(), n.sinh()))",
    "-(n * 3)[:, 0], -(n * 3)[:, [1, 0]], -(n * 3).flip(-1), -x.float()[:, 2:4], (n * 3).sort(-1).values[:, 0].amin(0)",
    "n * 3, -n, n // 2, n % 3, n / 2, n * 0.5, n * x[:2, :3], (n + 300) * x[:2, :3].float(), n.clamp(min=-1)",
)  # fmt: skip
"""Of x [4, 8] and numbers n [2, 3] from -4 to 3."""


class Written(torch.nn.Module):
    """``code``, statements of x alone, or else expressions, of arguments called ``names``."""

    def __init__(self, names: str, code: Sequence[str]) -> None:
        super().__init__()
        self.names, self.code = names.split(), code
        for name, numbers in (("large", [257, 1001, 65537, 3] * 2), ("numbers", [2, 0, 2]), ("negative", [-2, 0, -1])):
            self.register_buffer(name, torch.tensor(numbers))
        self.register_buffer("many", torch.arange(64).to(BF16))
        self.register_buffer("w", torch.arange(16).view(2, 4, 2).to(BF16))

    def forward(self, *given: Any) -> tuple[Any, ...]:
        found = list[Any]()
        for line in self.code:
            names = {"self": self, "torch": torch, **dict(zip(self.names, given, strict=True))}
            if self.names == ["x"]:
                names["x"] = names["x"] * 1
                exec(line, names)
                found.append(names["x"])
            else:
                made = eval(f"[{line}]", names)
                found += [one for each in made for one in (each if isinstance(each, tuple) else (each,))]
        return tuple(found)


def data(shapes: Sequence[Sequence[int]], *, numbers: bool) -> list[Any]:
    """Random tensors; if there are ``numbers``, the last one is of these."""
    made = [torch.randn(*each, dtype=BF16) * 2 for each in shapes]
    return [*made[:-1], torch.randint(-4, 4, [*shapes[-1]])] if numbers else made


def same_bits(run: step.Run, other: step.Run) -> None:
    """Outputs do not depend on tiles."""
    for name, tokens in run.outputs.items():
        assert np.asarray(tokens).tobytes() == np.asarray(other.outputs[name]).tobytes(), name


@pytest.mark.parametrize(
    ("names", "code", "shapes"),
    [
        *(("x y z", [each], ((2, 4, 8), (4, 4), (4, 8))) for each in FLOATS),
        ("x", IN_PLACE, ((4, 8),)),
        *(("x n", [each], ((4, 8), (2, 3))) for each in BY_NUMBER),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_numbers_that_are_not_those_of_the_capture(names: str, code: list[str], shapes: Any, tmp_path: Path) -> None:
    torch.manual_seed(3)
    module, numbers = Written(names, code), names.endswith("n")
    path = step_torch.capture(module, data(shapes, numbers=numbers), tmp_path / "model.pt2")
    given = data(shapes, numbers=numbers)
    exact = module.double()(*(each.double() if each.is_floating_point() else each for each in given))
    theirs = Written(names, code)(*given)
    arrays = [each.float().numpy().astype(ml_dtypes.bfloat16) if each.dtype is BF16 else each.numpy() for each in given]
    host = [each.split(":")[0] for each in step_torch.load(path).host]
    inputs = dict(zip(host, arrays, strict=True))
    model = step_torch.load(path, inputs=inputs)
    run = step.run(model.program, "interpret")
    tiled = step_torch.load(path, inputs=inputs, tiling=step_torch.Tiling(rows=3, columns=4, depth=2))
    same_bits(run, step.run(tiled.program, "interpret"))
    for name, one, rounded in zip(model.nodes.output_names, exact, theirs, strict=True):
        mine = torch.from_numpy(np.asarray(run.outputs[name]).astype(np.float64)).reshape(one.shape)
        one, rounded = one.double(), rounded.double()
        same = (mine == one) | (mine == rounded) | (mine.isnan() & one.isnan())
        error, allowed = (float(torch.where(same, 0, each - one).square().mean().sqrt()) for each in (mine, rounded))
        largest = float(one[one.isfinite()].abs().max())  # quotients in FP32 may be next to the nearest
        assert bool(same.all()) or (one.dtype.is_floating_point and error <= 1.1 * allowed + 1e-7 * largest), (
            name,
            mine,
            one,
        )


@pytest.mark.parametrize(
    ("make", "shapes", "said"),
    [
        (lambda: torch.nn.EmbeddingBag(6, 8, padding_idx=0), (2, 3),
         "rows that do not count (padding_idx); bags of which all count have a lowering"),
        (lambda: torch.nn.MaxPool2d(2, return_indices=True), (1, 2, 4, 4),
         "its result 1 is read; that before it has a lowering"),
        (lambda: Written("x", ["x = torch.nn.functional.linear(x, x[0])"]), (4, 8),
         "the weight has one dimension; x @ weight has a lowering"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, shapes: Sequence[int], said: str, tmp_path: Path) -> None:
    module = make()
    given = torch.randint(0, 6, shapes) if len(shapes) == 2 and shapes[0] == 2 else torch.randn(*shapes, dtype=BF16)
    path = step_torch.capture(module.to(BF16), (given,), tmp_path / "model.pt2")
    with pytest.raises(InputError) as caught:
        step_torch.load(path)
    assert str(caught.value).splitlines()[1].endswith(f": {said}")


def test_a_file_of_torch_that_changes_tensors_in_place(tmp_path: Path) -> None:
    plain, given = tmp_path / "plain.pt2", torch.randn(4, 8, dtype=BF16)
    torch.export.save(torch.export.export(Written("x", ["x[0] = 0", "x.relu_()"]), (given,)), plain)
    with pytest.raises(InputError, match="changes a tensor in place"):
        step_torch.load(plain, inputs={"given_0": given.float().numpy()})
    path = step_torch.capture(torch.export.load(plain).module(), (given,), tmp_path / "model.pt2")
    assert step_torch.load(path).check().error == 0


def test_attention_over_rows_that_are_repeated(tmp_path: Path) -> None:
    code = "[torch.nn.functional.scaled_dot_product_attention(e, e, e, is_causal=True) for e in [x.repeat(1, 2, 1)]][0]"
    path = step_torch.capture(Written("x _", [code]), data(((2, 8, 8), (1,)), numbers=False), tmp_path / "model.pt2")
    check = step_torch.load(path).check()
    assert check.error <= 1.1 * check.torch_error, str(check)


@pytest.mark.parametrize("code", ["n * n", "n.prod()", "n.cumprod(0)"])
def test_products_that_need_64_bits_are_told_of(code: str, tmp_path: Path) -> None:
    path = step_torch.capture(Written("n", [code]), (torch.tensor([1 << 20, 1 << 20]),), tmp_path / "model.pt2")
    model = step_torch.load(path)
    assert model.notes == ("integers have 32 bits here: a product that needs more is not that of torch",)
    assert not model.check().passed
