"""RandomOffChipLoad: the tile at each address, one at a time."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.off_chip import access
from sim_published.site import ContextSite, TileSize
from step.ops.random_off_chip_load import RandomOffChipLoad


def process(site: ContextSite, context: Context) -> Wait:
    """A tile per address; which one does not matter."""
    operator = site.node.operator
    assert isinstance(operator, RandomOffChipLoad)
    (channel,), (output,) = site.inputs, site.outputs
    tile = TileSize.full(operator.tile)
    element = site.node.output_types[0].element
    while True:
        token = yield from context.take(channel)
        if token.has_value:
            yield from access(site, context, tile, element)
            token = token._replace(value=tile)
        yield from context.send(output, token)
        if token.done:
            return
