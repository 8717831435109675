"""The use of off-chip memory by all five operators: one tile in flight, no prefetch."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from sim_published.engine import Context
from sim_published.site import ContextSite
from step.language.types import ElementType


def access(site: ContextSite, context: Context, size: Any, element: ElementType) -> Generator[None, None, None]:
    """Send the requests for a tile, chunk by chunk from the local time on, and wait for the last answer.

    Memory sees a chunk a cycle after it was sent, and the answer is seen a cycle after it was given.
    """
    engine = context.engine
    context.tiles += 1
    engine.memory.issue(site.port, context.time + 1, site.requests(size, element))
    before = context.time
    yield
    while context.time == before:  # woken by a channel
        yield
