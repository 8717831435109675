"""Run figures of the paper on the published timing: ``python -m experiments.published 8 14 --results results``.

A file ``figN.csv`` has a row per point, with all that it was made of. Points that it has already are not run again; a
file of other sources is refused. ``--table`` writes ours / published / ratio as Markdown.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import click

from experiments.published.claims import improvement
from experiments.published.points import FIGURES, Point
from sim_published.backend import run
from step.errors import InputError, StepError
from step.host.files import write_atomically

PUBLISHED_IMPROVEMENT = {("9", "mixtral"): 1.33, ("9", "qwen"): 2.11, ("10", "mixtral"): 1.86, ("10", "qwen"): 1.87}
ROOT = Path(__file__).parents[2]
COLUMNS = (
    *("point", "cycles", "published_cycles", "off_chip_bytes", "published_off_chip_bytes", "on_chip_bytes"),
    *("published_on_chip_bytes", "elements", "seconds", "version", "sources", "profile"),
)


def sources() -> str:
    """A digest of the files that decide the results."""
    digest = hashlib.sha256()
    for folder in ("sim_published", "experiments/published"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".cpp"):
                digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def measured(point: Point, digest: str) -> dict[str, object]:
    """The row of a point."""
    graph, inputs = point.make()
    result = run(graph, inputs, profile=point.profile)
    row: dict[str, object] = {"point": point.name, "cycles": result.cycles, "published_cycles": point.cycles}
    if point.count is not None:
        silent = {name.partition(".")[0] for name, each in result.channels.items() if each.tokens <= 1}
        row["off_chip_bytes"], row["on_chip_bytes"] = point.count(graph, silent)
    if point.bytes is not None:
        row["published_off_chip_bytes"], row["published_on_chip_bytes"] = point.bytes
    profile = json.dumps(asdict(point.profile), sort_keys=True)
    return row | {
        "elements": result.tokens,
        "seconds": round(result.wall_seconds, 2),
        "version": version("step-fabric"),
        "sources": digest,
        "profile": profile,
    }


def read(path: Path, digest: str) -> list[dict[str, object]]:
    """The rows that there are; raises `InputError` for those of other sources."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows: list[dict[str, object]] = list(csv.DictReader(file))
    if any(row.get("sources") != digest for row in rows):
        raise InputError(f"{path} has results of other sources; remove it, or give another --results")
    return rows


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """All rows, as a whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def table(figure: str, rows: list[dict[str, object]]) -> str:
    """The rows as Markdown; those without a published number have none."""
    lines = [f"## Figure {figure}", "", "| point | ours | published | ratio |", "|---|---:|---:|---:|"]
    for row in rows:
        ours, known = float(str(row["cycles"])), row["published_cycles"]
        theirs = f"{float(str(known)):,.0f} | {ours / float(str(known)):.4f}" if known else "|"
        lines.append(f"| {row['point']} | {ours:,.0f} | {theirs} |")
    for model in ("mixtral", "qwen"):
        found = improvement(rows, model)
        if found is not None and (figure, model) in PUBLISHED_IMPROVEMENT:
            lines.append(f"\nPID of {model}: {found:.2f}, published {PUBLISHED_IMPROVEMENT[figure, model]}.")
    return "\n".join([*lines, ""])


@click.command()
@click.argument("figures", nargs=-1, type=click.Choice(list(FIGURES)))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=ROOT / "experiments" / "results")
@click.option("--only", help="Run the points with this in their names.")
@click.option("--table", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write a page of all results.")
def main(figures: tuple[str, ...], results: Path, only: str | None, page: Path | None) -> None:
    """Run FIGURES (all, if none are given)."""
    digest, parts = sources(), []
    for figure in figures or FIGURES:
        path = results / f"published_fig{figure}.csv"
        rows = read(path, digest)
        known = {row["point"] for row in rows}
        for point in FIGURES[figure]():
            if point.name in known or (only and only not in point.name):
                continue
            rows.append(measured(point, digest))
            write(path, rows)
            click.echo(f"figure {figure}, {point.name}: {rows[-1]['cycles']:,} cycles", err=True)
        parts.append(table(figure, rows))
    if page is not None:
        write_atomically(page, "\n".join(parts).encode())
    else:
        click.echo("\n".join(parts))


if __name__ == "__main__":
    try:
        main()
    except StepError as error:
        sys.exit(f"error: {error}")
