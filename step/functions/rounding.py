"""Numbers without a fraction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import numpy as np

from step.language.scalars import Rounded
from step.language.types import Tile

Direction = Literal["nearest", "floor", "ceil", "trunc"]

ROUNDINGS: Mapping[Direction, Callable[[np.ndarray], np.ndarray]] = {
    "nearest": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}


@dataclass(frozen=True)
class Round(Rounded):
    """Every scalar of a BF16 or FP32 tile ``[rows, cols]`` without its fraction.

    ``out``: BF16 or FP32, by default the format of the tile.
    ``direction``: "nearest", ties to even; "floor", down; "ceil", up; "trunc", towards zero.

    1 FLOP per scalar. The sign stays, of zeros, too.

    >>> graph = Graph()
    >>> graph.source("x", Tile(FP32), [3]).map(Round(direction="floor")).sink("y")
    >>> step.run(graph, "interpret", inputs={"x": [-0.5, 1.5, 1e9]}).outputs["y"].numpy().ravel().tolist()
    [-1.0, 1.0, 1000000000.0]
    """

    direction: Direction = "nearest"

    @classmethod
    def sample_parameters(cls, random: Random, tile: Tile) -> dict[str, Any]:
        return {"direction": random.choice([*ROUNDINGS])}

    def combine(self, value: np.ndarray) -> np.ndarray:
        return ROUNDINGS[self.direction](value)
