"""Constants of a module, masks and numbers of positions say: an import finds them out, so hardware does not.

They are computed in float64 or int64, and rounded once for each operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from step import BF16
from step_torch.sources import Stored

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": lambda x, y, alpha=1: x + alpha * y, "sub": lambda x, y, alpha=1: x - alpha * y, "mul": np.multiply,
    "rsub": lambda x, y: y - x, "div": np.true_divide, "fmod": np.fmod, "remainder": np.remainder, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "clamp": np.clip, "where": np.where, "abs": np.abs,
    "neg": np.negative, "reciprocal": lambda x: 1 / x, "sqrt": np.sqrt, "rsqrt": lambda x: x**-0.5, "exp": np.exp,
    "log": np.log, "sin": np.sin, "cos": np.cos, "floor": np.floor, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_not": np.logical_not, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_not": np.invert, "cumsum": np.cumsum,
    "_to_copy": lambda x: x,
}  # fmt: skip
"""By the names of operators without their overloads."""

_OF_FORMATS = ("dtype", "layout", "device", "pin_memory", "non_blocking", "memory_format")


def folding_of(op: str) -> Callable[..., Any] | None:
    """The lowering of ``op`` for constants, None where it has none."""
    name = op.split(".")[1] if op.startswith("aten.") else ""
    return partial(_folded, _FUNCTIONS[name]) if name in _FUNCTIONS else None


def _folded(function: Callable[..., Any], at: Any, *args: Any, **options: Any) -> Any:
    numbers = [_wide(each) for each in args]
    with np.errstate(all="ignore"):
        made = function(*numbers, **{name: _wide(each) for name, each in options.items() if name not in _OF_FORMATS})
    return at.constant(np.broadcast_to(made, at.meta.shape))


def _wide(arg: Any) -> Any:
    return arg.exact if isinstance(arg, Stored) else arg


def is_arithmetic(op: str) -> bool:
    """Whether operands of ``op`` have the format of its result: numbers that are no conditions."""
    return folding_of(op) is not None and ".where." not in op


def floating(arg: Any) -> Any:
    """Integers that the import knows, as operands of floats."""
    if not (isinstance(arg, Stored) and arg.is_constant and arg.data.dtype.kind in "biu"):
        return arg
    return arg.formed("bfloat16", lambda data: data.astype(BF16.numpy), arg.dims)
