"""LinearOffChipStore (OffChipStore): a tile at a time.

The run ends ``AFTER`` cycles behind the last answer, when memory has seen that nobody sends any more.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.off_chip import access
from sim_published.site import ContextSite

AFTER = 2


def process(site: ContextSite, context: Context) -> Wait:
    """Write tiles."""
    (channel,) = site.inputs
    element = site.node.input_types[0].element
    while True:
        token = yield from context.head(channel)
        if token.has_value:
            yield from access(site, context, token.value, element)
        context.drop(channel)
        if token.done:
            context.time += AFTER
            return
