"""Accum, of several streams BinaryMapAccum: an element at a time.

``t += max(sum of loads, operations / rate, store when it emits)``. The store is that of the state after it was begun
anew: for tiles that are joined that is empty, so it takes nothing.
"""

from __future__ import annotations

from typing import Any

from sim_published.engine import Context, Wait
from sim_published.functions import cycles
from sim_published.site import ContextSite, TileSize, concrete
from step.functions.retile import RetileCol, RetileRow
from step.language.dims import dim
from step.language.faults import aligned
from step.language.tokens import Token, empty
from step.language.types import Tile
from step.ops.accum import Accum


def process(site: ContextSite, context: Context) -> Wait:
    """Reductions one after the other."""
    operator, node = site.node.operator, site.node
    assert isinstance(operator, Accum)
    function, rank = operator.function, operator.rank
    elements = [each.element for each in node.input_types]
    state = node.output_types[0].element
    known: dict[Any, int] = {}
    results: dict[Any, Any] = {}
    rate = site.profile.flops_at(node.name)
    output = site.outputs[0]
    joins = isinstance(function, RetileRow | RetileCol)

    def load_and_compute(values: tuple[Any, ...]) -> int:
        types = [concrete(value, element) for value, element in zip(values, elements, strict=True)]
        loads = sum(site.cycles(c, v, port) for port, (c, v) in enumerate(zip(site.inputs, values, strict=True)))
        return max(loads, cycles(function, int(function.flops(*types)), rate))

    def result(count: int, values: tuple[Any, ...], valid: int | None) -> Any:
        if not isinstance(state, Tile):
            return None
        types = [concrete(value, element) for value, element in zip(values, elements, strict=True)]
        made = function.state_type((dim(count),), *types)
        assert isinstance(made, Tile)
        return TileSize.of(made, valid)

    count, values, valid = 0, tuple[Any, ...](), 0
    while True:
        tokens = yield from context.heads(site.inputs)
        token = aligned(*tokens)
        if token.done or token.rank > rank:
            rest = token if token.done else empty(token.rank - rank, token.stop - rank)
            yield from context.send(output, rest)
            for channel in site.inputs:
                context.drop(channel)
            if token.done:
                return
            continue
        spent = 0
        if token.has_value:
            values = tuple(each.value for each in tokens)
            count += 1
            rows = values[0].valid if isinstance(values[0], TileSize) else 1
            valid = valid + rows if joins else rows
            if values not in known:
                known[values] = load_and_compute(values)
            spent = known[values]
        ends = token.stop >= rank
        made = None
        if ends:
            if not values:
                raise site.refuse("no reduction of nothing")
            key = (count, values, valid)
            if key not in results:
                results[key] = result(*key)
            made = results[key]
            if site.writes_back and not joins:
                spent = max(spent, site.transfer(made, state))
        context.time += spent
        for channel in site.inputs:
            context.drop(channel)
        if ends:
            yield from context.send(output, Token(made, token.stop - rank))
            count, values, valid = 0, (), 0


COMPUTES = True
"""Its on-chip memory is the state."""
