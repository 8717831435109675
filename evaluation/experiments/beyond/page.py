"""The part of the evaluation beyond the published figures, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from experiments.beyond import arrivals, draws
from experiments.beyond.factors import BALANCED, best_static, drawn_with, dynamic_regions, dynamic_tiles, shared_regions
from experiments.beyond.findings import NOTICED, findings
from experiments.beyond.maps import Map, picture
from experiments.beyond.mixtures import (
    AGAIN,
    BATCHES,
    OTHER_SEEDS,
    REGIONS,
    SEED,
    SHARED_ROWS,
    SHRUNK,
    SKEWS,
    SKEWS_AGAIN,
    shrunk,
)
from experiments.fabric.page import OPERATIONS
from experiments.layers import MODELS
from experiments.rows import Row, moved_as_said, read
from experiments.said import filled, listed
from step.host.files import write_atomically
from step_models.configurations import configuration
from step_models.fabrics import PUBLISHED


@dataclass(frozen=True)
class MapFigure:
    """A part of the page: a picture of the ``maps`` of a ``study``, so many ``across``, and what its colours say."""

    heading: str
    says: str
    study: str
    maps: Callable[[Sequence[Row]], list[Map]]
    across: int


PARTS = {
    "tiles": MapFigure(
        "Static and dynamic tiles",
        "Blue: dynamic tiles are faster, by this factor. All experts have matmuls of their own.",
        "mixtures",
        dynamic_tiles,
        4,
    ),
    "regions": MapFigure(
        "Regions that experts share",
        f"Blue: a shared region does so many times the work of a region for one expert, in tiles of {SHARED_ROWS} "
        "rows. No time is lost where the factor equals that by which there are fewer regions; a factor of one loses "
        "all that was saved.",
        "mixtures",
        shared_regions,
        2,
    ),
    "arrivals": MapFigure(
        "Requests that come over time",
        "Blue: requests are done sooner with dynamic regions, by this factor.",
        "arrivals",
        dynamic_regions,
        2,
    ),
}
"""By the name of the picture."""
HEAD = (f"| | at least {NOTICED:g} | at most {1 / NOTICED:.2f} | mean | most | least |", "|---|---:|---:|---:|---|---|")


def write_pictures(folder: Path, results: Path) -> None:
    """Write the pictures of the rows in ``results`` into ``folder``."""
    for name, part in PARTS.items():
        drawing = picture(part.maps(_once(results, part.study)), part.across)
        write_atomically(folder / f"beyond_{name}.svg", drawing)


def pays(results: Path) -> list[str]:
    """A sentence about each technique of which all was run."""
    return findings(*(_once(results, study) for study in ("mixtures", "arrivals")))


def page(results: Path) -> str:
    """The text: what stands in `introduction.md`, and of each study a picture and a line per map."""
    parts = [f"{introduction()}\n"]
    for name, part in PARTS.items():
        lines = [*HEAD, *(_line(each) for each in part.maps(_once(results, part.study)) if each.factors)]
        shown = f"![{part.heading}](beyond_{name}.svg)"
        parts.append("\n".join([f"## {part.heading}", "", part.says, "", shown, "", *lines, ""]))
        if name == "tiles":
            parts += [_best(_once(results, "mixtures"), model) for model in REGIONS]
    if again := draws.table(_rows(results, "mixtures"), _rows(results, "arrivals")):
        parts += ["## Other draws\n", DRAWN, "", again, ""]
    return "\n".join([*parts, _made_of(results)])


DRAWN = (
    "The factors above at the points that were drawn again: the mean over points with each seed, the mean of these "
    "with its interval, and the point at which the draw decides most."
)


def introduction() -> str:
    """The subject of the studies."""
    models = {name: configuration(MODELS[name]) for name in REGIONS}
    (hidden,) = {shrunk(name).hidden for name in models}
    memory = PUBLISHED.memory
    return filled(
        Path(__file__).with_name("introduction.md"),
        flops=2 * PUBLISHED.matmul_lanes,
        attention=OPERATIONS["14"],
        link=PUBLISHED.link_bytes,
        bandwidth=memory.channels * memory.beat_bytes // memory.interval,
        balanced=BALANCED,
        seed=SEED,
        experts=listed(
            f"{each.experts} with {each.experts_per_token} a token ({name})" for name, each in models.items()
        ),
        shrunk=listed(f"1/{by} ({name})" for name, by in SHRUNK.items()),
        hidden=hidden,
        heavier=" or ".join(str(by) for by in SHRUNK.values()),
        columns=arrivals.SIZE,
        regions=arrivals.REGIONS,
        batches=arrivals.BATCHES,
        batch=arrivals.BATCH,
        mean=arrivals.MEAN,
        block=arrivals.BATCH // arrivals.REGIONS,
        others=listed(OTHER_SEEDS),
        again_batches=listed(f"{listed(batches)} ({name})" for name, batches in AGAIN.items()),
        again_skews=listed(f"{skew:g}" for skew in SKEWS_AGAIN),
        again_loads=listed(f"{load:g}" for load in arrivals.AGAIN),
    )


def _once(results: Path, study: str) -> list[Row]:
    """The rows of the first draw."""
    return drawn_with(_rows(results, study), SEED)


def _rows(results: Path, study: str) -> list[Row]:
    return read(results / f"beyond_{study}.csv")


def _line(found: Map) -> str:
    """A line of a map: how often it pays, and the extremes."""
    factors = found.factors
    pays = sum(factor >= NOTICED for factor in factors.values())
    loses = sum(factor <= 1 / NOTICED for factor in factors.values())
    ends = (choose(factors, key=lambda point: factors[point]) for choose in (max, min))
    cells = (
        found.title.replace("\n", ", "),
        f"{pays} of {len(factors)}",
        f"{loses} of {len(factors)}",
        f"{geometric_mean(factors.values()):.2f}",
        *(f"{factors[point]:.2f}: {found.row_label} {point[0]:g}, {found.column_label} {point[1]:g}" for point in ends),
    )
    return f"| {' | '.join(cells)} |"


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
    """The cost of the runs, by their rows."""
    names = ("study", "points", "moved the bytes of the metric", "firings", "CPU minutes", "sources")
    lines = ["## What it took", "", f"| {' | '.join(names)} |", "|---|---:|---:|---:|---:|---|"]
    for study in dict.fromkeys(part.study for part in PARTS.values()):
        rows = _rows(results, study)
        seconds = sum(float(row["cpu_seconds"]) for row in rows)
        firings = sum(int(row["firings"]) for row in rows)
        sources = ", ".join(f"`{each}`" for each in dict.fromkeys(row["sources"] for row in rows))
        cells = (study, f"{len(rows)}", moved_as_said(rows), f"{firings:,}", f"{seconds / 60:.1f}", sources)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
