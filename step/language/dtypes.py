"""Scalar number formats: the one place where a new one is added."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from step.errors import FormatError


@dataclass(frozen=True)
class DType:
    """A scalar format.

    ``bits`` is the width on a wire, ``numpy`` the array type that holds it in the interpreter.
    """

    name: str
    bits: int
    numpy: np.dtype

    @property
    def bytes(self) -> int:
        """Size in metrics, which count whole bytes: a BOOL is one, though off-chip memory packs eight into it."""
        return -(-self.bits // 8)

    @property
    def is_float(self) -> bool:
        """True for BF16 and FP32."""
        return self in (BF16, FP32)

    @property
    def is_signed(self) -> bool:
        """True for integers that may be negative."""
        return self.numpy.kind == "i"

    def __repr__(self) -> str:
        return self.name


BF16 = DType("BF16", 16, np.dtype(ml_dtypes.bfloat16))
FP32 = DType("FP32", 32, np.dtype(np.float32))
INT8 = DType("INT8", 8, np.dtype(np.int8))
INT32 = DType("INT32", 32, np.dtype(np.int32))
UINT32 = DType("UINT32", 32, np.dtype(np.uint32))
BOOL = DType("BOOL", 1, np.dtype(np.bool_))

FLOATS = (BF16, FP32)
INTEGERS = (INT8, INT32, UINT32)
"""Formats of arithmetic; BOOL is a truth value, not a number."""

DTYPES: dict[str, DType] = {dtype.name: dtype for dtype in (*FLOATS, *INTEGERS, BOOL)}

_OF_ARRAYS = {dtype.numpy: dtype for dtype in DTYPES.values()}


def dtype_of(array: np.ndarray) -> DType:
    """The format that an array holds."""
    return _OF_ARRAYS[array.dtype]


def as_dtype(value: DType | str) -> DType:
    """``value``, or the format of that name; raises `FormatError` for anything else."""
    found = value if isinstance(value, DType) else DTYPES.get(value) if isinstance(value, str) else None
    if found is None:
        raise FormatError(f"dtype must be one of {', '.join(DTYPES)}, not {value!r}")
    return found
