"""Fits hardware to a program: lanes of operators, links and memories (docs/fit.md)."""

from __future__ import annotations

from step_explore.fitting.fitting import Fitted, fit

__all__ = ["Fitted", "fit"]
