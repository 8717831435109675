"""Flatten: renames stops; no cycles of its own.

The artifact has no empties, so it never has to hold an element back to see whether one follows. Programs in which an
empty ends a row that has elements are refused when it comes.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.language.tokens import empty
from step.ops.flatten import Flatten


def process(site: ContextSite, context: Context) -> Wait:
    """Elements one by one."""
    operator = site.node.operator
    assert isinstance(operator, Flatten)
    (channel,), (output,) = site.inputs, site.outputs
    low, high = operator.low, operator.high
    is_open = False
    while True:
        token = yield from context.take(channel)
        merged = operator.merged(token)
        if low < token.rank <= high:
            if token.stop <= high:
                continue
            if is_open:
                raise site.refuse("no empty that ends a row")
            merged = empty(low + 1, merged.stop)
        is_open = token.stop <= high
        yield from context.send(output, merged)
        if token.done:
            return


PASSES = True
"""What it passes on is where it was."""
