"""Arrays and nested lists as bytes and lengths, as the driver takes and gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import BoardError

PATTERNS = {"BF16": "<u2", "FP16": "<f2", "FP32": "<f4", "FP8_E4M3": "u1", "FP8_E5M2": "u1", "INT8": "i1"}
PATTERNS |= {"INT32": "<i4", "UINT32": "<u4", "BOOL": "u1", "SELECTOR": "u1"}
"""How an array has the bits of a scalar; of a selector a byte for each target."""

ML_DTYPES = {"BF16": "bfloat16", "FP8_E4M3": "float8_e4m3fn", "FP8_E5M2": "float8_e5m2"}
"""The scalars of ml_dtypes that have the bits of a format."""


def patterns(given: Any, dtype: str, what: str = "data") -> np.ndarray:
    """The bits of an array of numbers, which ``dtype`` has, or to which it rounds; raises `BoardError`, about ``what``.

    Arrays of ml_dtypes have the bits already, and so have uint16 of BF16 and uint8 of FP8.
    """
    kind = np.dtype(PATTERNS[dtype])
    if np.ma.is_masked(given):
        raise BoardError(f"{what} is masked, and no number stands for that: give array.filled(NUMBER)")
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise BoardError(f"{what} is no array: {error}") from None
    if dtype in ML_DTYPES and array.dtype.name == ML_DTYPES[dtype]:
        return array.copy().view(kind)
    if dtype in ML_DTYPES and array.dtype.kind == "u" and array.dtype.itemsize == kind.itemsize:
        return array.astype(kind)
    if dtype.startswith("FP8"):
        raise BoardError(f"{what}: {dtype} is given as patterns (uint8), or of ml_dtypes, not as {array.dtype}")
    if array.dtype.name in ML_DTYPES.values():
        array = array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        raise BoardError(f"{what}: {dtype} is given as numbers, not as {array.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        bits = _bf16(array) if dtype == "BF16" else array.astype(bool if kind == "u1" else kind).view(kind)
        found = numbers(bits, dtype)
        wrong = np.isfinite(array) & ~np.isfinite(found) if found.dtype.kind == "f" else found != array
    if wrong.any():
        place = [int(each) for each in np.argwhere(wrong)[0]]
        raise BoardError(f"{what}{f' at {place}' * bool(place)} is {array[tuple(place)]}, which {dtype} does not have")
    return bits


def _bf16(array: np.ndarray) -> np.ndarray:
    """Rounded once, to the nearest, ties to even."""
    exact = array.astype(np.float64)
    with np.errstate(under="ignore"):
        single = exact.astype(np.float32)
        below = np.where(np.abs(single) > np.abs(exact), np.nextafter(single, np.float32(0)), single)
    bits = below.view(np.uint32) | (single != exact)  # what float32 does not have is in its last bit
    rounded = (bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(single), 0x7FC0, rounded).astype("<u2")


def numbers(bits: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers that are not in the way of NumPy; FP8 stays as it is."""
    if dtype == "BF16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(bool) if dtype == "BOOL" else bits


def flattened(data: Any, stream: dict[str, Any]) -> tuple[bytes, tuple[int, ...]]:
    """The elements of a stream one after the other, and its lengths, each where its dimension begins."""
    values, lengths, name = bytearray(), list[int](), stream["name"]

    def walk(part: Any, extents: list[int | None]) -> None:
        if not extents:
            found, rows = _element(part, stream)
            values.extend(b"".join(each.tobytes() for each in found))
            lengths.extend(rows)
            return
        if not isinstance(part, list | tuple) and np.ndim(part) == 0:
            raise BoardError(f"{name} must be {len(stream['extents'])} lists in each other; there is {part!r} for one")
        if extents[0] is None:
            lengths.append(len(part))
        elif len(part) != extents[0]:
            raise BoardError(f"{name} must have {extents[0]} entries here, not {len(part)}")
        for each in part:
            walk(each, extents[1:])

    walk(data, stream["extents"])
    return bytes(values), tuple(lengths)


def _element(part: Any, stream: dict[str, Any]) -> tuple[list[np.ndarray], list[int]]:
    """The bits of each part of an element, none where nobody reads them, and its rows, where lengths say these."""
    kinds, what = stream["parts"], f"an element of {stream['name']}"
    items = part if len(kinds) > 1 else [part][: len(kinds)]
    if len(kinds) > 1 and not (isinstance(part, list | tuple) and len(part) == len(kinds)):
        given = len(part) if isinstance(part, list | tuple) else type(part).__name__
        raise BoardError(f"{what} must be a tuple of {len(kinds)} arrays, not {given}")
    found, counts = list[np.ndarray](), list[int]()
    for item, (rows, columns, dtype) in zip(items, kinds, strict=True):
        array = patterns(item, dtype, what)
        if array.ndim == 0 and (rows, columns) == (1, 1):
            array = array.reshape(1, 1)
        if dtype == "SELECTOR":
            wanted, fits = [columns], array.shape == (columns,)
        else:
            wanted = [rows or "rows", columns]
            fits = array.ndim == 2 and array.shape[1] == columns and len(array) == (rows or len(array))
        if not fits:
            raise BoardError(f"{what} must have shape [{', '.join(map(str, wanted))}], not {list(array.shape)}")
        found.append(array)
        counts += [] if rows else [len(array)]
    if len(set(counts)) > 1:
        raise BoardError(f"{what} must have one number of rows, not {' and '.join(map(str, counts))}")
    return found, counts[:1]


def nested(values: bytes, lengths: tuple[int, ...], stream: dict[str, Any]) -> Any:
    """The opposite of `flattened`, for lengths of all dimensions."""
    left, at = iter(lengths), 0

    def walk(level: int) -> Any:
        nonlocal at
        if level:
            return [walk(level - 1) for _ in range(next(left))]
        dynamic, items = next(left) if stream["rows"] else 0, []
        for rows, columns, dtype in stream["parts"]:
            kind, count = np.dtype(PATTERNS[dtype]), (rows or dynamic) * columns
            array = np.frombuffer(values, kind, count, at)
            items.append(numbers(array if dtype == "SELECTOR" else array.reshape(-1, columns), dtype))
            at += count * kind.itemsize
        return tuple(items) if len(items) > 1 else items[0] if items else None

    return walk(len(stream["extents"]))
