"""Fig. 17: what the speedups of a layer become with more work in it that all schedules have alike.

The mixture of experts is what static and dynamic tiles differ in; how much else is in a published layer is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.published.show.decoding import BASE, SCHEDULES, bars
from experiments.published.show.results import FigureRows, Missing
from experiments.said import said, span

SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Of the memory-matched layer, what is not the mixture."""
ROWS = {"mixtral": {BASE: 16, SCHEDULES[1]: 32}, "qwen": {BASE: 8, SCHEDULES[1]: 64}}
"""Rows of the static tiles of the layers."""
TIMINGS = {"published": "published timing", "fabric": "our fabric"}


def layers(results: FigureRows, model: str) -> dict[str, float]:
    """Cycles by schedule; raises `Missing`."""
    found = {
        each: results.number("17", f"{model} {each}") for each in SCHEDULES if f"{model} {each}" in results.points("17")
    }
    if not {BASE, SCHEDULES[1]} <= found.keys():
        raise Missing(f"layers of {model}")
    return found


def other_work(results: FigureRows, model: str) -> float:
    """Cycles of the memory-matched layer beside its mixture, which alone is a point of Fig. 9."""
    return layers(results, model)[BASE] - results.number("9", f"{model} {ROWS[model][BASE]}")


def implied(results: FigureRows, model: str) -> float:
    """Cycles beside the mixture with which the static tiles of more rows give the published bar."""
    speedup = bars()[model, SCHEDULES[1]]["speedup"]
    small, fast = (layers(results, model)[each] for each in (BASE, SCHEDULES[1]))
    return other_work(results, model) + (small - speedup * fast) / (speedup - 1)


def speedups(results: FigureRows, model: str, more: float) -> dict[str, float]:
    """The speedup of every schedule over the memory-matched one, with so many ``more`` cycles in all of them."""
    found = layers(results, model)
    return {each: (found[BASE] + more) / (cycles + more) for each, cycles in found.items() if each != BASE}


def lines(results: FigureRows, model: str) -> Iterator[list[str]]:
    """Share of the layer that is not the mixture, cycles of it, and speedups: ours, more of it, and what bars imply."""
    mixture = results.number("9", f"{model} {ROWS[model][BASE]}")
    ours = other_work(results, model)
    swept = [("", mixture * share / (1 - share)) for share in SHARES]
    known = [(" (ours)", ours), *swept, (" (implied by the bar)", implied(results, model))]
    for what, cycles in sorted(known, key=lambda each: each[1]):
        if cycles >= ours:
            found = speedups(results, model, cycles - ours)
            cells = (f"{found[each]:.3f}" if each in found else "" for each in SCHEDULES[1:])
            share = f"{cycles / (cycles + mixture):.0%}{what}"
            yield [model, TIMINGS[results.prefix], share, f"{cycles / 1e6:.2f}", *cells]


HEAD = ("model", "timing", "not the mixture", "10^6 cycles of it", *SCHEDULES[1:])


def words(every: list[FigureRows]) -> str:
    """The other work that the bars imply, beside ours; raises `Missing`."""
    parts = [
        f"{span([implied(each, model) / 1e6 for each in every], '.1f')} million cycles beside its mixture for {model}, "
        f"where ours has {span([other_work(each, model) / 1e6 for each in every])}"
        for model in ROWS
    ]
    return said(
        f"The published bars of static tiles imply {'; and '.join(parts)}. So the published layers would have more in "
        "them that all schedules do alike. The bars of dynamic schedules are above those of static tiles of more rows, "
        "which is so for no share of ours: there both are about equal. With more of such work in all schedules our "
        "speedups become:",
        all(implied(each, model) > other_work(each, model) for each in every for model in ROWS),
        all(_ahead(layers(each, model)) < min(map(_bar_ahead, ROWS)) / 2 for each in every for model in ROWS),
    )


def _ahead(cycles: dict[str, float]) -> float:
    """By how much the dynamic schedule is faster than static tiles of more rows; with more work in both it is less."""
    return cycles[SCHEDULES[1]] / cycles[SCHEDULES[2]] - 1


def _bar_ahead(model: str) -> float:
    """The same of the published bars."""
    dynamic = max(bar["speedup"] for (name, schedule), bar in bars().items() if name == model and "dynamic" in schedule)
    return dynamic / bars()[model, SCHEDULES[1]]["speedup"] - 1
