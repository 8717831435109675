"""The rows of the published timing: a point each, with all that it was made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from inspect import getfile
from pathlib import Path

from experiments import layers
from experiments.published.point import PublishedPoint
from experiments.published.points import FIGURES
from experiments.rows import PUBLISHED, digest
from experiments.work import Experiment
from sim_published.backend import run
from sim_published.metrics import LOADED, equation_bytes, moved_bytes, off_chip_bytes, on_chip_bytes
from step.errors import Defect

COLUMNS = (
    *("point", "cycles", "published_cycles", "off_chip_bytes", "published_off_chip_bytes", "on_chip_bytes"),
    *("published_on_chip_bytes", "all_on_chip_bytes", "used_on_chip_bytes", "equation_on_chip_bytes", "elements"),
    *("cpu_seconds", "version", "sources", "profile"),
)
"""On-chip bytes are those of the published figures; of all operators; of those that got an element; and of these by
the equations of the paper."""


def sources(figure: str) -> str:
    """A digest of the files that decide the results, of any ``figure``; what only shows them does not."""
    made_of = (each for each in sorted(Path(__file__).parent.glob("*.py")) if each.name != "page.py")
    return digest("files", PUBLISHED, getfile(layers), *made_of)


def measured(point: PublishedPoint) -> dict[str, object]:
    """The row of a point.

    Raises `Defect` where a run moved other bytes than the symbolic metrics say.
    """
    graph, inputs = point.make()
    result = run(graph, inputs, profile=point.profile)
    silent = {name.partition(".")[0] for name, each in result.channels.items() if each.tokens <= 1}
    loaded, values = point.profile.scalar_bytes or LOADED, point.symbols
    off_chip, moved = off_chip_bytes(graph, values, loaded), moved_bytes(graph, result, loaded)
    if off_chip != moved:
        raise Defect(f"{point.name}: the run moved {moved:,} bytes off chip, but the metrics say {off_chip:,}")
    published = point.bytes or (None, None)
    return {
        "cycles": result.cycles,
        "published_cycles": point.cycles,
        "off_chip_bytes": off_chip,
        "published_off_chip_bytes": published[0],
        "published_on_chip_bytes": published[1],
        "on_chip_bytes": on_chip_bytes(graph, values, silent if point.skips else ()),
        "all_on_chip_bytes": on_chip_bytes(graph, values),
        "used_on_chip_bytes": on_chip_bytes(graph, values, silent),
        "equation_on_chip_bytes": equation_bytes(graph, values, silent),
        "elements": result.tokens,
        "profile": json.dumps(asdict(point.profile), sort_keys=True),
    }


CAMPAIGN = Experiment("published", COLUMNS, FIGURES, measured, sources)
