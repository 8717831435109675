"""The page of what was found, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean

from experiments.beyond.factors import best_static, dynamic_regions, dynamic_tiles, shared_regions
from experiments.beyond.maps import Map, picture
from experiments.beyond.mixtures import BATCHES, REGIONS, SKEWS
from experiments.rows import Row, read
from step.host.files import write_atomically

Maps = Callable[[Sequence[Row]], list[Map]]

PICTURES: dict[str, tuple[str, str, Maps, int]] = {
    "tiles": ("Static and dynamic tiles", "mixtures", dynamic_tiles, 3),
    "regions": ("Regions that experts share", "mixtures", shared_regions, 2),
    "arrivals": ("Requests that come over time", "arrivals", dynamic_regions, 2),
}
"""By name: the heading, the study, the maps, and how many of them stand side by side."""
NOTICED = 1.05
"""A factor from which on a technique pays: less is no reason to build it."""


def write_page(path: Path, results: Path) -> None:
    """Write the page ``path`` of the rows in ``results``, and its pictures into the same folder."""
    for name, (_, study, maps, across) in PICTURES.items():
        write_atomically(path.with_name(f"beyond_{name}.svg"), picture(maps(_rows(results, study)), across))
    write_atomically(path, page(results).encode())


def page(results: Path) -> str:
    """The text: what stands in `introduction.md`, and of each study a picture, a line per map, and tables."""
    mixtures = _rows(results, "mixtures")
    parts = [Path(__file__).with_name("introduction.md").read_text()]
    for name, (heading, study, maps, _) in PICTURES.items():
        lines = [_line(each) for each in maps(_rows(results, study))]
        parts.append("\n".join([f"## {heading}", "", f"![{heading}](beyond_{name}.svg)", "", *lines, ""]))
        if name == "tiles":
            parts += [_best(mixtures, model) for model in REGIONS]
    return "\n".join([*parts, _made_of(results)])


def _rows(results: Path, study: str) -> list[Row]:
    return read(results / f"beyond_{study}.csv")


def _line(found: Map) -> str:
    """How often the factors of a map are worth it, and the extremes."""
    factors = found.factors
    title = found.title.replace("\n", ", ")
    pays = sum(factor >= NOTICED for factor in factors.values())
    loses = sum(factor <= 1 / NOTICED for factor in factors.values())
    most, least = (choose(factors, key=lambda point: factors[point]) for choose in (max, min))
    return (
        f"* {title}: at least {NOTICED:g} in {pays} of {len(factors)} points, at most 1/{NOTICED:g} in {loses}, "
        f"{geometric_mean(factors.values()):.2f} in the mean; "
        f"{factors[most]:.2f} at {_at(found, most)}, {factors[least]:.2f} at {_at(found, least)}"
    )


def _at(found: Map, point: tuple[float, float]) -> str:
    return f"{found.row_label} {point[0]:g} and {found.column_label} {point[1]:g}"


def _best(rows: Sequence[Row], model: str) -> str:
    """A table: the best static tiles over dynamic ones."""
    cycles, memory = best_static(rows, model), best_static(rows, model, "on_chip_bytes")

    def cell(batch: int, skew: float) -> str:
        if (batch, skew) not in cycles:
            return ""
        height, factor = cycles[batch, skew]
        return f"{height}: {factor:.2f}, {memory[batch, skew][1]:.2f}"

    return "\n".join(
        [
            f"The best static tiles of {model}, chosen for each point: their rows, and cycles and on-chip memory "
            "relative to dynamic tiles.",
            "",
            "| batch | " + " | ".join(f"skew {skew:g}" for skew in SKEWS) + " |",
            "|---:|" + "---|" * len(SKEWS),
            *(f"| {batch} | " + " | ".join(cell(batch, skew) for skew in SKEWS) + " |" for batch in BATCHES),
            "",
        ]
    )


def _made_of(results: Path) -> str:
    """What the rows say of their runs."""
    lines = ["## What it took", "", "| study | points | firings | CPU minutes | sources |", "|---|---:|---:|---:|---|"]
    for study in dict.fromkeys(study for _, study, _, _ in PICTURES.values()):
        rows = _rows(results, study)
        seconds = sum(float(row[name]) for row in rows for name in row if name.endswith("seconds"))
        firings = sum(int(row["firings"]) for row in rows)
        sources = ", ".join(f"`{each}`" for each in dict.fromkeys(row["sources"] for row in rows))
        lines.append(f"| {study} | {len(rows)} | {firings:,} | {seconds / 60:.1f} | {sources} |")
    return "\n".join([*lines, ""])
