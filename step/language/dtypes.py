"""Scalar number formats: the one place where a new one is added."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from step.errors import FormatError


@dataclass(frozen=True)
class DType:
    """Scalar format; the formats that there are stand in `step`, such as `step.BF16`.

    ``name``: what programs and files call it.
    ``bits``: width on a wire.
    ``numpy``: type of the arrays that hold it in the interpreter.

    >>> FP32.bits, FP32.bytes, FP32.numpy, step.INT8.is_signed
    (32, 4, dtype('float32'), True)
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
        """True for numbers with a fraction: those of arithmetic, and those that are only stored."""
        return self in FLOATS or self.is_stored

    @property
    def is_stored(self) -> bool:
        """True for formats that memory, links and buffers have, and no arithmetic: FP16 and FP8."""
        return self in STORED

    @property
    def is_signed(self) -> bool:
        """True for integers that may be negative."""
        return self.numpy.kind == "i"

    def __repr__(self) -> str:
        return self.name


BF16 = DType("BF16", 16, np.dtype(ml_dtypes.bfloat16))
FP32 = DType("FP32", 32, np.dtype(np.float32))
FP16 = DType("FP16", 16, np.dtype(np.float16))
FP8_E4M3 = DType("FP8_E4M3", 8, np.dtype(ml_dtypes.float8_e4m3fn))
FP8_E5M2 = DType("FP8_E5M2", 8, np.dtype(ml_dtypes.float8_e5m2))
INT8 = DType("INT8", 8, np.dtype(np.int8))
INT32 = DType("INT32", 32, np.dtype(np.int32))
UINT32 = DType("UINT32", 32, np.dtype(np.uint32))
BOOL = DType("BOOL", 1, np.dtype(np.bool_))

FLOATS = (BF16, FP32)
INTEGERS = (INT8, INT32, UINT32)
"""Formats of arithmetic; BOOL is a truth value, not a number."""

ORDERED = (*FLOATS, INT8, INT32)
"""Formats of which the larger one of two scalars is looked for, in rows, reductions and scores."""
STORED = (FP16, FP8_E4M3, FP8_E5M2)
"""Formats to store numbers in: `step.functions.Cast` widens them for arithmetic, and narrows what comes of it."""

DTYPES: dict[str, DType] = {dtype.name: dtype for dtype in (*FLOATS, *INTEGERS, BOOL, *STORED)}

OF_ML_DTYPES = frozenset(each.numpy for each in (BF16, FP8_E4M3, FP8_E5M2))
"""Types of arrays that are none of NumPy's own."""

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
