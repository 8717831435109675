"""A point of a figure: what is run, and what the paper and its artifact give for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sim_published.profile import PublishedProfile
from step import Graph

Bytes = tuple[int, int | None]
"""Off chip, and on chip where that is known."""


@dataclass(frozen=True)
class PublishedPoint:
    """``make`` builds the graph and its inputs.

    ``cycles`` and ``bytes`` are the published ones, where they are known. ``symbols``: what those of the graph stand
    for. ``skips``: the published figures leave operators that got no element out of on-chip memory here.
    """

    name: str
    profile: PublishedProfile
    make: Callable[[], tuple[Graph, dict[str, Any]]]
    cycles: float | None = None
    bytes: Bytes | None = None
    symbols: Mapping[str, int] = field(default_factory=dict)
    skips: bool = False
