"""The layers of Fig. 17 on both timings: whole decoder layers of both models, with the measured routing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from step import Program
from step_models import decoder, moe
from step_models.configurations import Configuration, configuration
from step_models.kv_lengths import measured_kv_lengths
from step_models.routing import measured_routing

TRACE = "b64/conv_stdev0996_4007_4070"
"""Of medium variance, as in the figure; which batch that was is not published."""
ROOM = 6464
"""Rows of a cache."""
CACHE_ROWS = 32
"""Of a tile of keys or values."""
REGIONS = 4
"""Of attention."""
MODELS = {"mixtral": "Mixtral-8x7B", "qwen": "Qwen3-30B-A3B"}
SCHEDULES: dict[str, dict[str, tuple[int | None, int | None]]] = {
    "mixtral": {"memory-matched": (16, None), "performance-matched": (32, None), "dynamic": (None, None)},
    "qwen": {
        "memory-matched": (8, None),
        "performance-matched": (64, None),
        "dynamic": (None, None),
        "dynamic on 32 regions": (None, 32),
    },
}
"""Rows of a tile of experts, and the regions that these share: static tiles that need as much memory as dynamic ones,
those that are as fast, and dynamic ones."""


@dataclass(frozen=True)
class MeasuredLayer:
    """The layer of a model with the measured routing; ``rows`` and ``regions`` are those of `SCHEDULES`.

    With dynamic tiles regions of attention are dynamic.
    """

    name: str
    model: Configuration
    routing: np.ndarray
    rows: int | None
    regions: int | None

    @property
    def lengths(self) -> np.ndarray:
        """Rows of the caches."""
        return measured_kv_lengths(TRACE)

    @property
    def symbols(self) -> dict[str, int]:
        """Symbols of the mixture."""
        return moe.symbols(self.routing, self.model.experts, rows=self.rows, regions=self.regions)

    def program(self) -> Program:
        """Without values."""
        schedule = decoder.Schedule(
            rows=64,
            columns=64,
            expert_rows=self.rows,
            expert_regions=self.regions,
            cache_rows=CACHE_ROWS,
            regions=REGIONS,
            arrangement="interleaved" if self.rows else "dynamic",
        )
        return decoder.program(self.model, self.lengths, [self.routing], schedule, room=ROOM, values=False)


def of_models() -> Iterator[MeasuredLayer]:
    """Both models in every schedule."""
    for short, schedules in SCHEDULES.items():
        model = configuration(MODELS[short])
        routing = measured_routing(f"{short}_b64", model.experts)
        for name, (rows, regions) in schedules.items():
            yield MeasuredLayer(f"{short} {name}", model, routing, rows, regions)
