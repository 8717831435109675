"""Claims of Figs. 12 and 13: experts that take turns on regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from experiments.published.moe import QWEN
from experiments.published.show.claim import Claim
from experiments.published.show.results import FigureRows
from step_models.routing import measured_routing

OPERATIONS, EXPERTS, OPERATORS = 1024, QWEN.experts, 5
"""A cycle of an operator; the experts of the layer; the operators of a region that compute."""
FEW = 32
"""Regions of the published claims."""
ROWS, COLUMNS = 32, 48
"""Of a static tile, and of a tile of weights."""
SILU, REQUEST = 8, 64
"""Operations of a SiLU for a scalar; bytes of a request to memory."""


@dataclass(frozen=True)
class Published:
    """Claims of the paper on tiles: how much more is used on `FEW` regions, how much slower these are, and what is used
    on so many regions."""

    more: float
    slower: str
    used: Mapping[int, float]


PUBLISHED = {
    "static": Published(2.64, "<1 %", {EXPERTS: 0.0691, FEW: 0.1824}),
    "dynamic": Published(2.51, "~5 %", {EXPERTS: 0.0201, FEW: 0.0505}),
}
FREED = {"operations": 0.62, "memory": 0.46}
"""The published shares that few regions free."""


def allocated(regions: int) -> int:
    """Operations a cycle that are there: of regions, of the weighted sums of experts, and of their sum."""
    return OPERATIONS * (OPERATORS * regions + EXPERTS + 1)


@cache
def _rows(tiles: str) -> tuple[int, int]:
    """Rows that the tiles have, with those that pad static ones, and those that are tokens."""
    counts = np.bincount(measured_routing("qwen_b64", EXPERTS).ravel(), minlength=EXPERTS)
    tokens = int(counts.sum())
    return (int((-(-counts // ROWS) * ROWS).sum()) if tiles == "static" else tokens), tokens


def operations(tiles: str) -> int:
    """Operations of the layer: three matmuls, SiLU and a product for a scalar of the experts, weighted sum of rows."""
    rows, tokens = _rows(tiles)
    return rows * QWEN.inner * (6 * QWEN.hidden + SILU + 1) + tokens * 2 * QWEN.hidden


def published_operations(tiles: str) -> int:
    """Operations as the paper counts them: SiLU once for each of the hidden scalars, too."""
    return _rows(tiles)[0] * QWEN.inner * (6 + SILU) * QWEN.hidden


def utilization(results: FigureRows, tiles: str, regions: int, done: int) -> float:
    """Share of ``done`` in the operations that could have been; raises `Missing`."""
    return done / (results.number("12", f"{tiles} {regions}") * allocated(regions))


def claims() -> Iterator[Claim]:
    """Utilization, cycles, and what is freed."""
    for tiles, published in PUBLISHED.items():
        for regions in (EXPERTS, FEW):
            yield Claim(
                f"utilization on {regions} regions, {tiles} tiles, figure 12",
                f"{published.used[regions]:.2%}",
                partial(_used, tiles, regions, published_operations),
                partial(_used, tiles, regions, operations),
                partial(_too_much, tiles),
                fabric=partial(_used, tiles, regions, operations),
            )
        yield Claim(
            f"utilization on {FEW} regions over that on {EXPERTS}, {tiles} tiles, figure 12",
            f"{published.more:.2f}",
            partial(_utilization, tiles),
            None,
            lambda results: "How SiLU counts does not touch the ratio.",
        )
        yield Claim(
            f"slowdown on {FEW} regions, {tiles} tiles, figure 12",
            published.slower,
            partial(_slowdown, tiles),
            None,
            lambda results: _ceiling(),
        )
    yield Claim(
        f"operations a cycle that {FEW} regions free, figure 12",
        f"{FREED['operations']:.0%}",
        lambda results: f"{1 - allocated(FEW) / allocated(EXPERTS):.0%}",
        None,
        lambda results: "Weighted sums stay with their experts.",
    )
    yield Claim(
        f"on-chip memory that {FEW} regions free, static tiles, figure 13",
        f"{FREED['memory']:.0%}",
        partial(_freed, "on_chip_bytes"),
        partial(_freed, "equation_on_chip_bytes"),
        lambda results: "Fair: by the paper's own equations, in which loads have two buffers.",
    )


def _used(tiles: str, regions: int, counted: Callable[[str], int], results: FigureRows) -> str:
    return f"{utilization(results, tiles, regions, counted(tiles)):.2%}"


def _too_much(tiles: str, results: FigureRows) -> str:
    return (
        f"The paper counts SiLU once for each of the hidden scalars, which gives "
        f"{published_operations(tiles) / operations(tiles):.2f} times as many operations. Fair: once for a scalar, as "
        "on our fabric."
    )


def _utilization(tiles: str, results: FigureRows) -> str:
    many, few = (utilization(results, tiles, regions, operations(tiles)) for regions in (EXPERTS, FEW))
    return f"{few / many:.2f}"


def _slowdown(tiles: str, results: FigureRows) -> str:
    few, many = (results.number("12", f"{tiles} {regions}") for regions in (FEW, EXPERTS))
    return f"{few / many - 1:+.1%}"


def _freed(memory: str, results: FigureRows) -> str:
    few, many = (results.number("12", f"static {regions}", memory) for regions in (FEW, EXPERTS))
    return f"{1 - few / many:.0%}"


def _ceiling() -> str:
    """Part of memory that can be used: two of three matrices have rows of a tile that end within a request."""
    row = COLUMNS * 2
    taken = -(-row // REQUEST) * REQUEST
    return (
        f"Rows of {row} bytes take {taken // REQUEST} requests of {REQUEST} each, so off-chip memory can be used to "
        f"{3 / (2 * taken / row + 1):.0%} at most."
    )
