"""Sizes in bytes as people write them, and how large the cache may be."""

from __future__ import annotations

import os

from step.errors import InputError, SettingError
from step.host.amounts import Quantity

DEFAULT_LIMIT = "10 GB"
SIZE = Quantity("a number of bytes, KB, MB, GB or TB, such as 500 MB", {"B": 1}, of="bytes")


def cache_limit() -> int:
    """Bytes that the cache may take: ``STEP_CACHE_LIMIT``; raises `SettingError` where that is no size."""
    try:
        return parse_size(os.environ.get("STEP_CACHE_LIMIT") or DEFAULT_LIMIT)
    except InputError as error:
        raise SettingError(f"STEP_CACHE_LIMIT: {error}") from None


def parse_size(text: str) -> int:
    """Bytes of a size such as ``500 MB`` or ``2.5G``; raises `InputError` for other text."""
    upper = text.strip().upper()
    try:
        return int(SIZE.amount(upper.replace("IB", "iB"), "a size"))
    except InputError as error:
        raise InputError(str(error).replace(repr(upper), repr(text))) from None
