"""Balance of the requests of a batch over regions, whatever the fabric."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.fabric.schedulers import assigned, tiles_of
from experiments.layers import REGIONS
from experiments.published.show.parallelization import speedups
from experiments.published.show.results import FigureRows
from step_models.configurations import DATA
from step_models.kv_lengths import measured_kv_lengths


def most_tiles(lengths: np.ndarray) -> tuple[int, int]:
    """Tiles of the region that gets most: by turns, and if each request goes to the region with the fewest so far."""
    tiles = tiles_of(lengths)
    fewest = np.bincount(assigned(lengths, range(len(lengths))), tiles)
    return max(int(tiles[first::REGIONS].sum()) for first in range(REGIONS)), int(fewest.max())


def gains(results: Path, timing: str) -> Iterator[tuple[float, float]]:
    """Two gains of each batch of Figs. 14 and 21: most tiles by turns over those otherwise, and cycles by turns over
    those of dynamic regions on ``timing``, ``"published"`` or ``"fabric"``."""
    found = speedups(FigureRows(results, timing), ("14", "21"), "interleaved")
    for path in sorted((DATA / "kv_lengths").glob("*/*.npy")):
        if path.stem in found:
            turns, fewest = most_tiles(measured_kv_lengths(f"{path.parent.name}/{path.stem}"))
            yield turns / fewest, found[path.stem]
