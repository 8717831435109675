"""Until: the published simulator has no stream that ends where its data says."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import ContextSite


def process(site: ContextSite, context: Context) -> Wait:
    """Refused."""
    raise site.refuse("no stream that ends where data says so")
