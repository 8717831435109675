"""Partition (FlatPartition, and Parallelize where the selectors are turns that the program makes).

FlatPartition: an element costs its load and a switch, then goes to the selected outputs in the order of their index;
one without room holds up all behind it. Parallelize dequeues an element before it sends it, too, stamps it with t + 1
and does not go on to that time (routing, 2.3). What FlatPartition sends is not read from an on-chip memory unit;
Parallelize has no say in that, so what it passes on is where it was.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.language.faults import Fault, Violation
from step.ops.partition import DATA, SELECTOR, Partition

TAKES_TURNS = True
"""Where the selectors are turns, nobody waits for them."""


def process(site: ContextSite, context: Context) -> Wait:
    """Chunks by selector."""
    operator = site.node.operator
    assert isinstance(operator, Partition)
    data, selectors = site.inputs[DATA], site.inputs[SELECTOR]
    rank, switch = operator.rank, site.profile.switch
    by_turns = site.by_turns
    while True:
        if by_turns:  # whose turn it is needs no stream
            yield from context.there(selectors)
        selector = selectors.items[0][1] if by_turns else (yield from context.head(selectors))
        context.drop(selectors)
        if selector.done:
            token = yield from context.take(data)
            if not token.done:
                raise Violation(Fault.LEFTOVER_DATA)
            break
        if selector.is_empty:
            yield from context.take(data)
            continue
        chosen = [port for port in range(operator.targets) if selector.value >> port & 1]
        while True:
            token = yield from context.head(data)
            if token.done:
                raise Violation(Fault.MISSING_DATA)
            if not by_turns:
                context.time += site.cycles(data, token.value, DATA) if token.has_value else 0
            context.drop(data)
            if not by_turns and chosen:
                context.time += switch
            ends = token.stop >= rank
            for port in chosen:
                output = site.outputs[port]
                at = context.time + switch if by_turns else 0
                yield from context.send(output, token._replace(stop=min(token.stop, rank)), at)
            if ends:
                break
    for output in site.outputs:
        yield from context.send(output, selector)
