"""Words for nested lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Nested = list[Any]


def inside(levels: int, function: Callable[..., Any], *parts: Any) -> Any:
    """``parts`` with every entry ``levels`` levels deep replaced by ``function`` of it.

    Several parts must have the same shape down to there, else `ValueError`.
    """
    if levels == 0:
        return function(*parts)
    return [inside(levels - 1, function, *entries) for entries in zip(*parts, strict=True)]


def entries(levels: int, part: Any) -> Nested:
    """All that lies ``levels`` levels deep in ``part``, in order."""
    if levels == 0:
        return [part]
    return [entry for each in part for entry in entries(levels - 1, each)]
