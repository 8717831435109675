"""The points of the figures: the workload of each, on a fabric with the compute and memory of the published evaluation.

Points are called as those of `experiments.published`, whose results stand beside ours. Workloads are those of
`step_models` at full size, without values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from step import Program
from step_models import attention, moe
from step_models.configurations import DATA, Configuration, configuration
from step_models.fabrics import PUBLISHED, fitting
from step_models.kv_lengths import measured_kv_lengths
from step_models.routing import measured_routing

MODELS = {"mixtral": "Mixtral-8x7B", "qwen": "Qwen3-30B-A3B"}
COARSE = 16
"""Requests that a region gets at once in the coarse arrangement."""
CACHE_ROWS = 32
"""Of a tile of keys or values."""


@dataclass(frozen=True)
class Point:
    """``make`` builds the program. ``symbols`` are what its metrics depend on; None where these are known only from a
    run with all values."""

    name: str
    make: Callable[[], Program]
    symbols: dict[str, int] | None = None


def on_fabric(program: Program, flops: int) -> Program:
    """``program`` on a fabric of ``flops`` operations a cycle and unit: a multiply-accumulate counts as two.

    Additions take one cycle: a deeper one holds up a matmul whose result has no more scalars than there are lanes, as
    most have here, so that it would have a fraction of these operations. All else is `step_models.fabrics.PUBLISHED`,
    with room for the program's tiles.
    """
    fabric = replace(PUBLISHED, matmul_lanes=flops // 2, vector_lanes=flops // 2, stages=1)
    return Program(program.graph, program.inputs, fitting(program.graph, fabric))


def mixture(
    name: str,
    model: Configuration,
    routing: np.ndarray,
    *,
    rows: int | None,
    columns: int,
    flops: int,
    regions: int | None = None,
) -> Point:
    """A mixture of experts in tiles of ``rows`` rows, or of dynamic size (None)."""

    def make() -> Program:
        program = moe.program(
            routing,
            experts=model.experts,
            hidden=model.hidden,
            inner=model.inner,
            rows=rows,
            columns=columns,
            regions=regions,
            values=False,
        )
        return on_fabric(program, flops)

    return Point(name, make, moe.symbols(routing, model.experts) if regions is None else None)


def attentions(name: str, lengths: np.ndarray, room: int, size: int = 64) -> Iterator[Point]:
    """One KV head of Qwen3 in each arrangement on four regions, as the artifact has it: heads of 64 columns, and
    weights that are neither scaled nor relative to a maximum. ``room``: rows of a cache."""

    def make(**arrangement: Any) -> Program:
        program = attention.program(
            lengths,
            regions=4,
            heads=1,
            group=8,
            size=size,
            rows=CACHE_ROWS,
            room=room,
            online=False,
            scaled=False,
            values=False,
            **arrangement,
        )
        return on_fabric(program, 2048)

    yield Point(f"{name} coarse", partial(make, arrangement="coarse", block=COARSE))
    for arrangement in ("interleaved", "dynamic"):
        yield Point(f"{name} {arrangement}", partial(make, arrangement=arrangement))


def _tilings(models: tuple[str, ...], batch: int, heights: tuple[int, ...]) -> Iterator[Point]:
    """Static tiles of all heights, then dynamic ones, with the same compute: 4096 operations a cycle."""
    for short in models:
        model = configuration(MODELS[short])
        routing = measured_routing(f"{short}_b{batch}", model.experts)
        for rows in (*heights, None):
            yield mixture(f"{short} {rows or 'dynamic'}", model, routing, rows=rows, columns=64, flops=4096)


def tiling() -> Iterator[Point]:
    """Fig. 9 (and 19): static and dynamic tiles, batch 64."""
    return _tilings(("mixtral", "qwen"), 64, (8, 16, 32, 64))


def large_batch() -> Iterator[Point]:
    """Fig. 10 (and 20): the same with batch 1024."""
    return _tilings(("mixtral", "qwen"), 1024, (16, 32, 64, 128, 256, 512, 1024))


def multiplexing() -> Iterator[Point]:
    """Figs. 12 and 13: Qwen3 on fewer regions than experts, 1024 operations a cycle."""
    model = configuration(MODELS["qwen"])
    routing = measured_routing("qwen_b64", model.experts)
    for regions in (128, 64, 32, 16, 8, 4):
        own = None if regions == model.experts else regions
        yield mixture(f"static {regions}", model, routing, rows=32, columns=48, flops=1024, regions=own)
    yield mixture("dynamic 128", model, routing, rows=None, columns=48, flops=1024)


def parallelization() -> Iterator[Point]:
    """Figs. 14 and 21: attention for batches of low, medium and high variance."""
    for batch, room in ((64, 6464), (16, 4672), (80, 6528)):
        for path in sorted((DATA / "kv_lengths" / f"b{batch}").glob("*.npy")):
            yield from attentions(path.stem, measured_kv_lengths(f"b{batch}/{path.stem}"), room)


def batches() -> Iterator[Point]:
    """Fig. 15: the first requests of one batch."""
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    for batch in (16, 32, 48, 64):
        yield from attentions(f"B={batch}", lengths[:batch], 6464)


def smoke() -> Iterator[Point]:
    """One small workload of every kind."""
    model = replace(configuration(MODELS["mixtral"]), hidden=32, inner=32, experts=4)
    routing = measured_routing("mixtral_b64", 8)[:6] % 4
    routing = routing[routing[:, 0] != routing[:, 1]]
    yield mixture("static", model, routing, rows=2, columns=16, flops=64)
    yield mixture("multiplexed", model, routing, rows=2, columns=16, flops=64, regions=2)
    yield from attentions("attention", np.array([60, 3, 9]), 64, size=16)


FIGURES: dict[str, Callable[[], Iterator[Point]]] = {
    "9": tiling,
    "10": large_batch,
    "12": multiplexing,
    "14": parallelization,
    "15": batches,
}
