"""Plots of runs and sweeps, one call each: axes of matplotlib, which notebooks show (docs/plots.md)."""

from __future__ import annotations

from step.host.lazy import exports

# What there is stands in the stub, and is imported when it is first used: names of plots need little of it.
__getattr__, __dir__, __all__ = exports(__name__, __file__)
