"""LinearOffChipLoad (OffChipLoad, DynOffChipLoad): tile after tile, each on request of the one before."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.off_chip import access
from sim_published.site import ContextSite, TileSize
from step.language.tokens import DONE, Token, empty
from step.ops.linear_off_chip_load import LinearOffChipLoad


def process(site: ContextSite, context: Context) -> Wait:
    """A read, or one per element of the reference."""
    operator, node = site.node.operator, site.node
    assert isinstance(operator, LinearOffChipLoad)
    (output,) = site.outputs
    tile = TileSize.full(operator.tile)
    element, depth = node.output_types[0].element, len(operator.out)
    levels = operator.indices.stops
    if output is None:
        raise site.refuse("no load that nobody reads")
    while True:
        reference = (yield from context.take(site.inputs[0])) if site.inputs else Token(None)
        if reference.has_value:
            for level in levels:
                yield from access(site, context, tile, element)
                stop = level + reference.stop if level == depth else level
                yield from context.send(output, Token(tile, stop))
        elif not reference.done:
            yield from context.send(output, empty(reference.rank + depth, reference.stop + depth))
        if reference.done or not site.inputs:
            yield from context.send(output, DONE)
            return
