"""Reshape: counts elements, and pads what is left open with tiles that are all padding; no cycles of its own.

Where a Promote adds a dimension around its chunks (``add_outer_dim``), the two are one context of the artifact: the
last element of a chunk waits until the next element shows, or the end of the stream, and so does the local time.
"""

from __future__ import annotations

import numpy as np

from sim_published.engine import Context, Wait
from sim_published.passing import passing
from sim_published.site import ContextSite, TileSize, is_known
from step.language.graph import Node
from step.language.tokens import Token
from step.language.types import Tile
from step.ops.reshape import Reshape

PASSES = True
"""What it passes on is where it was."""


def process(site: ContextSite, context: Context) -> Wait:
    """Elements in chunks."""
    if site.promoted:
        return _promoted(site, context)
    known = is_known(site.node.output_types[0].element)
    return passing(site, context, None if known else as_padding)


def as_padding(token: Token) -> Token:
    """An array that is not a flag is what the operator pads with."""
    value = token.value
    if isinstance(value, np.ndarray) and value.dtype != np.bool_:
        rows, cols = value.shape
        return token._replace(value=TileSize(rows, cols, 0))
    return token


def _promoted(site: ContextSite, context: Context) -> Wait:
    operator, element = site.node.operator, site.node.input_types[0].element
    assert isinstance(operator, Reshape) and isinstance(element, Tile)
    (channel,), output = site.inputs, site.outputs[0]
    count = 0
    while not (token := (yield from context.head(channel))).done:
        context.drop(channel)
        count = (count + 1) % operator.chunk
        stop = 0
        if count == 0:
            stop = 2 if (yield from context.head(channel)).done else 1
            context.follow(channel)
        yield from context.send(output, Token(token.value, stop))
    context.follow(channel)
    padding = TileSize.of(element, 0)
    while count:
        count = (count + 1) % operator.chunk
        yield from context.send(output, Token(padding, 0 if count else 2))
    yield from context.send(output, token)


def adds_dimension(node: Node) -> bool:
    """Around chunks of tiles of a stream of rank 0."""
    stream = node.input_types[0]
    return stream.rank == 0 and not is_known(stream.element)


def makes_room(node: Node) -> bool:
    """Chunks of one, in which elements are repeated."""
    operator = node.operator
    return isinstance(operator, Reshape) and (operator.chunk, operator.rank) == (1, 0)
