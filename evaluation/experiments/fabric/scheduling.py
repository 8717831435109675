"""Other schedulers for the requests of Figs. 14 and 21."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from experiments import intervals
from experiments.fabric.points import COARSE
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.requests import ROOM
from experiments.fabric.schedulers import SCHEDULERS
from experiments.fabric.tables import grid
from experiments.layers import REGIONS
from experiments.said import listed, span

BASELINES = ("coarse", "even", "interleaved", "longest", "least", "oracle")
HEAD = (
    "requests", "batches", f"blocks of {COARSE}", "even blocks", "by turns", "dynamic, longest first",
    "static, to the fewest tiles", "static, longest to the fewest tiles",
)  # fmt: skip


def gains(results: Path) -> dict[int, dict[str, list[float]]]:
    """Cycles of every scheduler over those of dynamic regions, by requests of a batch; whole columns alone."""
    cycles = {
        row["point"]: int(row["cycles"])
        for figure in ("14", "21", "schedulers")
        for row in CAMPAIGN.read(results, figure)
    }
    found: dict[int, dict[str, list[float]]] = {batch: {} for batch in ROOM}
    for batch in ROOM:
        traces = [
            name.removesuffix(" dynamic") for name in cycles if name.endswith(" dynamic") and requests_of(name) == batch
        ]
        for baseline in BASELINES:
            if traces and all(f"{trace} {baseline}" in cycles for trace in traces):
                found[batch][baseline] = [cycles[f"{each} {baseline}"] / cycles[f"{each} dynamic"] for each in traces]
    return found


def requests_of(point: str) -> int:
    """Requests of a point called "conv_stdevDEVIATION_FIRST_LAST ..."."""
    first, last = point.partition(" ")[0].split("_")[-2:]
    return int(last) - int(first) + 1


def findings(results: Path) -> Iterator[str]:
    """Dynamic regions against blocks of as many requests, and against assignments of known lengths."""
    found = gains(results)
    if all("even" in each for each in found.values()):
        each = listed(f"{geometric_mean(found[batch]['even']):.2f} ({batch})" for batch in found)
        every = [gain for batch in found.values() for gain in batch["even"]]
        lost = sum(gain < 1 for gain in every)
        idle = REGIONS - min(found) // COARSE
        yield (
            f"**Dynamic regions against even blocks**, a block of equal count for each region ({len(every)} batches). "
            f"They are {intervals.told(every)} times as fast in the mean, by requests of a batch {each}, and slower in "
            f"{lost}. Blocks of {COARSE}, as published, leave {idle} of {REGIONS} regions idle in batches of "
            f"{min(found)}, where they take {geometric_mean(found[min(found)]['coarse']):.2f} times the cycles."
        )
    known = [kind for kind in ("longest", "least", "oracle") if all(kind in each for each in found.values())]
    if known:
        told = {kind: [gain for batch in found.values() for gain in batch[kind]] for kind in known}
        names = dict(zip(BASELINES, HEAD[2:], strict=True))
        each = "; ".join(f"{names[kind]}: {intervals.told(factors)}" for kind, factors in told.items())
        yield (
            f"**Schedulers that know the lengths** (the same batches), cycles over those of dynamic regions: {each}. "
            "Below one they are faster."
        )


def part(results: Path) -> list[str]:
    """The heading and the table; nothing without results."""
    found = gains(results)
    if not any(set(each) & set(SCHEDULERS) for each in found.values()):
        return []
    lines = []
    kinds = [kind for kind in BASELINES if any(kind in each for each in found.values())]
    names = dict(zip(BASELINES, HEAD[2:], strict=True))
    for batch, each in found.items():
        count = len(next(iter(each.values()), []))
        cells = [f"{geometric_mean(each[kind]):.2f} ({span(each[kind])})" if kind in each else "" for kind in kinds]
        lines.append([f"{batch}", f"{count}", *cells])
    return [
        "## Other schedulers for requests",
        "Cycles over those of dynamic regions, mean and range. Even blocks are what anybody would write: as many "
        "requests in a row for every region. All behind those by turns know the lengths before the first cycle: "
        "dynamic regions that find the longest request first, and static assignments, in which each request goes to "
        "the region with the fewest tiles so far, in the order of the batch or the longest first.",
        grid([*HEAD[:2], *(names[kind] for kind in kinds)], lines),
    ]
