"""Operators that apply a function to one element after the other, without any pipelining.

``t += max(sum of loads, operations / rate, store)``; then the result is sent, then the operands are dequeued, so the
element in hand still has its slot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_published.engine import Context, Wait
from sim_published.functions import cycles
from sim_published.site import ContextSite, TileSize, as_value, concrete
from step.language.faults import aligned
from step.language.function import Function
from step.language.tokens import Token
from step.language.types import ElementType, Tile


def applying(
    site: ContextSite,
    context: Context,
    function: Function,
    made_of: Callable[..., ElementType],
    known: Callable[..., Any] | None = None,
) -> Wait:
    """Elements side by side.

    ``made_of`` gives the type of a result from those of its operands, and ``known`` its value, where a run knows it.
    """
    elements = [each.element for each in site.node.input_types]
    result = site.node.output_types[0].element
    rate = site.profile.flops_at(site.node.name)
    output = site.outputs[0]
    costs_of: dict[Any, tuple[int, Any]] = {}

    def costs(values: tuple[Any, ...]) -> tuple[int, Any]:
        types = [concrete(value, element) for value, element in zip(values, elements, strict=True)]
        made = made_of(*types)
        valid = values[0].valid if isinstance(values[0], TileSize) else None
        size = TileSize.of(made, valid) if isinstance(made, Tile) else None
        loads = sum(site.cycles(c, v, port) for port, (c, v) in enumerate(zip(site.inputs, values, strict=True)))
        store = site.transfer(size, result) if site.writes_back else 0
        return max(loads, cycles(function, int(function.flops(*types)), rate), store), size

    while True:
        tokens = yield from context.heads(site.inputs)
        token = aligned(*tokens)
        if token.has_value:
            values = tuple(each.value for each in tokens)
            key = tuple(value if isinstance(value, TileSize) else None for value in values)
            if key not in costs_of:
                costs_of[key] = costs(values)
            spent, size = costs_of[key]
            context.time += spent
            token = Token(size if known is None else as_value(known(*values), result), token.stop)
        yield from context.send(output, token)
        for channel in site.inputs:
            context.drop(channel)
        if token.done:
            return
