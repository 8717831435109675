"""Broadcast: to all outputs at the same time, when all of them have room; no cycles of its own."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite


def process(site: ContextSite, context: Context) -> Wait:
    """Copies."""
    (channel,) = site.inputs
    outputs = [each for each in site.outputs if each is not None]
    while True:
        token = yield from context.take(channel)
        if not token.done:
            for each in outputs:
                yield from context.space(each)
        for each in outputs:
            context.put(each, token)
        if token.done:
            return


PASSES = True
"""What it passes on is where it was."""
