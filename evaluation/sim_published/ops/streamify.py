"""Streamify (Streamify, DynStreamify): a cycle for every element that leaves, whatever its size.

The artifact's nested repeats are a single loop, which is a bug in it that no figure depends on; here they are nested.
"""

from __future__ import annotations

from sim_published.engine import Context, Wait
from sim_published.passing import passing
from sim_published.site import ContextSite


def process(site: ContextSite, context: Context) -> Wait:
    """Buffers, read again and again."""
    return passing(site, context, apart=1)
