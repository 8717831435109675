"""Functions of one tensor, scalar by scalar: one of the language, or several behind each other in FP32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf, isfinite, log
from typing import Any, Literal

import numpy as np

from step import FP32, DType, Stream, functions
from step.language.dtypes import INTEGERS
from step_torch.columns import ColumnChoice
from step_torch.importing import Importer, with_dtype
from step_torch.layouts import Value
from step_torch.lowerings.elementwise import Link, applied, binary, is_number
from step_torch.registry import declare, lowers
from step_torch.sources import supported

_UNIT = partial(functions.Clamp, -1, 1)

CHAINS: Mapping[str, tuple[str, *tuple[Link, ...]]] = {
    "abs": ("The magnitude.", functions.Abs),
    "ceil": ("The next integer above.", partial(functions.Round, direction="ceil")),
    "cos": ("The cosine.", functions.Cos),
    "erf": ("The error function.", functions.Erf),
    "exp": ("e^x.", functions.Exp),
    "exp2": ("2^x.", partial(functions.Scale, log(2)), functions.Exp),
    "floor": ("The next integer below.", partial(functions.Round, direction="floor")),
    "log": ("The natural logarithm.", functions.Log),
    "log1p": ("ln(1 + x), where 1 + x is rounded to FP32.", (functions.Add, 1), functions.Log),
    "log10": ("The logarithm to base 10.", functions.Log, partial(functions.Scale, 1 / log(10))),
    "log2": ("The logarithm to base 2.", functions.Log, partial(functions.Scale, 1 / log(2))),
    "reciprocal": ("1 / x.", functions.Reciprocal),
    "relu": ("The larger of x and 0.", functions.Relu),
    "round": ("The nearest integer, the even one of two.", functions.Round),
    "rsqrt": ("1 / sqrt(x).", functions.Rsqrt),
    "sigmoid": ("1 / (1 + e^-x).", functions.Sigmoid),
    "sign": ("1 with the sign of x, or 0; NaN stays.", partial(functions.Scale, 2.0**127), _UNIT),
    "silu": ("x * sigmoid(x).", functions.Silu),
    "sin": ("The sine.", functions.Sin),
    "sqrt": ("The square root.", functions.Sqrt),
    "tanh": ("The hyperbolic tangent.", functions.Tanh),
    "trunc": ("The next integer towards 0.", partial(functions.Round, direction="trunc")),
}
"""What ``aten.NAME.default`` is, and the functions that make it, one behind the other, of numbers, too."""


def _chained(*chain: Link) -> Callable[..., Value]:
    return lambda at, x: applied(at, x, *chain)


for _name, (_says, *_chain) in CHAINS.items():
    declare(_says, _chained(*_chain), f"aten.{_name}.default")


@lowers("aten.clamp.default", "aten.clamp.Tensor")
def clamp(at: Importer, x: Any, low: Any = None, high: Any = None) -> Any:
    """The nearest number from low to high, which are numbers or tensors."""
    if all(each is None or is_number(each) for each in (low, high)):
        least, most = (-(2**31), 2**31 - 1) if at.dtype in INTEGERS else (-inf, inf)
        return applied(at, x, partial(functions.Clamp, least if low is None else low, most if high is None else high))
    x = x if low is None else binary(at, functions.Max, x, low)
    return x if high is None else binary(at, functions.Min, x, high)


@lowers("aten.pow.Tensor_Scalar")
def power(at: Importer, x: Any, exponent: float) -> Any:
    """x to any power: an integer one by products, a root, or e^(exponent ln(x)), where -inf gives NaN."""
    supported(isfinite(exponent), f"the exponent is {exponent}; a finite one has a lowering")
    if exponent == 0:  # of NaN, too
        return at.constant(np.ones(at.meta.shape))
    if exponent in _POWERS:
        return applied(at, x, _POWERS[exponent])
    if exponent != int(exponent):
        return applied(at, x, functions.Log, partial(functions.Scale, exponent), functions.Exp)
    value, last = at.tiles(x), at.dtype if exponent > 0 else FP32
    stream = _product(at, value.stream, abs(int(exponent)), last)
    stream = stream if exponent > 0 else stream.map(functions.Reciprocal(at.dtype), name=at.name())
    return with_dtype(value, stream, at.dtype)


_POWERS: Mapping[float, Link] = {0.5: functions.Sqrt, -0.5: functions.Rsqrt}


def _product(at: Importer, x: Stream, count: int, out: DType) -> Stream:
    """So many factors ``x``, rounded to ``out`` behind the last product."""
    if count == 1:
        return x
    factors = (_product(at, x, count // 2, FP32),) * 2 if count % 2 == 0 else (_product(at, x, count - 1, FP32), x)
    return factors[0].map(functions.Mul(out=out), factors[1], name=at.name(f"power{count}" * (out is FP32)))


@lowers("aten.pow.Scalar")
def exponential_to(at: Importer, base: float, x: Any) -> Any:
    """A positive number to the power of x."""
    supported(0 < base < inf, f"the base is {base}; finite ones above 0 have a lowering")
    if base == 1:  # of NaN and infinity, too
        return at.constant(np.ones(at.meta.shape))
    return applied(at, x, partial(functions.Scale, log(base)), functions.Exp)


@lowers("aten.neg.default")
def negate(at: Importer, x: Any) -> Any:
    """-x."""
    if isinstance(x, ColumnChoice):
        return x.changed(np.invert)
    return applied(at, x, partial(functions.Scale, -1 if at.dtype in INTEGERS else -1.0))


@lowers("aten.gelu.default")
def gelu(at: Importer, x: Any, *, approximate: Literal["none", "tanh"] = "none") -> Any:
    """x * Phi(x), with erf or with tanh."""
    return applied(at, x, partial(functions.Gelu, approximate=approximate))
