"""RandomOffChipStore: a tile at a time; it is acknowledged when it is written, and dequeued then."""

from __future__ import annotations

import numpy as np

from sim_published.engine import Context, Wait
from sim_published.off_chip import access
from sim_published.site import ContextSite
from step.language.faults import aligned
from step.ops.random_off_chip_store import ADDRESS, DATA

WRITTEN = np.ones((1, 1), np.bool_)


def process(site: ContextSite, context: Context) -> Wait:
    """Write tiles; where does not matter."""
    (output,) = site.outputs
    element = site.node.input_types[DATA].element
    while True:
        tokens = yield from context.heads(site.inputs)
        token = aligned(*tokens)
        if token.has_value:
            yield from access(site, context, tokens[DATA].value, element)
            token = token._replace(value=WRITTEN)
        yield from context.send(output, token)
        for port in (ADDRESS, DATA):
            context.drop(site.inputs[port])
        if token.done:
            return
