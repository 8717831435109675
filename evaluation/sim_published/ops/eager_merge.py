"""EagerMerge: takes the chunk that came first, of equal ones that of the lowest input.

The artifact leaves ties to the order in which it runs its contexts. The selector goes first, then the chunk, whose
elements but the last one cost a cycle each.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.language.tokens import DONE, Token
from step.ops.eager_merge import DATA, SELECTOR, EagerMerge


def process(site: ContextSite, context: Context) -> Wait:
    """Chunks as they come."""
    operator = site.node.operator
    assert isinstance(operator, EagerMerge)
    left = list(range(len(site.inputs)))
    while left:
        for port in [port for port in left if site.inputs[port].items and site.inputs[port].items[0][1].done]:
            context.drop(site.inputs[port])
            left.remove(port)
        heads = [(site.inputs[port].items[0][0], port) for port in left if site.inputs[port].items]
        if len(heads) < len(left):
            for port in left:
                if not site.inputs[port].items:
                    site.inputs[port].reader = context
            if not heads:
                yield None
                continue
            context.decided = False
            yield max(context.time, min(heads)[0])
            if not context.decided:  # an element came
                continue
        if not heads:
            continue
        _, port = min(heads)
        channel = site.inputs[port]
        token = yield from context.head(channel)
        yield from context.send(site.outputs[SELECTOR], Token(1 << port))
        while True:
            context.drop(channel)
            yield from context.send(site.outputs[DATA], token)
            if token.stop >= operator.rank:
                break
            context.time += 1
            token = yield from context.head(channel)
    for output in site.outputs:
        yield from context.send(output, DONE)
