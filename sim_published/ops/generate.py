"""Generate: like a source; with a reference like a shape operator, a hop behind that."""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.ops.source import process as play
from sim_published.passing import passing
from sim_published.site import Site


def process(site: Site, context: Context) -> Wait:
    """An element a cycle, or as the reference comes."""
    return passing(site, context) if site.inputs else play(site, context)
