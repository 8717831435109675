"""Results as Markdown: ours beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.published.show.results import Row

HEAD = (
    "| point | cycles | published | ratio | off-chip bytes | on-chip bytes |",
    "|---|---:|---:|---:|---:|---:|",
)


def every_point(rows: Sequence[Row]) -> str:
    """A line per point."""
    return "\n".join([*HEAD, *map(_line, rows)])


def known_points(rows: Sequence[Row]) -> str:
    """A line per point with a published number, and one for all others."""
    known = [row for row in rows if row["published_cycles"]]
    others = [row for row in rows if row not in known]
    parts = [every_point(known)] if known else []
    if others:
        cycles = [int(row["cycles"]) for row in others]
        what = f"{len(others)} {'more points' if known else 'points'} without a published number here"
        parts.append(f"{what}: {min(cycles):,} to {max(cycles):,} cycles.")
    return "\n\n".join(parts)


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
