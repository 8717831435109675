"""Fig. 17: a whole decoder layer, with static tiles and regions that take turns, or both dynamic."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.fabric.points import CACHE_ROWS, MODELS, REGIONS, Point, on_fabric, shared
from step import Program
from step_models import decoder, moe
from step_models.configurations import Configuration, configuration
from step_models.kv_lengths import measured_kv_lengths
from step_models.routing import measured_routing

BATCH = "b64/conv_stdev0996_4007_4070"
"""Of medium variance, as in the figure; which batch that was is not published."""
ROOM = 6464
"""Rows of a cache."""


SCHEDULES = (
    ("mixtral", {"memory-matched": 16, "performance-matched": 32, "dynamic": None}),
    ("qwen", {"memory-matched": 8, "performance-matched": 64, "dynamic": None}),
)
"""Rows of a tile of experts: static ones that need as much memory as dynamic ones, those that are as fast, dynamic."""


def layer(name: str, model: Configuration, trace: str, rows: int | None) -> Point:
    """The measured layer of a model: tiles of ``rows`` rows and turns, or dynamic tiles and dynamic regions (None)."""
    routing, lengths = measured_routing(trace, model.experts), measured_kv_lengths(BATCH)
    heads = model.key_value_heads

    def make() -> Program:
        schedule = decoder.Schedule(
            rows=64,
            columns=64,
            expert_rows=rows,
            cache_rows=CACHE_ROWS,
            regions=REGIONS,
            arrangement="interleaved" if rows else "dynamic",
        )
        return on_fabric(decoder.program(model, lengths, [routing], schedule, room=ROOM, values=False), 4096)

    sequences = shared(len(lengths) * heads, int((lengths // CACHE_ROWS + 1).sum()) * heads)
    return Point(name, make, moe.symbols(routing, model.experts) | sequences)


def layers() -> Iterator[Point]:
    """Both models in every schedule."""
    for short, heights in SCHEDULES:
        for name, rows in heights.items():
            yield layer(f"{short} {name}", configuration(MODELS[short]), f"{short}_b64", rows)
