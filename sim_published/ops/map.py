"""Map (UnaryMap, BinaryMap): reads its operands one after the other while it computes and writes; no pipelining.

``t += max(sum of loads, operations / rate, store)``; then the result is sent, then the operands are dequeued, so the
element in hand still has its slot.
"""

from __future__ import annotations

from typing import Any

from sim_published.engine import Context, Wait
from sim_published.functions import cycles
from sim_published.site import Site, Size, as_value, concrete, is_known
from step.language.faults import aligned
from step.language.tokens import Token
from step.language.types import Tile
from step.ops.map import Map


def process(site: Site, context: Context) -> Wait:
    """Elements side by side."""
    operator, node = site.node.operator, site.node
    assert isinstance(operator, Map)
    function = operator.function
    elements = [each.element for each in node.input_types]
    result = node.output_types[0].element
    known: dict[Any, tuple[int, Any]] = {}
    rate = site.profile.flops_at(node.name)
    output = site.outputs[0]

    def costs(values: tuple[Any, ...]) -> tuple[int, Any]:
        types = [concrete(value, element) for value, element in zip(values, elements, strict=True)]
        made = function.result_type(*types)
        first = values[0].valid if isinstance(values[0], Size) else None
        size = Size.of(made, first) if isinstance(made, Tile) else None
        loads = sum(site.cycles(c, v, port) for port, (c, v) in enumerate(zip(site.inputs, values, strict=True)))
        store = site.transfer(size, result) if site.writes_back else 0
        return max(loads, cycles(function, int(function.flops(*types)), rate), store), size

    while True:
        tokens = []
        for channel in site.inputs:
            tokens.append((yield from context.head(channel)))
        token = aligned(*tokens)
        if token.has_value:
            values = tuple(each.value for each in tokens)
            key = tuple(value if isinstance(value, Size) else None for value in values)
            found = known.get(key)
            if found is None:
                found = known[key] = costs(values)
            context.time += found[0]
            value = as_value(function.apply(*values), result) if is_known(result) else found[1]
            token = Token(value, token.stop)
        yield from context.send(output, token)
        for channel in site.inputs:
            context.drop(channel)
        if token.done:
            return
