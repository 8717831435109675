"""The points of Fig. 17, whole decoder layers, and of attention as models have it: programs of `step_models`.

The artifact has neither a graph nor a script for Fig. 17, and the paper says little of its layers. These are one layer
of each model, with norms and projections, all KV heads with their true size, scaled and with an online softmax; the
routing is the measured one, and the caches those of a batch of medium variance. Layers follow each other, so the
speedup of one is that of all with such routings. Operators have 4096 operations a cycle in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.published import attention as artifact
from experiments.published.batches import as_if_alone, batches, tiles
from experiments.published.point import Point
from sim_published.profile import Profile
from step import Graph, Program
from step_models import attention, decoder, moe
from step_models.configurations import configuration
from step_models.kv_lengths import measured_kv_lengths
from step_models.routing import measured_routing

TRACE = "b64/conv_stdev0996_4007_4070"
ROOM = 6464
"""Rows of a cache."""
SIZE = 128
"""Columns of the heads of models."""

PROFILE = Profile(channel_depth=2, honour_depths=True, flops=4096)
TRUE_ATTENTION = Profile(channel_depth=1, honour_depths=True, flops=artifact.PROFILE.flops)
SCHEDULES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mixtral memory-matched": ("Mixtral-8x7B", "mixtral_b64", {"expert_rows": 16, "arrangement": "interleaved"}),
    "mixtral performance-matched": ("Mixtral-8x7B", "mixtral_b64", {"expert_rows": 32, "arrangement": "interleaved"}),
    "mixtral dynamic": ("Mixtral-8x7B", "mixtral_b64", {"expert_rows": None, "arrangement": "dynamic"}),
    "qwen memory-matched": ("Qwen3-30B-A3B", "qwen_b64", {"expert_rows": 8, "arrangement": "interleaved"}),
    "qwen performance-matched": ("Qwen3-30B-A3B", "qwen_b64", {"expert_rows": 64, "arrangement": "interleaved"}),
    "qwen dynamic": ("Qwen3-30B-A3B", "qwen_b64", {"expert_rows": None, "arrangement": "dynamic"}),
    "qwen dynamic on 32 regions": (
        "Qwen3-30B-A3B",
        "qwen_b64",
        {"expert_rows": None, "expert_regions": 32, "arrangement": "dynamic"},
    ),
}


def layers() -> Iterator[Point]:
    """Fig. 17: static tiles and requests by turns against dynamic tiles and regions that take work when free."""
    lengths = measured_kv_lengths(TRACE)
    for name, (model, trace, schedule) in SCHEDULES.items():
        sizes = configuration(model)
        routing = measured_routing(trace, sizes.experts)

        def make(
            sizes: Any = sizes, routing: np.ndarray = routing, schedule: dict[str, Any] = schedule
        ) -> tuple[Graph, dict[str, Any]]:
            layout = decoder.Schedule(
                rows=64, columns=64, cache_rows=artifact.ROWS, regions=artifact.REGIONS, **schedule
            )
            return _parts(decoder.program(sizes, lengths, [routing], layout, room=ROOM, values=False))

        shared = {"rows": schedule["expert_rows"], "regions": schedule.get("expert_regions")}
        symbols = moe.symbols(routing, sizes.experts, **shared) | _symbols(lengths, sizes.key_value_heads)
        yield Point(name, PROFILE, make, symbols=symbols, skips=True)


def true_attention() -> Iterator[Point]:
    """The batches of Figs. 14, 15 and 21 with attention as models have it."""
    for name, lengths, room in batches():
        symbols = _symbols(lengths, 1)
        for arrangement in artifact.ARRANGEMENTS:

            def make(
                lengths: np.ndarray = lengths, room: int = room, arrangement: Any = arrangement
            ) -> tuple[Graph, dict[str, Any]]:
                return _parts(
                    attention.program(
                        lengths,
                        arrangement=arrangement,
                        regions=artifact.REGIONS,
                        heads=1,
                        group=artifact.GROUP,
                        size=SIZE,
                        rows=artifact.ROWS,
                        room=room * artifact.ROWS,
                        block=artifact.COARSE if arrangement == "coarse" else None,
                        values=False,
                    )
                )

            yield Point(f"{name} {arrangement}", TRUE_ATTENTION, make, symbols=symbols)


def _symbols(lengths: np.ndarray, heads: int) -> dict[str, int]:
    """What the symbols of attention stand for."""
    count = heads * len(lengths)
    parts = {f"{name}parts_D{{}}": count for name in ("", "parallel_")}
    return as_if_alone({**parts, "region{}_address_pieces": heads * tiles(lengths)})


def _parts(program: Program) -> tuple[Graph, dict[str, Any]]:
    return program.graph, dict(program.inputs)
