"""Energy of the mixtures of the evaluation: static tiles of several heights, and tiles of dynamic rows.

    python -m benchmarks.energy

Full size, batch 64, the programs of figure 9 (`experiments.fabric.tiling`), from the metrics in closed form: no run.
Millijoules by published figures (docs/energy.md).
"""

from __future__ import annotations

from experiments.fabric.tiling import tiling
from step import metrics
from step.programs.energy.model import PARTS

MILLIJOULE = 1e9
"""Picojoules."""


def main() -> None:
    """Print a row for each point."""
    heads = ["mixture, rows of a tile", *(name.replace("_", " ") for name in PARTS), "all"]
    print(f"| {' | '.join(heads)} |\n|---{'|---:' * (len(heads) - 1)}|", flush=True)
    for point in tiling():
        found = metrics(point.make()).bind(point.symbols).energy
        numbers = [*found.parts.values(), found.total]
        print(f"| {point.name} | {' | '.join(f'{float(each) / MILLIJOULE:.3g}' for each in numbers)} |", flush=True)


if __name__ == "__main__":
    main()
