"""Operators that treat every scalar alike: as exact as torch in BF16, and the same on interpreter and fast model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import step
import step_torch

pytestmark = [pytest.mark.torch, pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")]

OF_ONE = (
    "abs", "neg", "exp", "exp2", "expm1", "sin", "cos", "erf", "floor", "ceil", "round", "sign", "trunc", "reciprocal",
    "square", "relu", "sigmoid", "tanh", "isnan", "frac",
)  # fmt: skip
ABOVE = ("sqrt", "rsqrt", "log", "log2", "log10", "log1p")
OF_MODULES = (
    "softplus", "hardtanh", "relu6", "leaky_relu", "elu", "selu", "celu", "mish", "hardswish", "hardsigmoid", "silu",
    "gelu", "softsign", "tanhshrink", "glu",
)  # fmt: skip
WRITTEN = (
    "x.clamp(-1, 2)", "x.clamp(min=0.1)", "x.clamp(max=1)", "x.clamp(y, -y)", "x ** 3", "x ** 5", "x ** 0", "x ** -2",
    "x.abs() ** 1.7", "x.abs() ** 0.5", "x.abs() ** -0.5", "2 ** x", "x + 1", "1 - x", "x - 1.5", "x * 3", "x / 3",
    "2 / x", "torch.rsub(x, y, alpha=3)", "torch.add(x, y, alpha=2)", "torch.sub(x, 2, alpha=3)",
    "torch.maximum(x, y)", "torch.minimum(x, y)", "((x > 0) & (x <= 1)) | ~(x == y) ^ (x != 2)", "x >= y", "x < y",
    "torch.logical_xor(torch.logical_not(x), torch.logical_and(x, y > 0) | (y > x))", "torch.where(x > y, x, -y)",
    "x.masked_fill(x > 0, torch.tensor(3.0, dtype=x.dtype))", "x * (x > 0)", "(x > 0).float() + y",
    "torch.addcmul(x, x, y, value=2)", "torch.addcdiv(x, x, y)", "torch.lerp(x, y, x)", "x.isfinite()",
    "F.leaky_relu(x, 2.0)", "F.leaky_relu(x, -0.5)", "F.celu(x, 0.5)", "torch.logaddexp(x, y)", "x.bool()",
    "torch.where(x > 0, x, 0.0)", "torch.where(x > 0, 2.5, x)", "torch.where(x > y, 1.0, 2.0)",
    "x.masked_fill(x > 0, -1e4)", "torch.lerp(x, y, 0.3)", "F.logsigmoid(x)", "F.softshrink(x)", "F.hardshrink(x)",
    "F.threshold(x, 0.1, 20)", "torch.full_like(x, 2) - y", "torch.nan_to_num(x)", "F.gelu(x, approximate='tanh')",
    "x.abs() ** y", "x ** y.round()", "x // 0.3", "x // y", "x % 0.3", "x % y", "torch.fmod(x, y)", "torch.fmod(x, 2)",
    "torch.div(x, y, rounding_mode='trunc')", "torch.div(x, -3, rounding_mode='trunc')", "torch.hypot(x, y)",
    "torch.sinh(x)", "torch.cosh(x)", "(x > y).sum(-1).to(x.dtype)", "(3 * x).int().sum().to(x.dtype)",
    "torch.bucketize(x, torch.arange(-2.0, 3)).to(x.dtype)", "F.leaky_relu(x.abs() / 0, 0.0) > 9",
)  # fmt: skip
"""Of tensors x and y, a column of conditions c, and modules F."""

EXPRESSIONS = (
    *(f"torch.{each}(x)" for each in OF_ONE),
    *(f"torch.{each}(x.abs())" for each in ABOVE),
    *(f"F.{each}(x)" for each in OF_MODULES),
    *WRITTEN,
    "self.prelu(x)",
    "torch.where(c, x, y)",
)


@pytest.mark.parametrize("part", range(4))
def test_it_is_as_exact_as_torch(part: int, tmp_path: Path) -> None:
    import torch

    expressions = EXPRESSIONS[part::4]

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.prelu = torch.nn.PReLU(32)
            self.prelu.weight.data.uniform_(-1, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor, c: torch.Tensor) -> Any:
            names = {"self": self, "torch": torch, "F": torch.nn.functional, "x": x, "y": y, "c": c}
            return tuple(eval(each, names) for each in expressions)

    torch.manual_seed(7)
    given = [torch.randn(32, 32, dtype=torch.bfloat16) * 3 for _ in "xy"] + [torch.randn(32, 1) > 0]
    model = step_torch.load(step_torch.capture(Module().to(torch.bfloat16), given, tmp_path / "model.pt2"))
    (results,) = model.archive.results
    meant = step.run(model.program, "interpret")
    timed = step.run(model.program, "approx", values="all")
    for number, expression in enumerate(expressions):
        mine, fast = (np.asarray(each.outputs[f"output{number}"]) for each in (meant, timed))
        assert np.array_equal(mine, fast, equal_nan=True), expression
        exact, rounded = (each[number].astype(np.float64) for each in (results.float64, results.bf16))
        error, theirs = (np.sqrt(np.mean((each.reshape(exact.shape) - exact) ** 2)) for each in (mine, rounded))
        assert error <= 1.1 * theirs, (expression, error, theirs)
