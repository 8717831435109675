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


def layer(model: Configuration, trace: str, rows: int | None) -> Point:
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
    symbols = moe.symbols(routing, model.experts) | sequences
    short = trace.partition("_")[0]
    return Point(f"{short} {rows or 'dynamic'}", make, symbols)


def layers() -> Iterator[Point]:
    """Of both models: static tiles that need as much memory as dynamic ones, those that are as fast, dynamic ones."""
    for short, heights in (("mixtral", (16, 32, None)), ("qwen", (8, 64, None))):
        for rows in heights:
            yield layer(configuration(MODELS[short]), f"{short}_b64", rows)
