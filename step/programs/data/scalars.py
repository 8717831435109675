"""Numbers from outside as scalars of the language, where nothing changes silently.

A number is taken if the scalar type has it. Formats with a fraction also take finite numbers that they have to round,
once and to the nearest (ties to even), as long as the result is finite; infinities and NaN stay what they are. All else
is an `InputError` that names the input, the position and the value.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from step.errors import InputError
from step.language.dtypes import BOOL, FLOATS, FP8_E4M3, FP32, DType
from step.programs.data import given
from step.programs.data.given import Bits


def _end(dtype: DType) -> str:
    """Sentence on numbers beyond the largest one."""
    if dtype is FP8_E4M3:
        return f"{dtype} ends at 448, and has no infinities"
    return f"{dtype} ends at {'3.4e38' if dtype in FLOATS else f'{ml_dtypes.finfo(dtype.numpy).max:g}'}; " + (
        "give inf if that is meant"
    )


def place(name: str, path: tuple[int, ...]) -> str:
    """``input 'x' at [0, 2]``."""
    return given.place(f"input {name!r}", path)


def scalars(value: Any, dtype: DType, name: str, path: tuple[int, ...] = ()) -> np.ndarray:
    """``value``, numbers or `Bits`, as an array of ``dtype`` and of its own shape.

    ``name`` is the input, ``path`` the position of ``value`` in it. Raises `InputError`.
    """
    if isinstance(value, Bits):
        return _from_bits(value, dtype, name, path)
    array = _numbers(value, dtype, name, path)
    if array.dtype == dtype.numpy:
        return array
    if dtype.is_float and dtype is not FP32 and array.dtype == np.dtype(f"u{dtype.bytes}"):
        raise InputError(
            f"{place(name, path)} is {array.dtype}, which could be bit patterns of {dtype} or values; "
            f"give bits(array) ({name}.bits in an .npz file) for bit patterns, array.astype(float) for values"
        )
    return _rounded(array, dtype, name, path) if dtype.is_float else _whole(array, dtype, name, path)


def _numbers(value: Any, dtype: DType, name: str, path: tuple[int, ...]) -> np.ndarray:
    """``value`` as an array of booleans, integers or real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"{place(name, path)} has rows of different lengths, which is no array") from None
    except RecursionError:
        raise InputError(f"{place(name, path)} is nested too deeply for an array") from None
    if array.dtype.kind in "OUS":
        array = _by_one(value, array, dtype, name, path)
    kind = array.dtype.kind
    if kind in "biufO" or (kind == "V" and np.can_cast(array.dtype, np.float64)):
        return array
    advice = ""
    if kind == "c":
        advice = "; give array.real"
    elif array.dtype in (np.dtype("V2"), np.dtype("V1")):
        saved, patterns = ("bfloat16", "uint16") if array.itemsize == 2 else ("float8", "uint8")
        advice = (
            f"; NumPy saves {saved} like this: save array.view(np.{patterns}) as "
            f"{name}.bits, or give bits(array.view(np.{patterns}))"
        )
    raise InputError(f"{place(name, path)} must be numbers for {dtype}, not {array.dtype}{advice}")


def _by_one(value: Any, array: np.ndarray, dtype: DType, name: str, path: tuple[int, ...]) -> np.ndarray:
    """Data that NumPy makes no numbers of: an entry that is none is named, and integers may be larger than NumPy's."""
    entries = array if isinstance(value, np.ndarray) else np.array(value, object)
    for position in np.ndindex(entries.shape):
        each = entries[position]
        if not isinstance(each, int | float | np.integer | np.floating | np.bool_):
            raise InputError(f"{place(name, path + position)} is {given.shown(each)}, but must be a number for {dtype}")
        if dtype.is_float and isinstance(each, int) and abs(each) >= 1 << 128:
            raise InputError(f"{place(name, path + position)} is {_shown(each)}, but {_end(dtype)}")
    return np.asarray(entries.astype(np.float64)) if dtype.is_float else entries


def _whole(array: np.ndarray, dtype: DType, name: str, path: tuple[int, ...]) -> np.ndarray:
    low, high = (0, 1) if dtype is BOOL else (int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max))
    exact = array if array.dtype.kind in "biuO" else _exactly(array)
    if exact.dtype.kind == "b":
        return exact.astype(dtype.numpy)
    has = "0 and 1" if dtype is BOOL else f"the integers {low} to {high}"
    whole = exact == np.floor(exact) if exact.dtype.kind == "f" else np.True_
    if dtype is not BOOL:
        _all(whole, array, f"which is no integer: {dtype} has {has}", name, path)
    _all(whole & (exact >= low) & (exact <= high), array, f"but {dtype} has {has}", name, path)
    return exact.astype(dtype.numpy)


def _rounded(array: np.ndarray, dtype: DType, name: str, path: tuple[int, ...]) -> np.ndarray:
    exact = _exactly(array)
    with np.errstate(all="ignore"):
        result = np.asarray(exact.astype(np.float32)) if dtype is FP32 else _to_less(exact, dtype)
        good = np.isfinite(result.astype(np.float64)) | ~np.isfinite(exact)
        if dtype is FP8_E4M3:
            good &= ~np.isinf(exact)
    _all(good, array, f"but {_end(dtype)}", name, path)
    return result


def _exactly(array: np.ndarray) -> np.ndarray:
    """``array`` as real numbers of a type that has all of them."""
    wide = array.dtype == np.longdouble
    if array.dtype.kind in "iu" and array.dtype.itemsize > 4 and array.size:
        wide = bool(array.max() > 1 << 53 or array.min() < -(1 << 53))
    return array.astype(np.longdouble if wide else np.float64)


def _to_less(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Real numbers rounded once, to less than FP32: that in between is cut off, and its last bit says whether so."""
    single = np.asarray(values.astype(np.float32))
    cut = np.where(np.abs(single) > np.abs(values), np.nextafter(single, np.float32(0)), single)
    more = np.asarray((cut != values) & ~np.isnan(values)).astype(np.uint32)
    return np.asarray(np.asarray(cut.view(np.uint32) | more).view(np.float32).astype(dtype.numpy))


def _from_bits(value: Bits, dtype: DType, name: str, path: tuple[int, ...]) -> np.ndarray:
    array = _numbers(value.content, dtype, name, path)
    if array.dtype.kind not in "biuO":
        raise InputError(f"{place(name, path)} must be integers, as they are bit patterns, not {array.dtype}")
    good = np.ones(array.shape, np.bool_) if array.dtype.kind == "b" else (array >= 0) & (array < 1 << dtype.bits)
    _all(good, array, f"but bit patterns of {dtype} are 0 to {(1 << dtype.bits) - 1:#x}", name, path)
    return np.asarray(array.astype(f"u{dtype.bytes}").view(dtype.numpy))


def _all(good: Any, array: np.ndarray, known: str, name: str, path: tuple[int, ...]) -> None:
    """Raise `InputError` with the first value that is not ``good``; ``known`` is what would be."""
    if np.all(good):
        return
    position = tuple(int(each) for each in np.argwhere(~np.atleast_1d(good).astype(np.bool_))[0])[: array.ndim]
    raise InputError(f"{place(name, path + position)} is {_shown(array[position])}, {known}")


def _shown(value: Any) -> str:
    """A number, or how long it is."""
    short = not isinstance(value, int) or abs(value) < 10**given.LONGEST
    return str(value) if short else f"an integer of {math.ceil(value.bit_length() * math.log10(2))} digits"
