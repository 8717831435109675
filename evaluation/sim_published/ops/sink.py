"""Sink (ConsumerContext, Printer): an element a cycle."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite


def process(site: ContextSite, context: Context) -> Wait:
    """Elements leave."""
    (channel,) = site.inputs
    while not (yield from context.take(channel)).done:
        context.time += 1
