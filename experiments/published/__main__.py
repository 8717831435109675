"""Run figures of the paper on the published timing: ``python -m experiments.published 8 14 --results results``.

A file ``published_figN.csv`` has a row per point, with all that it was made of. Points that it has already are not run
again; a file of other sources is refused. Without figures it runs all; `experiments.published.page` makes the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from experiments.published.claims import table
from experiments.published.points import FIGURES
from experiments.published.rows import ROOT, measured, read, sources, write
from step.errors import StepError

SMOKE = {"8": ("64x128",), "15": ("B=16 coarse", "B=16 interleaved")}
"""Points that take seconds."""


@click.command()
@click.argument("figures", nargs=-1, type=click.Choice(list(FIGURES)))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=ROOT / "experiments" / "results")
@click.option("--smoke", is_flag=True, help="Run a few points that take seconds, of all figures that have some.")
@click.option("--only", help="Run the points with this in their names.")
def main(figures: tuple[str, ...], results: Path, smoke: bool, only: str | None) -> None:
    """Run FIGURES (all, if none are given)."""
    digest = sources()
    for figure in figures or (SMOKE if smoke else FIGURES):
        path = results / f"published_{'fig' if figure.isdigit() else ''}{figure}.csv"
        rows = read(path, digest)
        known = {row["point"] for row in rows}
        for point in FIGURES[figure]():
            if smoke and point.name not in SMOKE.get(figure, ()):
                continue
            if point.name in known or (only and only not in point.name):
                continue
            rows.append(measured(point, digest))
            write(path, rows)
            click.echo(f"figure {figure}, {point.name}: {rows[-1]['cycles']:,} cycles", err=True)
        click.echo(f"## {figure}\n\n{table(rows)}\n")


if __name__ == "__main__":
    try:
        main()
    except StepError as error:
        sys.exit(f"error: {error}")
