"""Batches by the variance of their lengths, as Figs. 14 and 21 have them: three of low, medium and high variance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from step_models.configurations import DATA

VARIANCES = ("low", "medium", "high")
ALL = 0.0995e4
"""Standard deviation of the lengths of the whole trace, to which that of a medium batch is the nearest."""


def picked(batches: Iterable[str], variance: str) -> list[str]:
    """The three batches of a ``variance``: those with the least, or largest, deviation, or that nearest to ``ALL``."""
    ordered = sorted(batches, key=_deviation)
    if variance == "medium":
        return sorted(sorted(ordered, key=lambda each: abs(_deviation(each) - ALL))[:3], key=_deviation)
    return ordered[:3] if variance == "low" else ordered[-3:]


def means(cycles: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Cycles over those of dynamic regions, as the geometric mean of three batches, by size and variance."""
    found = {}
    for folder in sorted((DATA / "kv_lengths").iterdir(), key=lambda each: int(each.name[1:])):
        own = [path.stem for path in folder.glob("*.npy")]
        for variance in reversed(VARIANCES):
            batches = picked(own, variance)
            if all(len(cycles.get(batch, ())) == 3 for batch in batches):
                ratios = {
                    kind: prod(cycles[batch][kind] / cycles[batch]["dynamic"] for batch in batches) ** (1 / 3)
                    for kind in cycles[batches[0]]
                }
                found[f"{folder.name[1:]} requests, {variance}"] = ratios
    return found


def _deviation(batch: str) -> float:
    """Of the lengths, as the name of the batch has it."""
    return float(batch.removeprefix("conv_stdev").split("_")[0])
