"""Operators of ATen that a capture takes apart, or keeps whole, besides those that `torch.export` does by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor
from torch._decomp import get_decompositions

from step_torch.recurrences import CELLS

aten = torch.ops.aten

WHOLE = ("linear", "silu", "gelu", "softmax", "layer_norm", "scaled_dot_product_attention", "split", "addmm")
"""Operators that are not taken apart."""

OF_TORCH = (
    aten.upsample_nearest2d.vec, aten.upsample_bilinear2d.vec, aten._adaptive_avg_pool2d.default, aten.addmv.default,
    aten.logical_not.default, aten.logical_and.default, aten.logical_or.default, aten.logical_xor.default,
)  # fmt: skip
"""Operators that torch has a form of by others, and does not take apart by itself."""


PAIRS: dict[Any, Callable[..., Tensor]] = {
    aten.unsqueeze.default: lambda x, dim: x.unsqueeze(dim % x.dim()),
    aten.slice.Tensor: lambda x, dim=0, *rest: aten.slice(x, dim % (x.dim() - 1), *rest),
    aten.view.default: lambda x, shape: x.reshape(*shape, 2),
    aten.expand.default: lambda x, shape: x.expand(*shape, 2),
    aten.permute.default: lambda x, order: x.permute(*(each % (x.dim() - 1) for each in order), -1),
    aten.clone.default: lambda x, **_: x,
    aten._to_copy.default: lambda x, **_: x,
}
"""Operators of complex numbers, as pairs of real ones in a last dimension."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """What each operator is made of."""
    table: dict[Any, Callable[..., Any]] = torch.export.default_decompositions()
    kept = {each: made for each, made in table.items() if each.name().split("::")[-1].split(".")[0] not in WHOLE}
    return (
        kept
        | CELLS
        | get_decompositions(OF_TORCH)
        | {
            aten.isnan.default: lambda x: x != x,
            aten.isinf.default: lambda x: x.abs() == torch.inf,
            aten.hardtanh.default: lambda x, low=-1, high=1: x.clamp(low, high),
            aten.leaky_relu.default: _leaky_relu,
            aten.elu.default: _elu,
            aten.expm1.default: lambda x: ((x.float() * 0.5).tanh() * (x.float().exp() + 1)).to(_format(x)),
            aten.erfc.default: _erfc,
            aten.addmm.default: _added_product,
            aten.addbmm.default: lambda x, y, z, *, beta=1, alpha=1: torch.addmm(
                x, y.transpose(0, 1).flatten(1), z.flatten(0, 1), beta=beta, alpha=alpha
            ),
            aten.prod.default: lambda x, *, dtype=None: x.flatten().prod(0, dtype=dtype),
            aten.var_mean.correction: lambda x, dim=None, *, correction=None, keepdim=False: (
                x.var(dim, correction=1 if correction is None else correction, keepdim=keepdim),
                x.mean(dim, keepdim),
            ),
            aten.max.default: Tensor.amax,
            aten.max.dim: lambda x, dim, keepdim=False: (x.amax(dim, keepdim), x.argmax(dim, keepdim)),
            aten.min.dim: lambda x, dim, keepdim=False: (-(-x).amax(dim, keepdim), (-x).argmax(dim, keepdim)),
            aten.min.default: lambda x: -(-x).amax(),
            aten.amin.default: lambda x, dim=(), keepdim=False: -(-x).amax(dim, keepdim),
            aten.argmin.default: lambda x, dim=None, keepdim=False: (-x).argmax(dim, keepdim),
            **{op: partial(_of_pairs, function) for op, function in PAIRS.items()},
            aten.mul.Tensor: _product,
            aten.complex.default: lambda x, y: torch.view_as_complex(torch.stack([x, y], -1)),
            aten.sum.default: _in_format(_sum),
            aten.sum.dim_IntList: _in_format(_sum),
            aten.cumsum.default: _in_format(Tensor.cumsum),
            aten.unfold.default: _unfold,
            aten.diagonal.default: _diagonal,
            aten.pow.Tensor_Tensor: _power,
            aten.div.Tensor_mode: _divide,
            aten.remainder.Tensor: _remainder,
            aten.remainder.Scalar: _remainder,
            aten.fmod.Tensor: partial(_remainder, towards_zero=True),
            aten.fmod.Scalar: partial(_remainder, towards_zero=True),
            aten.sinh.default: lambda x: ((x.float().expm1() - (-x.float()).expm1()) / 2).to(_format(x)),
            aten.cosh.default: lambda x: ((x.float().exp() + (-x.float()).exp()) / 2).to(_format(x)),
            aten.hypot.default: lambda x, y: (x.float() * x + y.float() * y).sqrt().to(_format(x, y)),
            aten.bucketize.Tensor: _bucketize,
            aten.median.dim: lambda x, dim, keepdim=False: _in_order(x, (x.shape[dim] + 1) // 2, dim, keepdim),
            aten.median.default: lambda x: x.flatten().median(0)[0],
            aten.kthvalue.default: _in_order,
            aten._trilinear.default: _trilinear,
            aten.copy.default: lambda x, source, *_: source.to(x.dtype).expand(x.shape),
            aten.slice_scatter.default: _slice_scatter,
            aten.index_put.default: _index_put,
        }
    )


def _format(x: Tensor, y: Any = 0) -> torch.dtype:
    """The format of a function of x and y whose results have a fraction, of integers, too."""
    kind = torch.result_type(x, y)
    return kind if kind.is_floating_point else torch.get_default_dtype()


def _leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    if slope == 0:  # of infinity it is infinity, not NaN
        return torch.where(x > 0, x, x * slope)
    return torch.maximum(x, x * slope) if slope <= 1 else torch.minimum(x, x * slope)


def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    below = (x.float().clamp(max=0) * input_scale).expm1()
    return (x.float().relu() * scale + below * (alpha * scale)).to(x.dtype)


def _erfc(x: Tensor) -> Tensor:
    """1 - erf(x), or what gelu knows of the tail, which is too small for a difference."""
    far = x.float().clamp(1, 20)
    tail = aten.gelu(far * -(2**0.5)) * -(2**0.5) / far
    return torch.where(x > 1, tail, 1 - x.float().erf()).to(_format(x))


def _of_pairs(function: Callable[..., Tensor], x: Tensor, *args: Any, **options: Any) -> Any:
    """``function`` of complex numbers as pairs; others are no matter of this."""
    if not x.is_complex():
        return NotImplemented
    return torch.view_as_complex(function(torch.view_as_real(x), *args, **options))


def _product(x: Tensor, y: Any) -> Any:
    """A product of complex numbers, or of these and others."""
    pairs = [torch.view_as_real(each) for each in (x, y) if isinstance(each, Tensor) and each.is_complex()]
    if not pairs:
        return NotImplemented
    first, second = pairs[0], pairs[-1]
    if len(pairs) == 1:
        factor = y if x.is_complex() else x
        return torch.view_as_complex(first * (factor[..., None] if isinstance(factor, Tensor) else factor))
    (a, b), (c, d) = first.unbind(-1), second.unbind(-1)
    return torch.view_as_complex(torch.stack([a * c - b * d, a * d + b * c], -1))


def _added_product(x: Tensor, y: Tensor, z: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    if (beta, alpha) == (1, 1):
        return NotImplemented
    product = (y.float() @ z.float()) * alpha
    return (product if beta == 0 else product + x.float() * beta).to(x.dtype)


def _in_format(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """``function``, a sum, of what has the format of the result; that by itself is no matter of this."""

    def made(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **options: Any) -> Any:
        kind = dtype or (torch.int64 if x.dtype in (torch.bool, torch.int8, torch.uint8) else x.dtype)
        if kind.is_complex or x.dtype == kind or (x.is_floating_point() and kind.is_floating_point):
            return NotImplemented
        wide = x.to(kind).float() if x.dtype == torch.bool else x.to(kind)  # exact below 2^24 of them
        return function(wide, *args, **options).to(kind)

    return made


def _sum(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return x.sum(dim, keepdim)


def _unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    count = (x.shape[dim] - size) // step + 1
    numbers = torch.arange(count)[:, None] * step + torch.arange(size)
    return x.movedim(dim, -1)[..., numbers].movedim(-2, dim if dim >= 0 else dim - 1)


def _diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    x = x.movedim((dim1, dim2), (-2, -1))
    row, column = max(0, -offset), max(0, offset)
    numbers = torch.arange(min(x.shape[-2] - row, x.shape[-1] - column))
    return x[..., numbers + row, numbers + column]


def _power(x: Tensor, y: Tensor) -> Tensor:
    """e^(y ln(x)), with the sign that an integer y gives a negative x, and NaN for any other y."""
    base, by = x.float(), y.float()
    made = torch.exp(by * base.abs().log())
    half = by / 2
    signed = torch.where(half.floor() == half, made, torch.where(by.floor() == by, -made, torch.nan))
    made = torch.where(base < 0, signed, made)
    return torch.where(by == 0, 1.0, made).to(torch.result_type(x, y))


def _divided(x: Tensor, y: Any, *, towards_zero: bool = False) -> tuple[Tensor, Tensor]:
    """The integer next to x / y, below it or ``towards_zero``, and what remains, exactly: a quotient of hardware may be
    next to the nearest."""
    kind = torch.result_type(x, y)
    if not kind.is_floating_point:
        return _divided_integers(x.to(kind), y, towards_zero=towards_zero)
    if towards_zero:
        whole, rest = _divided(x.abs(), abs(y))
        return torch.where(x.float() * y < 0, -whole, whole), torch.where(x < 0, -rest, rest)
    whole, rest = torch.round(x.float() / y), x.float()
    parts = [y]
    if not isinstance(y, Tensor):  # of so few bits that the products are exact
        parts = [float(ml_dtypes.bfloat16(y))]
        parts.append(float(np.float32(y)) - parts[0])
    for part in parts:
        rest = rest - whole * part
    is_less = rest * y < 0
    return torch.where(is_less, whole - 1, whole), torch.where(is_less, rest + y, rest)


def _divided_integers(x: Tensor, y: Any, *, towards_zero: bool) -> tuple[Tensor, Tensor]:
    """The same of integers, of which FP32 does not hold all: what remains behind a quotient in FP32 has another one."""
    whole, rest = torch.zeros_like(x), x
    for _ in range(2):
        more = (rest.float() / y).round().to(x.dtype)
        whole, rest = whole + more, rest - more * y
    for sign, of in ((1, y), (-1, x))[: 1 + towards_zero]:
        is_unlike = rest.float() * of < 0
        whole, rest = torch.where(is_unlike, whole - sign, whole), torch.where(is_unlike, rest + sign * y, rest)
    return whole, rest


def _divide(x: Tensor, y: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        return x / y
    return _divided(x, y, towards_zero=rounding_mode == "trunc")[0].to(torch.result_type(x, y))


def _remainder(x: Tensor, y: Any, *, towards_zero: bool = False) -> Tensor:
    return _divided(x, y, towards_zero=towards_zero)[1].to(torch.result_type(x, y))


def _bucketize(x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    behind = boundaries > x[..., None] if right else boundaries >= x[..., None]  # NaN is behind all
    return len(boundaries) - behind.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def _in_order(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, ...]:
    found = (each.narrow(dim, k - 1, 1) for each in x.sort(dim))
    return tuple(each if keepdim else each.squeeze(dim) for each in found)


def _slice_scatter(
    x: Tensor, source: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    first, last, _ = slice(start, end).indices(x.shape[dim])
    if step != 1:
        number = torch.arange(x.shape[dim]) - first
        which = number.div(step, rounding_mode="floor").clamp(0, source.shape[dim] - 1)
        is_there = (which * step == number) & (number < last - first)
        shape = [-1 if each == dim % x.dim() else 1 for each in range(x.dim())]
        return torch.where(is_there.view(shape), source.to(x.dtype).index_select(dim, which), x)
    behind = x.narrow(dim, last, x.shape[dim] - last)
    return torch.cat([each for each in (x.narrow(dim, 0, first), source, behind) if each.numel()], dim)


def _index_put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:
    """Scalars where a mask says so, and values for all numbers of a dimension; others are no matter of this."""
    given = [(place, each) for place, each in enumerate(indices) if each is not None]
    place, index = given[0]
    if len(given) != 1 or not all(isinstance(each, int) for each in (*index.shape, *values.shape)):
        return NotImplemented
    if index.dtype != torch.bool:
        shape = *x.shape[:place], *index.shape, *x.shape[place + 1 :]
        is_same = values.shape == shape
        return NotImplemented if is_same else aten.index_put(x, indices, values.expand(shape), accumulate)
    rest = x.dim() - index.dim() - place
    if accumulate or (values.numel() != 1 and values.dim() > rest):
        return NotImplemented
    values = values.reshape(()) if values.numel() == 1 else values
    return torch.where(index.reshape(*index.shape, *[1] * rest), values, x)


def _trilinear(
    x: Tensor, y: Tensor, z: Tensor, of_x: list[int], of_y: list[int], of_z: list[int], sums: list[int], unroll: int = 1
) -> Tensor:
    """Sums of products of three tensors, each with new dimensions of one."""
    product: Any = 1.0
    for factor, dims in ((x, of_x), (y, of_y), (z, of_z)):
        for dim in dims:
            factor = factor.unsqueeze(dim)
        product = product * factor.float()
    return product.sum(sums).to(x.dtype)
