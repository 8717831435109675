"""The points of Figs. 9, 10, 12, 13, 19 and 20: mixtures of experts.

Cycles are those of the artifact's result files, or else read off the paper's plots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from experiments.published import moe
from experiments.published.point import Bytes, PublishedPoint
from experiments.published.recorded import recorded
from sim_published.profile import PublishedProfile
from step import Graph
from step_models.routing import measured_routing

MODELS = (("mixtral", moe.MIXTRAL), ("qwen", moe.QWEN))


def mixture(
    name: str,
    layer: moe.MixtureSizes,
    trace: str,
    rows: int | None,
    regions: int | None,
    profile: PublishedProfile,
    cycles: float | None = None,
    moved: Bytes | None = None,
) -> PublishedPoint:
    """A point in tiles of ``rows`` rows, or of dynamic size.

    ``cycles`` (where no result file has them) and ``moved`` bytes are the published ones.
    """
    routing = measured_routing(trace, layer.experts)

    def make() -> tuple[Graph, dict[str, Any]]:
        made = moe.MixtureGraph(layer, routing, rows, regions)
        return made.graph, made.inputs

    cycles = recorded(f"{len(routing)} {name}" if len(routing) > 64 else name) or cycles
    symbols = moe.symbols(routing, layer.experts, regions or layer.experts)
    return PublishedPoint(name, profile, make, cycles, moved, symbols, rows is None or regions is not None)


def tiling() -> Iterator[PublishedPoint]:
    """Fig. 9 (and 19): static and dynamic tiles, batch 64."""
    known: dict[str, dict[int | None, tuple[float, int, int]]] = {
        "mixtral": {
            8: (7.419e6, 7_048_003_840, 15_769_602),
            16: (4.645e6, 4_229_431_552, 18_915_330),
            32: (2.810e6, 2_820_145_408, 25_206_786),
            64: (2.810e6, 2_820_145_408, 37_789_698),
            None: (2.817e6, 2_820_145_408, 18_915_330),
        },
        "qwen": {
            8: (9.818e5, 897_319_936, 125_849_602),
            16: (7.122e5, 680_264_704, 151_015_426),
            32: (6.159e5, 576_455_680, 201_347_074),
            64: (5.765e5, 567_018_496, 302_010_370),
            None: (5.808e5, 567_018_496, 59_789_314),
        },
    }
    for model, layer in MODELS:
        for rows, (cycles, *moved) in known[model].items():
            profile = moe.STATIC if rows else moe.DYNAMIC
            name = f"{model} {rows or 'dynamic'}"
            yield mixture(name, layer, f"{model}_b64", rows, None, profile, cycles, (moved[0], moved[1]))


def large_batch() -> Iterator[PublishedPoint]:
    """Fig. 10 (and 20): the same with batch 1024."""
    known = {("mixtral", 16): 55.58e6, ("mixtral", 32): 29.09e6}
    for model, layer in MODELS:
        for rows in (16, 32, 64, 128, 256, 512, 1024, None):
            profile = replace(moe.STATIC if rows else moe.DYNAMIC, channel_depth=_depth(model, 1024))
            cycles = known.get((model, rows or 0))
            yield mixture(f"{model} {rows or 'dynamic'}", layer, f"{model}_b1024", rows, None, profile, cycles)


def equal_compute() -> Iterator[PublishedPoint]:
    """Dynamic tiles of Figs. 9 and 10 with as many operations a cycle as the paper gives to static ones."""
    for batch in (64, 1024):
        for model, layer in MODELS:
            profile = replace(moe.STATIC, channel_depth=_depth(model, batch))
            yield mixture(f"{model} {batch}", layer, f"{model}_b{batch}", None, None, profile)


def multiplexing() -> Iterator[PublishedPoint]:
    """Figs. 12 and 13: Qwen3 on fewer regions than experts."""
    layer = replace(moe.QWEN, columns=48)
    known: dict[tuple[str, int], tuple[Any, ...]] = {
        ("static", 128): (790.3e3, (576_455_680, 82_595_842)),
        ("static", 32): (796.0e3, (576_455_680, 44_716_034)),
        ("dynamic", 128): (713.1e3,),
        ("dynamic", 32): (754.1e3,),
    }
    for tiles, rows in (("static", 32), ("dynamic", None)):
        for regions in (128, 64, 32, 16, 8, 4):
            found = known.get((tiles, regions), ())
            yield mixture(f"{tiles} {regions}", layer, "qwen_b64", rows, regions, moe.MULTIPLEXED, *found)


def beside() -> Iterator[PublishedPoint]:
    """Points that the artifact ran and the paper does not show: Fig. 10 with channels of two elements, Fig. 12 on two
    regions, and dynamic tiles of Fig. 9, of which the paper's plot has another number."""
    yield mixture("mixtral dynamic, batch 64", moe.MIXTRAL, "mixtral_b64", None, None, moe.DYNAMIC)
    for rows in (256, 1024, None):
        profile = moe.STATIC if rows else moe.DYNAMIC
        yield mixture(
            f"qwen {rows or 'dynamic'}, depth {profile.channel_depth}", moe.QWEN, "qwen_b1024", rows, None, profile
        )
    layer = replace(moe.QWEN, columns=48)
    yield mixture("dynamic 2", layer, "qwen_b64", None, 2, moe.MULTIPLEXED)


def _depth(model: str, batch: int) -> int:
    """Depth of channels: those of Qwen3 have to take all tokens of an expert, as tokens leave in their order."""
    return 1024 if (model, batch) == ("qwen", 1024) else 2
