"""Generate: like a source; with a reference like a shape operator, a hop behind that."""

from __future__ import annotations

from collections import deque

from sim_published.engine import Context, Wait
from sim_published.ops.source import play
from sim_published.passing import Around, passing
from sim_published.site import ContextSite
from step.language.graph import Node
from step.language.types import Selector
from step.ops.generate import Generate


def process(site: ContextSite, context: Context) -> Wait:
    """An element a cycle, or as the reference comes."""
    if site.inputs:
        return passing(site, context)
    around = Around([], ())
    deque(site.node.operator.process(site.node, around), maxlen=0)
    return play(site, context, [token for _, token in around.emitted])


def makes_turns(node: Node) -> bool:
    """Selectors with one target after the other, made by itself: the artifact's Parallelize has no stream for them."""
    operator = node.operator
    assert isinstance(operator, Generate)
    if node.inputs or operator.before or operator.behind or not isinstance(operator.element, Selector):
        return False
    return operator.values == tuple(1 << target for target in range(operator.element.targets))
