"""Map (UnaryMap, BinaryMap): reads its operands one after the other while it computes and writes."""

from __future__ import annotations

from sim_published.applying import applying
from sim_published.engine import Context, Wait
from sim_published.site import ContextSite, is_known
from step.ops.map import Map


def process(site: ContextSite, context: Context) -> Wait:
    """Elements side by side."""
    operator = site.node.operator
    assert isinstance(operator, Map)
    function = operator.function
    known = function.apply if is_known(site.node.output_types[0].element) else None
    return applying(site, context, function, function.result_type, known)
