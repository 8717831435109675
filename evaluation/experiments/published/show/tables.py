"""Results as Markdown: ours beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.published.show.results import Row
from experiments.said import span

HEAD = ("| point | cycles | published | ratio | off-chip bytes | on-chip bytes |", "|---|---:|---:|---:|---:|---:|")


def every_point(rows: Sequence[Row]) -> str:
    """A line per point."""
    return "\n".join([*HEAD, *map(_line, rows)])


def known_points(rows: Sequence[Row]) -> str:
    """A line per point that differs from its published number, one for all that do not, and one for all others."""
    known = [row for row in rows if row["published_cycles"]]
    equal = [row for row in known if _as_published(row)]
    differing = [row for row in known if row not in equal]
    parts = [every_point(differing)] if differing else []
    if equal:
        parts.append(_together(equal, "as published"))
    if others := [row for row in rows if row not in known]:
        parts.append(_together(others, "without a published number"))
    return "\n\n".join(parts)


def _together(rows: Sequence[Row], words: str) -> str:
    cycles = [int(row["cycles"]) for row in rows]
    return f"{len(rows)} {'point' if len(rows) == 1 else 'points'} {words}: {span(cycles, ',')} cycles."


def _as_published(row: Row) -> bool:
    """Whether cycles and bytes are published ones; a count of one cycle more is as good."""
    same = all(row[f"published_{name}"] in ("", row[name]) for name in ("off_chip_bytes", "on_chip_bytes"))
    return same and float(row["published_cycles"]) - int(row["cycles"]) in (0, 1)


def _line(row: Row) -> str:
    ours, known = int(row["cycles"]), row["published_cycles"]
    theirs = f"{float(known):,.0f} | {ours / float(known):.4f}" if known else "|"
    return (
        f"| {row['point']} | {ours:,} | {theirs} | {_bytes(row, 'off_chip_bytes')} | {_bytes(row, 'on_chip_bytes')} |"
    )


def _bytes(row: Row, name: str) -> str:
    """Ours, with a sign that says whether they are the published ones, where these are known."""
    ours, known = int(row[name]), row[f"published_{name}"]
    return f"{ours:,}" if not known else f"{ours:,} =" if ours == int(known) else f"{ours:,} (published {int(known):,})"
