"""Arrays and nested lists as bytes and lengths, as the driver takes and gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import BoardError

PATTERNS = {"BF16": "<u2", "FP16": "<f2", "FP32": "<f4", "FP8_E4M3": "u1", "FP8_E5M2": "u1", "INT8": "i1"}
PATTERNS |= {"INT32": "<i4", "UINT32": "<u4", "BOOL": "u1", "SELECTOR": "u1"}
"""How an array has the bits of a scalar; of a selector a byte for each target."""


def patterns(array: Any, dtype: str) -> np.ndarray:
    """The bits of an array of numbers; unsigned integers of the width, and arrays of ml_dtypes, have them already."""
    array, kind = np.asarray(array), np.dtype(PATTERNS[dtype])
    if array.dtype == kind or (array.dtype.kind == "V" and array.dtype.itemsize == kind.itemsize):
        return np.ascontiguousarray(array).view(kind)
    if dtype == "BF16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        rounded = (bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16
        return np.where(np.isnan(array.astype(np.float32)), 0x7FC0, rounded).astype(kind)
    if dtype.startswith("FP8"):
        raise BoardError(f"{dtype} is given as patterns (uint8), or as an array of ml_dtypes, not as {array.dtype}")
    return np.ascontiguousarray(array, bool if dtype == "BOOL" else kind).view(kind)


def numbers(bits: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers that are not in the way of NumPy; FP8 stays as it is."""
    if dtype == "BF16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(bool) if dtype == "BOOL" else bits


def flattened(data: Any, stream: dict[str, Any]) -> tuple[bytes, tuple[int, ...]]:
    """The elements of a stream one after the other, and its lengths, each where its dimension begins."""
    values, lengths = bytearray(), list[int]()

    def walk(part: Any, extents: list[int | None]) -> None:
        if extents:
            if extents[0] is None:
                lengths.append(len(part))
            elif len(part) != extents[0]:
                raise BoardError(f"{stream['name']} must have {extents[0]} entries here, not {len(part)}")
            for each in part:
                walk(each, extents[1:])
            return
        items, counted = part if len(stream["parts"]) > 1 else [part], not stream["rows"]
        for item, (rows, columns, dtype) in zip(items, stream["parts"], strict=bool(stream["parts"])):
            array = patterns(item, dtype).reshape(-1, columns)
            if rows and len(array) != rows:
                raise BoardError(f"an element of {stream['name']} must have {rows} rows, not {len(array)}")
            if not (rows or counted):
                lengths.append(len(array))
                counted = True
            values.extend(array.tobytes())

    walk(data, stream["extents"])
    return bytes(values), tuple(lengths)


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
