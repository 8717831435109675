"""docs/distance.md: the evaluation where distance takes cycles, of the result files.

``python -m experiments.distance.page`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

from experiments.distance.points import ATTENTION, CAMPAIGN, HOPS, MIXTURES
from experiments.fabric.points import ARRANGEMENTS
from experiments.fabric.tables import grid
from experiments.rows import RESULTS, ROOT, Row
from experiments.said import filled, laid_out, listed, said, span
from step.host.files import write_atomically

PAGE = ROOT / "docs" / "distance.md"
WAYS = ("cycles", *(f"far{hop}" for hop in HOPS))
"""Columns of cycles, without distance and with it."""
HEADS = ("no distance", *(f"{hop} a step" for hop in HOPS))
BASELINES: Sequence[str]
*BASELINES, DYNAMIC = ARRANGEMENTS
PAIRS = (
    ("the fastest static tiles of Mixtral", "9 mixtral 32", "dynamic ones", "9 mixtral dynamic"),
    ("those of Qwen3", "9 qwen 32", "dynamic ones", "9 qwen dynamic"),
    ("shared regions", "12 static 32", "a region for each expert", "12 static 128"),
    ("shared regions with dynamic tiles", "12 dynamic 32", "static ones", "12 static 32"),
)
"""Two mixtures each, by what they are called."""


def page(results: Path) -> str:
    """The page, with all of its numbers from ``results``."""
    requests, mixtures = (CAMPAIGN.read(results, study) for study in (ATTENTION, MIXTURES))
    gains = {baseline: [_gains(requests, baseline, way) for way in WAYS] for baseline in BASELINES}
    return (
        laid_out(
            filled(
                Path(__file__).with_name("page.md"),
                hops=" or ".join(map(str, HOPS)),
                answer=_answer(gains),
                batches=len(gains[BASELINES[0]][0]),
                gains=grid(["over dynamic", *HEADS], [[name, *map(_gain, each)] for name, each in gains.items()]),
                costs=_shares(requests, [(hop, f"far{hop}", "cycles") for hop in HOPS]),
                mixtures=_mixtures(mixtures),
                mixed=_mixed(mixtures),
                wires=_shares(requests, [(hop, f"wires{hop}", f"far{hop}") for hop in HOPS]),
                steps=span((float(row[f"steps{hop}"]) for row in (*requests, *mixtures) for hop in HOPS), ".1f"),
                most=max(int(row[f"most{hop}"]) for row in (*requests, *mixtures) for hop in HOPS),
            )
        )
        + "\n"
    )


def _kind(rows: Iterable[Row], kind: str) -> dict[str, Row]:
    """Rows of an arrangement, by batch."""
    return {row["point"].rpartition(" ")[0]: row for row in rows if row["point"].endswith(f" {kind}")}


def _gains(rows: Sequence[Row], baseline: str, way: str) -> list[float]:
    """Cycles of ``baseline`` over those of dynamic regions, by batch."""
    own, other = _kind(rows, DYNAMIC), _kind(rows, baseline)
    return [int(other[batch][way]) / int(own[batch][way]) for batch in own]


def _gain(gains: Sequence[float]) -> str:
    return f"{geometric_mean(gains):.3f} ({span(gains)}), {sum(each > 1 for each in gains)}"


def _answer(gains: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """What is left of the lead of dynamic regions."""
    told = [
        f"over {baseline} ones "
        + listed(f"{geometric_mean(each):.2f} times ({head})" for head, each in zip(HEADS, found, strict=True))
        for baseline, found in gains.items()
    ]
    means = [[geometric_mean(each) for each in found] for found in gains.values()]
    return said(
        f"**It wins, by less.** In the mean dynamic regions are faster {listed(told)}.",
        all(mean > 1 for each in means for mean in each),
        all(near > far for near, *_, far in means),
    )


def _shares(rows: Sequence[Row], ratios: Sequence[tuple[int, str, str]]) -> str:
    """A line per arrangement: how much more cycles one column has than another one."""
    lines = []
    for kind in ARRANGEMENTS:
        found = [[int(row[up]) / int(row[down]) - 1 for row in _kind(rows, kind).values()] for _, up, down in ratios]
        lines.append([kind, *(f"{sum(each) / len(each):+.2%} ({max(each):+.2%})" for each in found)])
    return grid(["arrangement", *(f"{hop} a step" for hop, *_ in ratios)], lines)


def _mixtures(rows: Sequence[Row]) -> str:
    lines = [
        [row["point"], row["units"], f"{int(row['cycles']):,}"]
        + [f"{int(row[way]) / int(row['cycles']) - 1:+.2%}" for way in WAYS[1:]]
        for row in rows
    ]
    return grid(["figure, tiles, and rows or regions", "units", "cycles", *HEADS[1:]], lines)


def _mixed(rows: Sequence[Row]) -> str:
    """Pairs of mixtures that do the same work."""
    found = {row["point"]: row for row in rows}
    return " ".join(
        f"Cycles of {what} over those of {other}: "
        + listed(
            f"{int(found[one][way]) / int(found[two][way]):.3f} ({head})" for way, head in zip(WAYS, HEADS, strict=True)
        )
        + "."
        for what, one, other, two in PAIRS
        if found.keys() >= {one, two}
    )


if __name__ == "__main__":
    write_atomically(PAGE, page(RESULTS).encode())
