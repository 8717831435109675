"""Run figures of the paper on the fabric's fast model: ``python -m experiments.fabric 9 15``; all without a number.

A file ``fabric_figN.csv`` has a row per point, with all that it was made of. Points that it has already are not run
again; a file of other sources is refused. ``--table`` writes a page of the results that there are and runs nothing;
with ``--plots`` each figure is drawn, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from experiments.fabric.figures import FIGURES
from experiments.fabric.plots import DRAWN, plot
from experiments.fabric.points import Point
from experiments.fabric.record import COLUMNS, measured, sources
from experiments.fabric.smoke import smoke
from experiments.fabric.tables import table
from experiments.rows import RESULTS, read, resumed, write
from step.errors import StepError
from step.host.files import write_atomically


def not_run(chosen: Mapping[str, Callable[[], Iterator[Point]]], results: Path) -> str:
    """A list of the points that have no results yet."""
    lines = ["## Not run yet", ""]
    for name, points in chosen.items():
        there = {row["point"] for row in read(results / f"fabric_fig{name}.csv")}
        if missing := [point.name for point in points() if point.name not in there]:
            lines.append(f"- Figure {name}: {', '.join(missing)}")
    return "\n".join([*lines, ""])


@click.command()
@click.argument("figures", nargs=-1, type=click.Choice(list(FIGURES)))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--only", help="Run the points with this in their names.")
@click.option("--smoke", "small", is_flag=True, help="Run one small workload of every kind instead.")
@click.option("--anew", is_flag=True, help="Run figures again that have results of other sources.")
@click.option("--table", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write a page; run nothing.")
@click.option("--plots", type=click.Path(path_type=Path, file_okay=False), help="Draw the figures into this folder.")
def main(
    figures: tuple[str, ...],
    results: Path,
    only: str | None,
    small: bool,
    anew: bool,
    page: Path | None,
    plots: Path | None,
) -> None:
    """Run FIGURES (all, if none are given)."""
    chosen = {"smoke": smoke} if small else {name: FIGURES[name] for name in figures or FIGURES}
    parts = []
    for name, points in chosen.items():
        path = results / f"fabric_fig{name}.csv"
        made_of = "" if page else sources(name)
        rows = read(path) if page else resumed(path, made_of, anew=anew)
        known = {row["point"] for row in rows}
        for point in () if page else points():
            if point.name not in known and (only is None or only in point.name):
                rows.append(measured(point, made_of))
                write(path, COLUMNS, rows)
                click.echo(f"figure {name}, {point.name}: {int(rows[-1]['cycles']):,} cycles", err=True)
        if rows:
            if plots is not None and name in DRAWN:
                plots.mkdir(parents=True, exist_ok=True)
                write_atomically(plots / f"fabric_fig{name}.svg", plot(name, rows))
            parts.append(table(name, rows, read(RESULTS / f"published_fig{name}.csv")))
    if page is None:
        click.echo("\n".join(parts))
    else:
        introduction = Path(__file__).with_name("introduction.md").read_text()
        write_atomically(page, "\n".join([introduction, *parts, not_run(chosen, results)]).encode())


if __name__ == "__main__":
    try:
        main()
    except StepError as error:
        sys.exit(f"error: {error}")
