"""Source (SelectGen, MetadataGen): an element a cycle, the first one visible in cycle 1."""

from __future__ import annotations

from collections.abc import Iterable

from sim_published.engine import Context, Wait
from sim_published.site import Site, as_value
from step.language.tokens import Token


def process(site: Site, context: Context) -> Wait:
    """The tokens that were given."""
    return play(site, context, site.given)


def play(site: Site, context: Context, tokens: Iterable[Token]) -> Wait:
    """``tokens``, one a cycle."""
    (output,) = site.outputs
    (stream,) = site.node.output_types
    for token in tokens:
        if token.has_value:
            token = token._replace(value=as_value(token.value, stream.element))
        yield from context.send(output, token)
        context.time += 1
