"""Expand (ExpandRef, and RepeatStatic without a reference).

With a reference it takes no cycles, and the element held keeps its slot. The static one stamps its n copies with the
times t, t + 1, .., and then is n cycles later. Where a Reshape makes chunks of one for it (``repeat``), the two are one
context of the artifact, without a channel between them.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.language.faults import Fault, Violation
from step.language.graph import Node
from step.language.tokens import Token, empty
from step.ops.expand import Expand


def process(site: ContextSite, context: Context) -> Wait:
    """Copies of elements."""
    operator = site.node.operator
    assert isinstance(operator, Expand)
    if operator.count is not None:
        return _repeat(site, context, operator.count, int(site.repeats))
    return _follow(site, context, operator.rank)


def _repeat(site: ContextSite, context: Context, count: int, added: int) -> Wait:
    """``added``: dimensions around the copies of an element."""
    (channel,), (output,) = site.inputs, site.outputs
    while True:
        token = yield from context.head(channel)
        if token.has_value:
            for copy in range(count):
                stop = token.stop + added if copy == count - 1 else 0
                yield from context.send(output, Token(token.value, stop), context.time + copy)
            context.time += count
        elif output is not None:
            rest = token if token.done else empty(token.rank + added, token.stop + added)
            yield from context.send(output, rest)
        context.drop(channel)
        if token.done:
            return


def _follow(site: ContextSite, context: Context, rank: int) -> Wait:
    data, references = site.inputs
    (output,) = site.outputs
    while True:
        held = yield from context.head(data)
        while True:
            reference = yield from context.take(references)
            outside = reference.rank if reference.rank > rank else 0
            last = reference.done or reference.stop >= rank
            if (reference.done, outside) != (held.done, held.rank) or (last and reference.stop != held.stop):
                raise Violation(Fault.STOPS_DISAGREE)
            token = Token(held.value, reference.stop) if reference.has_value else reference
            yield from context.send(output, token)
            if last:
                break
        context.drop(data)
        if reference.done:
            return


PASSES = True
"""What it passes on is where it was."""


def repeats(node: Node) -> bool:
    """Whether it is a RepeatStatic."""
    return isinstance(node.operator, Expand) and node.operator.count is not None


COMPUTES = True
"""Its on-chip memory is what it repeats."""
