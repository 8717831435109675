"""Reassemble (FlatReassemble): waits until each selected input has an element, then takes the chunks as they arrived.

For an element ``t = max(t, arrival of the chunk's first + switch + load)``, so none costs a cycle when all are there.

How far its time goes while it waits for the last of them is decided by chance in the artifact, which asks its inputs
again and again, a cycle later each time, and finds what threads have already sent for a later time. Here it is a cycle
short of the last arrival. There the first ones may leave sooner, which moves what waits behind them.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.language.faults import Fault, Violation
from step.language.tokens import empty
from step.ops.reassemble import Reassemble


def process(site: ContextSite, context: Context) -> Wait:
    """Chunks of the selected inputs."""
    operator = site.node.operator
    assert isinstance(operator, Reassemble)
    *data, selectors = site.inputs
    (output,) = site.outputs
    rank, switch = operator.rank, site.profile.switch
    if output is None:
        raise site.refuse("no Reassemble that nobody reads")
    while True:
        selector = yield from context.take(selectors)
        if selector.done:
            break
        end = rank + 1 + selector.stop
        if selector.is_empty:
            yield from context.send(output, empty(rank + 1 + selector.rank, end))
            continue
        chosen = [port for port in range(len(data)) if selector.value >> port & 1]
        if not chosen:
            yield from context.send(output, empty(rank + 1, end))
            continue
        arrivals = []
        for port in chosen:
            arrivals.append(((yield from context.there(data[port])), port))
        if operator.order == "arrival":
            arrivals.sort()
        context.time = max(context.time, max(arrivals)[0] - 1)
        for number, (arrival, port) in enumerate(arrivals):
            while True:
                token = yield from context.head(data[port])
                if token.done:
                    raise Violation(Fault.MISSING_DATA)
                load = site.cycles(data[port], token.value, port) if token.has_value else 0
                context.time = max(context.time, arrival + switch + load)
                context.drop(data[port])
                ends = token.stop >= rank
                last = ends and number == len(arrivals) - 1
                yield from context.send(output, token._replace(stop=end) if last else token)
                if ends:
                    break
    yield from context.send(output, selector)
    for channel in data:
        if not (yield from context.take(channel)).done:
            raise Violation(Fault.LEFTOVER_DATA)
