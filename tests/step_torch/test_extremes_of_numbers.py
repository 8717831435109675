"""Numbers at the ends of what there are: integers that FP32 does not hold, NaN, infinities, small ones, rows that see
nothing. An import makes of them what torch makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import step
import step_torch

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

BF16 = torch.bfloat16
INF, NAN = float("inf"), float("nan")
LARGE = [2**24 + 1, 2**30 + 3, -(2**24) - 1, 7, -7, 2**31 - 1, -(2**31), 100000001]
SMALL = [1e-8, -1e-8, 1e-3, -0.01, 2.0, 4.0, 8.0, -8.0]
ODD = [[1, NAN, -INF, 0, -1, INF, 2, -2], [NAN] * 8, [3.3895e38, INF, NAN, -INF, 3, NAN, 1, 2], [INF] * 7 + [-INF]]


class Written(torch.nn.Module):
    """``code``, expressions of tensors x, y and so on."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code

    def forward(self, *given: Any) -> tuple[Any, ...]:
        names = {"torch": torch, "F": torch.nn.functional, **dict(zip("xyz", given, strict=False))}
        return tuple(eval(f"[{self.code}]", names))


def compared(path: Path, module: Any, given: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Results of the program in the file ``path``, and of torch."""
    names = ["given_0", "given_1", "given_2"]
    arrays = [each.float().numpy().astype(ml_dtypes.bfloat16) if each.dtype is BF16 else each.numpy() for each in given]
    model = step_torch.load(path, inputs=dict(zip(names, arrays, strict=False)))
    run, fast = step.run(model.program, "interpret"), step.run(model.program, "approx", values="all")
    found = []
    for name, right in zip(model.nodes.output_names, module(*given), strict=True):
        mine, theirs = (np.asarray(each.outputs[name], np.float64) for each in (run, fast))
        assert np.array_equal(mine, theirs, equal_nan=True), name
        found.append((mine.reshape(right.shape), right.double().numpy()))
    return found


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
def test_integers_that_fp32_does_not_hold(kind: Any, tmp_path: Path) -> None:
    module = Written(
        "x % 3, x // -7, x % y, x // y, torch.fmod(x, y), torch.div(x, -9, rounding_mode='trunc'),"
        "torch.div(x, y, rounding_mode='trunc'), x[:, :3].sum(-1), x[:, :3].cumsum(-1), y[:1, :6].prod(-1),"
        "x[:, :3].sum(0), (x > y).sum(), (x > y).cumsum(1)"
    )
    other = [3, 7, 5, -3, 3, 10, 2**24 + 1, 1000003]
    given = [torch.tensor([each, each[::-1]], dtype=kind) for each in (LARGE, other)]
    path = step_torch.capture(module, given, tmp_path / "model.pt2")
    for number, (mine, right) in enumerate(compared(path, module, given)):
        assert np.array_equal(mine, right), number


def test_small_results(tmp_path: Path) -> None:
    """They are as near as the functions of hardware, not as differences of numbers near 1."""
    code = ("torch.erfc(x)", "F.elu(x)", "F.selu(x)", "F.celu(x)", "torch.expm1(x)", "torch.sinh(x)")
    module, given = Written(", ".join(code)), [torch.tensor([SMALL]), torch.zeros(1)]
    path = step_torch.capture(module, given, tmp_path / "model.pt2")
    for expression, (mine, right) in zip(code, compared(path, module, given), strict=True):
        assert np.allclose(mine, right, rtol=3e-5, atol=0), expression


def test_nan_and_infinity(tmp_path: Path) -> None:
    code = (
        "x.sort(-1)[0]", "x.sort(-1, True)[0]", "x.topk(3, -1)[0]", "x.topk(3, -1, largest=False)[0]",
        "x.amax(-1)", "-(-x).amax(0)", "x.argmax(-1)", "x.argmin(-1)", "x.clamp(-1, 1)", "x.clamp(min=0)",
        "torch.maximum(x, y)", "torch.minimum(x, y)", "x > y", "x <= y", "x == y", "x != x", "x ** 0", "1 ** x",
        "F.elu(x)", "torch.erfc(x)", "torch.bucketize(x, torch.tensor([-1.0, 0, 1]))",
        "torch.bucketize(x, torch.tensor([-1.0, 0, 1]), right=True)",
    )  # fmt: skip
    module, given = Written(", ".join(code)), [torch.tensor(ODD, dtype=BF16)]
    given.append(given[0].flip(1).roll(1, 1))
    path = step_torch.capture(module, given, tmp_path / "model.pt2")
    for expression, (mine, right) in zip(code, compared(path, module, given), strict=True):
        assert np.array_equal(mine, right, equal_nan=True), expression


@pytest.mark.parametrize("keys", [4, 6])
def test_a_mask_that_hides_all(keys: int, tmp_path: Path) -> None:
    """Rows that see nothing are zeros, also where no row sees anything, and heads of values have another size."""
    module = Written(
        f"F.scaled_dot_product_attention(x, y, z, torch.zeros(6, {keys}).bool()),"
        f"F.scaled_dot_product_attention(x, y, z, torch.ones(6, {keys}).bool().tril(-1), scale=0.3)"
    )
    torch.manual_seed(0)
    given = [torch.randn(1, 2, *each, dtype=BF16) for each in ((6, 8), (keys, 8), (keys, 4))]
    path = step_torch.capture(module, given, tmp_path / "model.pt2")
    (nothing, _), (mine, right) = compared(path, module, given)
    assert not nothing.any() and not mine[:, :, 0].any() and np.abs(mine - right).max() < 0.02


@pytest.mark.parametrize("code", ["x.gather(0, y)", "x.gather(1, y)"])
def test_numbers_of_fewer_rows_in_a_file_of_torch(code: str, tmp_path: Path) -> None:
    module, path = Written(code), tmp_path / "plain.pt2"
    given = [torch.arange(32.0).view(4, 8).to(BF16), torch.tensor([[0, 3, 1], [2, 2, 0]])]
    torch.export.save(torch.export.export(module, tuple(given)), path)
    ((mine, right),) = compared(path, module, given)
    assert np.array_equal(mine, right)
