"""Source: an element a cycle.

SelectGen goes on a cycle with every selector. MetadataGen stamps its elements with the times 0, 1, 2, .. and goes on
only where it waits for a slot: so its first two elements are visible in cycle 1, and after a wait it has caught up.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite, as_value
from step.language.tokens import Token
from step.language.types import Selector


def process(site: ContextSite, context: Context) -> Wait:
    """The tokens that were given."""
    return play(site, context, site.given)


def play(site: ContextSite, context: Context, tokens: Iterable[Token]) -> Wait:
    """``tokens``, one a cycle."""
    (output,) = site.outputs
    (stream,) = site.node.output_types
    apart = int(isinstance(stream.element, Selector))
    for number, token in enumerate(tokens):
        if token.has_value:
            token = token._replace(value=as_value(token.value, stream.element))
        yield from context.send(output, token, 0 if apart else number)
        context.time += apart
