"""Claims of Figs. 12 and 13: experts that take turns on regions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from experiments.published.show.claim import Claim
from experiments.published.show.results import Results

OPERATIONS, EXPERTS, OPERATORS = 1024, 128, 5
"""A cycle of an operator; the experts of the layer; the operators of a region that compute."""


def allocated(regions: int) -> int:
    """Operations a cycle that are there: of regions, of the weighted sums of experts, and of their sum."""
    return OPERATIONS * (OPERATORS * regions + EXPERTS + 1)


def claims() -> Iterator[Claim]:
    """Utilization, cycles, and what is freed."""
    for tiles, more, slower in (("static", 2.64, "<1 %"), ("dynamic", 2.51, "~5 %")):
        yield Claim(
            f"utilization on 32 regions over that on 128, {tiles} tiles, figure 12",
            f"{more:.2f}",
            partial(_utilization, tiles),
            None,
            lambda results: (
                "The utilizations themselves are 2.33 times too high in the paper, which counts SiLU once "
                "per D; their ratio is not touched by that."
            ),
        )
        yield Claim(
            f"slowdown on 32 regions, {tiles} tiles, figure 12",
            slower,
            partial(_slowdown, tiles),
            None,
            _ceiling,
        )
    yield Claim(
        "operations a cycle that 32 regions free, figure 12",
        "62 %",
        lambda results: f"{1 - allocated(32) / allocated(128):.0%}",
        None,
        lambda results: "Weighted sums stay with their experts.",
    )
    yield Claim(
        "on-chip memory that 32 regions free, static tiles, figure 13",
        "46 %",
        partial(_freed, "on_chip_bytes"),
        partial(_freed, "equation_on_chip_bytes"),
        lambda results: "Fair: by the paper's own equations, in which loads have two buffers.",
    )


def _utilization(tiles: str, results: Results) -> str:
    costs = [results.number("12", f"{tiles} {regions}") * allocated(regions) for regions in (128, 32)]
    return f"{costs[0] / costs[1]:.2f}"


def _slowdown(tiles: str, results: Results) -> str:
    return f"{results.number('12', f'{tiles} 32') / results.number('12', f'{tiles} 128') - 1:+.1%}"


def _freed(memory: str, results: Results) -> str:
    return f"{1 - results.number('12', 'static 32', memory) / results.number('12', 'static 128', memory):.0%}"


def _ceiling(results: Results) -> str:
    return "Rows of 96 bytes take two requests of 64 each, so off-chip memory can be used to 82 % at most."
