"""Promote: the last element shows only with what follows it; no cycles of its own."""

from __future__ import annotations

from sim_published.passing import passing as process

__all__ = ["process"]

PASSES = True
"""What it passes on is where it was."""

IS_DIMENSION = True
"""It adds one around all."""
