"""Linear layers whose weights are integers already, as GPTQ, AWQ and torchao lay them out: as ours of the same.

No layout is known here: torch itself unpacks the matrix that it multiplies by, in float64, and that must be integers
times one of the tensors of the layer.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from step.errors import InputError
from step_torch.calling import calling

CLOSE = 1e-3
"""Most distance of steps from integers: a layer that unpacks in float32 has some error."""

_PRODUCTS = torch.ops.aten.mm.default, torch.ops.aten.addmm.default
_INPUTS = ("in_features", "infeatures")
"""Names that layers have for how many inputs they take."""

Found = tuple[Tensor, Tensor, Tensor | None, int]
"""Integers [columns, depth], scales [columns, groups], bias, and bits that hold the integers."""


def integer_layers(module: nn.Module) -> dict[str, Found]:
    """Layers of ``module`` with such weights, by their paths; those that differ in a number have as many bits.

    Raises `InputError` for one that is something else than a product with integers times scales of neighbours.
    """
    found = {path: _found(path, each) for path, each in module.named_modules() if path and _has_integers(each)}
    bits = dict[str, int]()
    for path, (integers, *_) in found.items():  # layers become one of hardware
        even = not (integers.shape[0] % 2 or integers.shape[1] % 2)
        own = 4 if even and integers.min() >= -8 and integers.max() <= 7 else 8
        bits[_role(path)] = max(own, bits.get(_role(path), 4))
    return {path: (*each, bits[_role(path)]) for path, each in found.items()}


def _role(path: str) -> str:
    return re.sub(r"\d+", "", path)


def _has_integers(module: nn.Module) -> bool:
    kinds = (each.dtype for each in _tensors(module) if each.ndim > 1 and not _is_float(each))
    return _depth(module) is not None and any(each is not torch.bool for each in kinds)


def _depth(module: nn.Module) -> int | None:
    return next((getattr(module, each) for each in _INPUTS if hasattr(module, each)), None)


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    return chain(module.parameters(), module.buffers())


def _is_float(each: Tensor) -> bool:
    return each.is_floating_point()


class _Matrices(TorchDispatchMode):
    """Keeps the matrices that rows are multiplied by meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.found = list[Tensor]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _PRODUCTS:
            self.found.append(args[-1])
        return func(*args, **(kwargs or {}))


def _found(path: str, module: nn.Module) -> tuple[Tensor, Tensor, Tensor | None]:
    exact, matrices, bias = copy.deepcopy(module).double(), _Matrices(), getattr(module, "bias", None)
    rows = torch.randn(2, _depth(module) or 0, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with calling(module, f"{path!r} has integers, and can not be called in float64"), torch.no_grad(), matrices:
        result = exact(rows)
    matrix = matrices.found[-1].double() if matrices.found else rows.T
    plain, sums = rows @ matrix, result.double() if bias is None else result.double() - bias.double()
    factors = torch.where(plain[0] == 0, 1, sums[0] / plain[0])  # some scale what integers give
    if not torch.allclose(plain * factors, sums, CLOSE, CLOSE):
        raise InputError(f"{path!r} has integers, and does something else than x @ weight^T + bias with its rows")
    matrix = matrix * factors
    for scales in _scales(module, *matrix.shape):
        each = scales.double().repeat_interleave(matrix.shape[0] // scales.shape[1], 1)
        steps = torch.where(each == 0, matrix.T, matrix.T / each)
        integers = steps.round()
        if (steps - integers).abs().max() > CLOSE:
            continue
        if integers.min() < -128 or integers.max() > 127:
            low, high = int(integers.min()), int(integers.max())
            raise InputError(
                f"{path!r} has integers from {low} to {high}, less their zero points: 8 bits hold a weight"
            )
        kept = scales if scales.dtype == torch.bfloat16 else scales.float()
        return integers.to(torch.int8), kept, bias
    orders = (each for each in _tensors(module) if not _is_float(each) and each.shape == matrix.shape[:1])
    if any((each.diff() < 0).any() for each in orders):
        raise InputError(f"{path!r} has inputs in another order (act-order): neighbours make a group")
    raise InputError(
        f"{path!r} has weights that are no integers times scales of neighbours, which can not be kept: zero points "
        "must be integers"
    )


def _scales(module: nn.Module, depth: int, columns: int) -> Iterator[Tensor]:
    """Tensors [columns, groups] that may be the scales; torchao has some together with zero points."""
    for each in filter(_is_float, _tensors(module)):
        for one in each.detach().unbind(-1) if each.ndim == 3 else [each.detach()]:
            flat = one.reshape(columns, -1) if one.ndim == 1 and len(one) == columns else one
            for turned in (flat, flat.T):
                if (
                    turned.ndim == 2
                    and len(turned) == columns
                    and turned.shape[1] in range(1, depth)
                    and depth % turned.shape[1] == 0
                ):
                    yield turned.contiguous()
