"""Bufferize: a cycle for every element but the last one of a buffer, whatever its size; the buffer leaves with that."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.language.tokens import Token, empty
from step.ops.bufferize import Bufferize


def process(site: ContextSite, context: Context) -> Wait:
    """Elements into buffers."""
    operator = site.node.operator
    assert isinstance(operator, Bufferize)
    (channel,), (output,) = site.inputs, site.outputs
    held: list[Token] = []
    while True:
        token = yield from context.take(channel)
        if token.done:
            yield from context.send(output, token)
            return
        if token.rank > operator.rank:
            rest = empty(token.rank - operator.rank, token.stop - operator.rank)
            yield from context.send(output, rest)
            continue
        held.append(token._replace(stop=min(token.stop, operator.rank)))
        if token.stop >= operator.rank:
            yield from context.send(output, Token(tuple(held), token.stop - operator.rank))
            held = []
        else:
            context.time += 1
