"""Sizes in bytes as people write them, and how large the cache may be."""

from __future__ import annotations

import os
import re

from step.errors import InputError, SettingError

DEFAULT_LIMIT = "10 GB"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def cache_limit() -> int:
    """Bytes that the cache may take: ``STEP_CACHE_LIMIT``; raises `SettingError` where that is no size."""
    try:
        return parse_size(os.environ.get("STEP_CACHE_LIMIT") or DEFAULT_LIMIT)
    except InputError as error:
        raise SettingError(f"STEP_CACHE_LIMIT: {error}") from None


def parse_size(text: str) -> int:
    """Bytes of a size such as ``500 MB`` or ``2.5G``; raises `InputError` for other text."""
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?([KMGT]?)B?", text.strip().upper())
    if match is None:
        raise InputError(f"a size must be a number of bytes, KB, MB, GB or TB, such as 500 MB, not {text!r}")
    return int(float(match[1]) * UNITS[match[2]])
