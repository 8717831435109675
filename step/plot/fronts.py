"""The plot of a sweep, which draws itself."""

from step.sweeps.plot import front

__all__ = ["front"]
