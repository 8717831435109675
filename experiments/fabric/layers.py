"""Fig. 17: a whole decoder layer, with static tiles and regions that take turns, or both dynamic."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.fabric.points import CACHE_ROWS, MODELS, REGIONS, Point, on_fabric, shared
from step import Program
from step_models import decoder, moe
from step_models.configurations import configuration
from step_models.kv_lengths import measured_kv_lengths
from step_models.routing import measured_routing

BATCH = "b64/conv_stdev0996_4007_4070"
"""Of medium variance, as in the figure; which batch that was is not published."""
ROOM = 6464
"""Rows of a cache."""

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


def layer(name: str, short: str, rows: int | None, shared_by: int | None) -> Point:
    """The measured layer of a model in one of its schedules; with dynamic tiles regions of attention are dynamic."""
    model, lengths = configuration(MODELS[short]), measured_kv_lengths(BATCH)
    routing, heads = measured_routing(f"{short}_b64", model.experts), model.key_value_heads

    def make() -> Program:
        schedule = decoder.Schedule(
            rows=64,
            columns=64,
            expert_rows=rows,
            expert_regions=shared_by,
            cache_rows=CACHE_ROWS,
            regions=REGIONS,
            arrangement="interleaved" if rows else "dynamic",
        )
        return on_fabric(decoder.program(model, lengths, [routing], schedule, room=ROOM, values=False), 4096)

    sequences = shared(len(lengths) * heads, int((lengths // CACHE_ROWS + 1).sum()) * heads)
    symbols = moe.symbols(routing, model.experts, rows=rows, regions=shared_by)
    return Point(f"{short} {name}", make, symbols | sequences)


def layers() -> Iterator[Point]:
    """Both models in every schedule."""
    for short, schedules in SCHEDULES.items():
        for name, (rows, shared_by) in schedules.items():
            yield layer(name, short, rows, shared_by)
