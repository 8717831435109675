"""Schedules that fit into a given on-chip memory, and the fastest of them.

The other tables give each point the room that it needs (`step_models.fabrics.fitting`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from experiments.fabric import worst
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import grid
from experiments.rows import Row

CAPACITIES = tuple(1 << power for power in range(5, 12))
"""Of on-chip memory, in MB."""
SHOWN = (
    ("9", "mixtral "),
    ("9", "qwen "),
    ("10", "mixtral "),
    ("10", "qwen "),
    ("12", ""),
    ("17", "mixtral "),
    ("17", "qwen "),
)
"""Figures, and what the names of schedules of the same work begin with."""
NONE = "none fits"


def fastest(rows: Iterable[Row], room: Callable[[Row], int], capacity: int) -> Row | None:
    """The fastest one that ``capacity`` bytes have ``room`` for."""
    return min((row for row in rows if room(row) <= capacity), key=lambda row: int(row["cycles"]), default=None)


def table(results: Path) -> str:
    """A line per work and capacity; empty without results. Where nothing changes there is no line."""
    lines: list[list[str]] = []
    for figure, start in SHOWN:
        rows = [row for row in CAMPAIGN.read(results, figure) if row["point"].startswith(start)]
        most, before = worst.known(results, figure), [""]
        for capacity in CAPACITIES:
            line = _line(rows, most, capacity * 10**6)
            if line != before and any(each != NONE for each in line[:3]):
                lines.append([figure, start.strip() or "qwen", f"{capacity:,}", *line])
                before = line
    names = ["figure", "model", "MB", "static", "dynamic, this routing", "dynamic, any routing"]
    return grid([*names, "static / dynamic, this routing", "static / dynamic, any routing"], lines) if lines else ""


def words(results: Path) -> str:
    """The meaning of the table, beside what `fitting` does otherwise."""
    rows = [row for figure, _ in SHOWN for row in CAMPAIGN.read(results, figure)]
    pages = [json.loads(row["fabric"])["page_bytes"] for row in rows]
    return (
        "Each point above has a fabric large enough for it: a page, which holds the largest tile of a buffer, has "
        f"from {min(pages):,} to {max(pages):,} bytes, and tiles of dynamic size may have any number of rows. Here the "
        "on-chip memory is given. The table has the fastest schedule that fits: of static tiles; of dynamic ones with "
        "this routing, unknown in advance; and of dynamic ones that fit any routing, as hardware needs. A size that is "
        "not in the table has the schedule of the next smaller one."
    )


def _line(rows: Sequence[Row], most: dict[str, int], capacity: int) -> list[str]:
    dynamic = [row for row in rows if row["point"] in most]
    static = fastest((row for row in rows if row["point"] not in most), _measured, capacity)
    found = [fastest(dynamic, room, capacity) for room in (_measured, lambda row: most[row["point"]])]
    gains = [f"{int(static['cycles']) / int(each['cycles']):.2f}" if static and each else "" for each in found]
    return [*(_told(each) for each in (static, *found)), *gains]


def _measured(row: Row) -> int:
    return int(row["on_chip_bytes"])


def _told(row: Row | None) -> str:
    return (
        NONE
        if row is None
        else f"{row['point'].removeprefix('mixtral ').removeprefix('qwen ')}: {int(row['cycles']):,}"
    )
