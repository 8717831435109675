"""Means of factors, and how far they may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, geometric_mean, stdev

CONFIDENCE = 0.95


def interval(factors: Sequence[float]) -> tuple[float, float]:
    """Interval of the geometric mean of the population, with `CONFIDENCE`, if ``factors`` are a sample of it.

    Of two or more; their logarithms are taken as normal, so with few of them the interval is too narrow.
    """
    logs = [math.log(each) for each in factors]
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def told(factors: Sequence[float], form: str = ".2f") -> str:
    """The geometric mean with its interval, as 1.13 (1.08 to 1.18)."""
    least, most = (format(each, form) for each in interval(factors))
    return f"{geometric_mean(factors):{form}} ({least} to {most})"
