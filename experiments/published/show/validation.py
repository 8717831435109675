"""Claims of Fig. 8: the published simulator against HDL."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import correlation

from experiments.published.show.claim import Claim
from experiments.published.show.results import Results

HDL = {"16x16": 36516, "16x32": 30728, "16x64": 28806, "16x128": 27358, "16x256": 26498, "64x64": 9699}
"""Cycles of the paper's HDL, read off its plot."""


def claims() -> Iterator[Claim]:
    """How cycles go with those of the HDL."""
    yield Claim(
        f"correlation of cycles with those of HDL, {len(HDL)} points of figure 8",
        "0.99",
        _correlation,
        None,
        lambda results: (
            "Tiles of 256 columns are 4 % too slow, those of 16 columns 9 % too fast: an operator loads or computes."
        ),
    )


def _correlation(results: Results) -> str:
    return f"{correlation([results.number('8', point) for point in HDL], list(HDL.values())):.3f}"
