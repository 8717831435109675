"""The points of the figures: what is run, and what the paper and its artifact give for it.

Cycles of Figs. 9 and 12 are read off the paper's plots; all other numbers are those of the artifact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.published import attention, moe, swiglu
from sim_published.metrics import off_chip_bytes, on_chip_bytes
from sim_published.profile import VALIDATION, Profile
from step import Graph
from step_models.kv_lengths import measured_kv_lengths
from step_models.routing import measured_routing

Bytes = tuple[int, int]
"""Off chip, and on chip."""


@dataclass(frozen=True)
class Point:
    """``make`` builds the graph and its inputs. ``cycles`` and ``bytes`` are the published ones, where they are known;
    ``count`` counts the bytes of the graph, of which some operators got no element."""

    name: str
    profile: Profile
    make: Callable[[], tuple[Graph, dict[str, Any]]]
    cycles: float | None = None
    bytes: Bytes | None = None
    count: Callable[[Graph, set[str]], Bytes] | None = None


def validation() -> Iterator[Point]:
    """Fig. 8: SwiGLU, tiles of rows x columns."""
    known = {
        (16, 16): 33289,
        (16, 32): 29400,
        (16, 64): 27503,
        (16, 128): 26993,
        (16, 256): 27509,
        (64, 64): 9537,
    }
    for rows in (16, 32, 64):
        for columns in (16, 32, 64, 128, 256):
            yield Point(
                f"{rows}x{columns}",
                VALIDATION,
                lambda rows=rows, columns=columns: (swiglu.graph(rows, columns), {}),
                known.get((rows, columns)),
            )


def _mixture(
    name: str, layer: moe.Layer, trace: str, rows: int | None, regions: int | None, profile: Profile, *known: Any
) -> Point:
    routing = measured_routing(trace, layer.experts)

    def make() -> tuple[Graph, dict[str, Any]]:
        made = moe.Mixture(layer, routing, rows, regions)
        return made.graph, made.inputs

    def count(graph: Graph, unused: set[str]) -> Bytes:
        values = moe.symbols(routing, layer.experts)
        skipped = unused if rows is None or regions is not None else ()
        return off_chip_bytes(graph, values), on_chip_bytes(graph, values, skipped)

    return Point(name, profile, make, *known, count=count)


def tiling() -> Iterator[Point]:
    """Fig. 9 (and 19): static and dynamic tiles, batch 64."""
    for rows, cycles, off, on in (
        (8, 7.419e6, 7_048_003_840, 15_769_602),
        (16, 4.645e6, 4_229_431_552, 18_915_330),
        (32, 2.810e6, 2_820_145_408, 25_206_786),
        (64, 2.810e6, 2_820_145_408, 37_789_698),
        (None, 2.817e6, 2_820_145_408, 18_915_330),
    ):
        profile = moe.STATIC if rows else moe.DYNAMIC
        name = f"mixtral {rows or 'dynamic'}"
        yield _mixture(name, moe.MIXTRAL, "mixtral_b64", rows, None, profile, cycles, (off, on))
    for rows, cycles, off, on in (
        (8, 9.818e5, 897_319_936, 125_849_602),
        (16, 7.122e5, 680_264_704, 151_015_426),
        (32, 6.159e5, 576_455_680, 201_347_074),
        (64, 5.765e5, 567_018_496, 302_010_370),
        (None, 5.808e5, 567_018_496, 59_789_314),
    ):
        profile = moe.STATIC if rows else moe.DYNAMIC
        yield _mixture(f"qwen {rows or 'dynamic'}", moe.QWEN, "qwen_b64", rows, None, profile, cycles, (off, on))


def large_batch() -> Iterator[Point]:
    """Fig. 10 (and 20): the same with batch 1024."""
    for model, layer, depth in (("mixtral", moe.MIXTRAL, 2), ("qwen", moe.QWEN, 1024)):
        for rows in (16, 32, 64, 128, 256, 512, 1024, None):
            profile = replace(moe.STATIC if rows else moe.DYNAMIC, channel_depth=depth)
            yield _mixture(f"{model} {rows or 'dynamic'}", layer, f"{model}_b1024", rows, None, profile)


def equal_compute() -> Iterator[Point]:
    """Dynamic tiles of Figs. 9 and 10 with as many operations a cycle as the paper gives to static ones."""
    for model, layer, batch in (("mixtral", moe.MIXTRAL, 64), ("qwen", moe.QWEN, 64), ("mixtral", moe.MIXTRAL, 1024)):
        yield _mixture(f"{model} batch {batch}", layer, f"{model}_b{batch}", None, None, moe.STATIC)


def multiplexing() -> Iterator[Point]:
    """Figs. 12 and 13: Qwen3 on fewer regions than experts.

    Dynamic tiles have an expert each as their region: the language does not merge tiles of different dynamic sizes.
    """
    layer = replace(moe.QWEN, columns=48)
    known: dict[tuple[str, int], tuple[Any, ...]] = {
        ("static", 128): (790.3e3, (576_455_680, 82_595_842)),
        ("static", 32): (796.0e3, (576_455_680, 44_716_034)),
        ("dynamic", 128): (713.1e3,),
    }
    for tiles, rows in (("static", 32), ("dynamic", None)):
        for regions in (128, 64, 32, 16, 8, 4) if rows else (128,):
            found = known.get((tiles, regions), ())
            yield _mixture(f"{tiles} {regions}", layer, "qwen_b64", rows, regions, moe.MULTIPLEXED, *found)


def _attention(name: str, lengths: np.ndarray, room: int, cycles: dict[str, int]) -> Iterator[Point]:
    for arrangement, make in attention.ARRANGEMENTS.items():

        def build(make: Any = make) -> tuple[Graph, dict[str, Any]]:
            made = make(lengths, room)
            return made.graph, made.inputs

        yield Point(f"{name} {arrangement}", attention.PROFILE, build, cycles.get(arrangement))


def parallelization() -> Iterator[Point]:
    """Figs. 14 and 21: attention for batches of low, medium and high variance."""
    known = {
        "conv_stdev0477_0271_0334": (43391, 50171, 39961),
        "conv_stdev0754_0181_0244": (43548, 60842, 43450),
        "conv_stdev0996_4007_4070": (70209, 64361, 49093),
    }
    for batch, room in ((64, 202), (16, 146), (80, 204)):
        for path in sorted((attention.DATA / f"b{batch}").glob("*.npy")):
            cycles = dict(zip(attention.ARRANGEMENTS, known.get(path.stem, ()), strict=False))
            yield from _attention(path.stem, measured_kv_lengths(f"b{batch}/{path.stem}"), room, cycles)


def batches() -> Iterator[Point]:
    """Fig. 15: the first requests of one batch."""
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    for batch, *cycles in (
        (16, 43789, 15445, 16104),
        (32, 43789, 27917, 22690),
        (48, 43789, 39004, 30921),
        (64, 70209, 64361, 49093),
    ):
        known = dict(zip(attention.ARRANGEMENTS, cycles, strict=True))
        yield from _attention(f"B={batch}", lengths[:batch], 202, known)


FIGURES: dict[str, Callable[[], Iterator[Point]]] = {
    "8": validation,
    "9": tiling,
    "10": large_batch,
    "12": multiplexing,
    "14": parallelization,
    "15": batches,
    "equal_compute": equal_compute,
}
