"""FlatMap (RetileStreamify, CacheReadAddrGen, ExpertAddrGen): the pieces of an element, stamped t, t + 1, .. or all t.

Local time does not go on with them.
"""

from __future__ import annotations

from typing import Any

from sim_published.engine import Context, Wait
from sim_published.functions import kept, spacing
from sim_published.site import ContextSite, TileSize, concrete, is_known
from step.language.faults import aligned
from step.language.tokens import Token, empty
from step.language.types import Tile
from step.ops.flat_map import FlatMap


def process(site: ContextSite, context: Context) -> Wait:
    """The pieces of elements one by one."""
    operator, node = site.node.operator, site.node
    assert isinstance(operator, FlatMap)
    function, rank = operator.function, operator.function.rank
    elements = [each.element for each in node.input_types]
    apart = spacing(function)
    output = site.outputs[0]
    decided = is_known(node.output_types[0].element)

    def split(values: list[Any]) -> list[Token]:
        """Pieces of a tile, by the types alone."""
        types = [concrete(value, element) for value, element in zip(values, elements, strict=True)]
        piece = function.result_type(*types)
        assert isinstance(piece, Tile)
        shape = [int(each) for each in function.result_shape(*types)]
        size = TileSize.of(piece)
        count = kept(function, shape[-1], values[0])
        return [Token(size, min(len(shape) - 1, int(n == count - 1))) for n in range(count)]

    while True:
        tokens = []
        for channel in site.inputs:  # one after the other: the first has its slot back before the second comes
            tokens.append((yield from context.take(channel)))
        token = aligned(*tokens)
        start = context.time
        made = [token]
        if token.has_value:
            values = [each.value for each in tokens]
            made = list(function.expand(*values)) if decided else split(values)
            if not made:
                raise site.refuse("no element that becomes nothing")
            made[-1] = made[-1]._replace(stop=token.stop + rank)
        elif token.is_empty:
            made = [empty(token.rank + rank, token.stop + rank)]
        for number, each in enumerate(made):
            yield from context.send(output, each, start + number * apart)
        if token.done:
            return
