"""Scan, which the artifact does not have: an element at a time, as an Accum that shows its state with every one.

``t += max(sum of loads, operations / rate, store)``.
"""

from __future__ import annotations

from typing import Any

from sim_published.engine import Context, Wait
from sim_published.functions import cycles
from sim_published.site import Site, Size, concrete
from step.language.faults import aligned
from step.language.tokens import Token
from step.language.types import Tile
from step.ops.scan import Scan


def process(site: Site, context: Context) -> Wait:
    """States, one for each element."""
    operator, node = site.node.operator, site.node
    assert isinstance(operator, Scan)
    function = operator.function
    elements = [each.element for each in node.input_types]
    (state,) = (each.element for each in node.output_types)
    rate = site.profile.flops_at(node.name)
    (output,) = site.outputs
    known: dict[Any, tuple[int, Any]] = {}

    def costs(values: tuple[Any, ...]) -> tuple[int, Any]:
        types = [concrete(value, element) for value, element in zip(values, elements, strict=True)]
        made = function.state_type((), *types)
        size = Size.of(made) if isinstance(made, Tile) else None
        loads = sum(site.cycles(c, v, port) for port, (c, v) in enumerate(zip(site.inputs, values, strict=True)))
        store = site.transfer(size, state) if site.writes_back else 0
        return max(loads, cycles(function, int(function.flops(*types)), rate), store), size

    while True:
        tokens = []
        for channel in site.inputs:
            tokens.append((yield from context.head(channel)))
        token = aligned(*tokens)
        if token.has_value:
            values = tuple(each.value for each in tokens)
            if values not in known:
                known[values] = costs(values)
            spent, size = known[values]
            context.time += spent
            token = Token(size, token.stop)
        yield from context.send(output, token)
        for channel in site.inputs:
            context.drop(channel)
        if token.done:
            return
