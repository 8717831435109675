"""Until: the published simulator has no stream that ends where its data says."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.site import Site


def process(site: Site, context: Context) -> Wait:
    """Refused."""
    raise site.refuse("no stream that ends where data says so")
