"""Claims of Figs. 14, 15 and 21: regions that take the next request when they are free."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from statistics import geometric_mean

from experiments.published.attention import COARSE, PROFILE, REGIONS
from experiments.published.layers import SIZE
from experiments.published.show.claim import Claim
from experiments.published.show.results import FigureRows, Missing
from experiments.said import listed, said

SPREAD = {"low": (450, 600), "medium": (980, 1000), "high": (1300, 1460)}
"""Standard deviations of the lengths in the batches that the paper takes, by its names for them."""

TRACE = re.compile(r"conv_stdev(?P<deviation>\d+)_(?P<first>\d+)_(?P<last>\d+)")
BASELINES = ("coarse", "interleaved")
FIGURES = {16: "21", 64: "14", 80: "21"}
"""Where batches of so many requests are."""

PUBLISHED, TRUE = ("14", "15", "21"), ("true_attention",)
"""The figures with attention as the artifact has it, and that with attention as models have it."""

TRUTH = (
    f"Fair: `step_models.attention`, with heads of {SIZE} columns, scaled, an online softmax and its own FIFO depths"
)
PREFIXES = {16: 2.72, 64: 1.43}
"""Published, of Fig. 15: cycles of coarse blocks over those of dynamic regions, by requests."""
RANGES = {"low": (1.14, 1.26), "high": (1.47, 1.57)}
"""Published, of Fig. 14: the least and the most of interleaved over dynamic regions, by the variance of lengths."""
MEANS = {"coarse": 1.850, "interleaved": 1.362}
"""Published, of Fig. 21: geometric means."""
BARS = {
    (16, "coarse"): {"high": 3.399, "medium": 3.214, "low": 3.361},
    (16, "interleaved"): {"high": 1.573, "medium": 1.308, "low": 1.091},
    (64, "coarse"): {"high": 1.161, "medium": 1.264, "low": 1.142},
    (64, "interleaved"): {"high": 1.533, "medium": 1.412, "low": 1.187},
    (80, "coarse"): {"high": 1.645, "medium": 1.664, "low": 1.506},
    (80, "interleaved"): {"high": 1.561, "medium": 1.447, "low": 1.241},
}
"""The published bars of Fig. 21: cycles over those of dynamic regions, by batch and arrangement."""


def group(trace: str, batch: int) -> str | None:
    """Whether the lengths of a batch called ``conv_stdevDEVIATION_FIRST_LAST`` have a low, medium or high variance.

    None: the paper does not take it, or it has not as many requests as ``batch``.
    """
    found = TRACE.fullmatch(trace)
    if found is None or int(found["last"]) - int(found["first"]) + 1 != batch:
        return None
    return next((name for name, (low, high) in SPREAD.items() if low <= int(found["deviation"]) <= high), None)


def speedups(results: FigureRows, figures: Iterable[str], baseline: str) -> dict[str, float]:
    """Cycles of an arrangement over those of dynamic regions, by batch, where both were run."""
    found = {}
    for figure in figures:
        rows = results.points(figure)
        for name in rows:
            batch, _, arrangement = name.rpartition(" ")
            if arrangement == "dynamic" and f"{batch} {baseline}" in rows:
                found[batch] = results.number(figure, f"{batch} {baseline}") / results.number(figure, name)
    return found


def grouped(results: FigureRows, figures: Iterable[str], batch: int, baseline: str) -> dict[str, list[float]]:
    """The speedups of the batches that the paper takes, by the variance of their lengths."""
    found: dict[str, list[float]] = {name: [] for name in SPREAD}
    for trace, speedup in speedups(results, figures, baseline).items():
        which = group(trace, batch)
        if which is not None:
            found[which].append(speedup)
    return found


def claims() -> Iterator[Claim]:
    """Bars of Figs. 15 and 21, ranges of Fig. 14, and whether dynamic regions always win."""
    for batch, coarse in PREFIXES.items():
        yield Claim(
            f"dynamic over coarse, {batch} requests, figure 15",
            f"{coarse:.2f}",
            partial(_prefix, PUBLISHED, f"B={batch}", "coarse"),
            partial(_prefix, TRUE, f"B={batch}", "coarse"),
            partial(_interleaved, batch),
        )
    for name, published in RANGES.items():
        yield Claim(
            f"dynamic over interleaved, lengths of {name} variance, figure 14",
            " to ".join(f"{each:.2f}" for each in published),
            partial(_range, PUBLISHED, name),
            partial(_range, TRUE, name),
            lambda results: f"{TRUTH}.",
        )
    for (batch, baseline), bars in BARS.items():
        yield Claim(
            f"dynamic over {baseline}, {batch} requests, variance {', '.join(bars)}, figure 21",
            ", ".join(f"{bar:.3f}" for bar in bars.values()),
            partial(_bars, PUBLISHED, batch, baseline, tuple(bars)),
            partial(_bars, TRUE, batch, baseline, tuple(bars)),
            partial(_blocks, batch, baseline),
        )
    for baseline, mean in MEANS.items():
        yield Claim(
            f"dynamic over {baseline}, geometric mean of figure 21",
            f"{mean:.3f}",
            partial(_mean, PUBLISHED, baseline),
            partial(_mean, TRUE, baseline),
            lambda results: f"Of {len(FIGURES) * len(SPREAD)} groups of {_size(results)} batches.",
        )
    always = partial(_always, PUBLISHED), partial(_always, TRUE)
    yield Claim("dynamic regions win in each batch", "yes", *always, losses)


def _prefix(figures: Iterable[str], batch: str, baseline: str, results: FigureRows) -> str:
    found = speedups(results, figures, baseline)
    if batch not in found:
        raise Missing(batch)
    return f"{found[batch]:.2f}"


def _interleaved(batch: int, results: FigureRows) -> str:
    ours, true = (_prefix(figures, f"B={batch}", "interleaved", results) for figures in (PUBLISHED, TRUE))
    return (
        f"{_blocks(batch, 'coarse', results)} Over interleaved ones, which the paper does not show here: {ours}. "
        f"{TRUTH}; over interleaved ones {true}."
    )


def _range(figures: Iterable[str], name: str, results: FigureRows) -> str:
    found = grouped(results, figures, 64, "interleaved")[name]
    if not found:
        raise Missing(f"batches of {name} variance")
    return f"{min(found):.2f} to {max(found):.2f}"


def means(
    results: FigureRows, batch: int, baseline: str, names: Iterable[str], figures: Iterable[str] = PUBLISHED
) -> list[float]:
    """Geometric means of the speedups in the groups called ``names``; raises `Missing`."""
    found = grouped(results, figures, batch, baseline)
    if not all(found.values()):
        raise Missing(f"batch of {batch} requests")
    return [geometric_mean(found[name]) for name in names]


def _bars(figures: Iterable[str], batch: int, baseline: str, names: tuple[str, ...], results: FigureRows) -> str:
    return ", ".join(f"{each:.3f}" for each in means(results, batch, baseline, names, figures))


def _mean(figures: Iterable[str], baseline: str, results: FigureRows) -> str:
    found = [each for batch in FIGURES for each in means(results, batch, baseline, SPREAD, figures)]
    return f"{geometric_mean(found):.3f}"


def _blocks(batch: int, baseline: str, results: FigureRows) -> str:
    if baseline == "interleaved":
        return said(
            "Channels hold one element, so a request whose region is busy holds up all those behind it.",
            PROFILE.channel_depth == 1,
        )
    shares = Counter(number // COARSE % REGIONS for number in range(batch))
    return f"Coarse blocks of {COARSE}: of {REGIONS} regions get {listed(shares[region] for region in range(REGIONS))}."


def _size(results: FigureRows) -> int:
    """Batches of a group, as many in all."""
    sizes = {len(each) for batch in FIGURES for each in grouped(results, PUBLISHED, batch, BASELINES[0]).values()}
    if len(sizes) > 1:
        raise Missing("batches of some groups")
    return sizes.pop()


def lost(results: FigureRows, figures: Iterable[str] = PUBLISHED) -> tuple[list[str], int]:
    """The batches in which another arrangement takes fewer cycles, and how many comparisons there are."""
    measured = [
        (trace, baseline, speedup)
        for baseline in BASELINES
        for trace, speedup in speedups(results, figures, baseline).items()
        if TRACE.fullmatch(trace)
    ]
    if not measured:
        raise Missing("batches")
    found = [
        f"{trace.removeprefix('conv_stdev')} to {baseline} ({speedup:.3f})"
        for trace, baseline, speedup in measured
        if speedup < 1
    ]
    return found, len(measured)


def _always(figures: Iterable[str], results: FigureRows) -> str:
    found, count = lost(results, figures)
    return f"no, {len(found)} of {count} lost" if found else "yes"


def losses(results: FigureRows) -> str:
    """The batches that dynamic regions lose, whom to, and by how much."""
    found, _ = lost(results)
    return f"Lost: {', '.join(found)}. {TRUTH}." if found else f"{TRUTH}."
