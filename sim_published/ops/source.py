"""Source (SelectGen, MetadataGen): an element a cycle, the first one visible in cycle 1."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import Site, as_value


def process(site: Site, context: Context) -> Wait:
    """The tokens that were given."""
    (output,) = site.outputs
    (stream,) = site.node.output_types
    for token in site.given:
        if token.has_value:
            token = token._replace(value=as_value(token.value, stream.element))
        yield from context.send(output, token)
        context.time += 1
