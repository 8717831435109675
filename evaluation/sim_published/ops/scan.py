"""Scan, which the artifact does not have: an element at a time, as a Map that has its state at hand."""

from __future__ import annotations

from functools import partial

from sim_published.applying import applying
from sim_published.engine import Context, Wait
from sim_published.site import ContextSite
from step.ops.scan import Scan


def process(site: ContextSite, context: Context) -> Wait:
    """States, one for each element."""
    operator = site.node.operator
    assert isinstance(operator, Scan)
    function = operator.function
    return applying(site, context, function, partial(function.state_type, ()))
