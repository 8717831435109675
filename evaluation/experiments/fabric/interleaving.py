"""Why dynamic regions do not beat interleaved ones in Fig. 15, from the result files."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import correlation, fmean

from experiments import queues
from experiments.fabric import balance, explained
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import grid
from experiments.layers import CACHE_ROWS
from experiments.published import attention
from experiments.rows import read
from experiments.said import listed, said, span
from step_models.fabrics import PUBLISHED

TILE_BYTES = CACHE_ROWS * attention.SIZE * 2
"""Of keys or values."""
TILE_CYCLES = TILE_BYTES // PUBLISHED.link_bytes
"""That a tile is on its way over a link."""
BEATS = re.compile(r"a beat a cycle and port (\d+)%")


def part(results: Path) -> list[str]:
    """The heading, what is so, and the table; nothing without results."""
    rows = queues.CAMPAIGN.read(results, "15")
    ours = {row["point"]: int(row["cycles"]) for row in CAMPAIGN.read(results, "15")}
    if not rows or not ours:
        return []
    gains = queues.gains(rows)
    lines, spread, bounds, here = [], [], [], {}
    for batch in queues.BATCHES:
        most, fewest = balance.most_tiles(queues.lengths(batch))
        cycles = ours[f"B={batch} interleaved"]
        here[batch] = cycles / ours[f"B={batch} dynamic"]
        spread.append(most / fewest)
        bounds.append(TILE_CYCLES * most / cycles)
        depths = [f"{gains[batch, depth]:.2f}" for depth in queues.DEPTHS]
        told = f"{here[batch]:.2f}", f"{spread[-1]:.2f}", f"{most:,}", f"{bounds[-1]:.0%}"
        lines.append([f"B={batch}", *depths, *told])
    depths = [f"published, depth {depth}" for depth in queues.DEPTHS]
    names = ["batch", *depths, "ours", "tiles", "most tiles, interleaved", "their words, of the cycles"]
    return [
        "## Why dynamic regions do not beat interleaved ones in Figure 15",
        _queues(gains, here),
        _tiles(spread, bounds),
        *_waiting(results),
        "Cycles of interleaved regions over those of dynamic ones:",
        grid(names, lines),
        *_balance(results),
    ]


def _queues(gains: dict[tuple[int, int], float], here: dict[int, float]) -> str:
    """The effect of deeper channels on the published timing."""
    one, two, *more = queues.DEPTHS
    gained = [batch for batch in queues.BATCHES if gains[batch, one] > 1]
    shallow, deeper, deep = (
        [gains[batch, depth] for batch in gained for depth in depths] for depths in ((one,), (two,), more)
    )
    ours = [here[batch] for batch in gained]
    return said(
        "In the published timing interleaved regions are slow because its channels hold one element. A busy region "
        "does not take its next request, which then waits in front of all regions while others stand idle. Dynamic "
        "regions ask for work, so no request is in the way. Where they gain, they gain "
        f"{span(shallow)} times with channels of {one}, {span(deeper)} with {two}, and {span(deep)} with "
        f"{listed(more)}. That is what our fabric shows ({span(ours)}), whose channels have {PUBLISHED.channel_depth} "
        "slots at least.",
        all((gains[batch, two] - 1) < (gains[batch, one] - 1) / 2 for batch in gained),
        max(deep) < 1 + ALIKE,
        abs(fmean(deep) - fmean(ours)) < ALIKE,
    )


ALIKE = 0.03
"""Gains that differ by less are about the same."""


def _tiles(spread: list[float], bounds: list[float]) -> str:
    """The region with most tiles."""
    return said(
        f"Here the region with most tiles sets the pace: the {TILE_BYTES:,} bytes of a tile take {TILE_CYCLES} "
        f"cycles on a link, and its tiles take {span(bounds, '.0%')} of all cycles. Interleaving spreads the tiles of "
        "this trace about as evenly as sending each request to the region with the fewest so far (`tiles`: the largest "
        f"share interleaved over the largest share then, {span(spread)}).",
        min(bounds) > 0.9,
        max(spread) < 1 + ALIKE,
    )


def _waiting(results: Path) -> list[str]:
    """The extra work of a dynamic region, where its critical path is known."""
    beats: dict[str, dict[str, int]] = {}
    for row in read(results / explained.FILE, explained.COLUMNS):
        batch, _, kind = row["point"].rpartition(" ")
        if row["figure"] == "15" and (found := BEATS.search(row["limits"])):
            beats.setdefault(batch, {})[kind] = int(found[1])
    both = {batch: each for batch, each in beats.items() if each.keys() >= set(explained.KINDS)}
    if not both:
        return []
    told = "; ".join(f"{batch}: {each['interleaved']}% and {each['dynamic']}%" for batch, each in both.items())
    return [
        said(
            "A dynamic region begins a request when it has read the keys of the one before, so the time of addresses "
            "and memory counts again. Interleaved, the next request already waits in front of the region. Beats on the "
            f"critical path above, interleaved and dynamic, are {told} of the cycles.",
            all(each["dynamic"] > each["interleaved"] for each in both.values()),
        )
    ]


def _balance(results: Path) -> list[str]:
    """The correlation of tiles with the gain of dynamic regions."""
    found = {timing: list(balance.gains(results, timing)) for timing in ("fabric", "published")}
    if any(len(each) < 3 for each in found.values()):
        return []
    told = {timing: correlation(*zip(*each, strict=True)) for timing, each in found.items()}
    return [
        said(
            f"All {len(found['fabric'])} batches of Figures 14 and 21 agree: the gain over interleaved regions "
            f"follows from a better spread of tiles, with a correlation of {told['fabric']:.3f} on our fabric and of "
            f"{told['published']:.3f} on the published timing, where a queue decides instead.",
            told["fabric"] > 0.95,
            told["published"] < 0.7,
        )
    ]
