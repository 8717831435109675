"""Run figures of the paper on the published timing: ``python -m experiments.published 8 14 --results results``.

A file ``published_figN.csv`` has a row per point, with all that it was made of. Points that it has already are not run
again; a file of other sources is refused. Without figures it runs all; ``--plots`` draws them, and
``python -m experiments --show`` makes the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from experiments.published.points import FIGURES, SHOWN
from experiments.published.rows import CAMPAIGN
from experiments.published.show.plots import DRAWN, draw
from experiments.published.show.results import Results
from experiments.published.show.tables import every_point
from experiments.rows import RESULTS
from experiments.work import Task, command
from step.errors import SimulationError
from step.sweeps.processes import cores

SMOKE = {"8": ("64x128",), "15": ("B=16 coarse", "B=16 interleaved")}
"""Points that take seconds."""


def chosen(figures: tuple[str, ...], smoke: bool, only: str | None) -> Iterator[Task]:
    """The points to run."""
    for figure in dict.fromkeys(SHOWN.get(each, each) for each in figures or (SMOKE if smoke else FIGURES)):
        for point in FIGURES[figure]():
            if (not smoke or point.name in SMOKE.get(figure, ())) and (only is None or only in point.name):
                yield figure, point.name


@click.command()
@click.argument("figures", nargs=-1, type=click.Choice([*FIGURES, *SHOWN]))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--smoke", is_flag=True, help="Run a few points that take seconds, of all figures that have some.")
@click.option("--only", help="Run the points with this in their names.")
@click.option("--anew", is_flag=True, help="Run figures again that have results of other sources.")
@click.option("--jobs", type=click.IntRange(1), default=cores, help="Processes; one per core unless given.")
@click.option("--plots", type=click.Path(path_type=Path, file_okay=False), help="Draw the figures into this folder.")
def main(
    figures: tuple[str, ...],
    results: Path,
    smoke: bool,
    only: str | None,
    anew: bool,
    jobs: int,
    plots: Path | None,
) -> None:
    """Run FIGURES (all, if none are given)."""
    tasks = list(chosen(figures, smoke, only))
    failed = CAMPAIGN.run(tasks, results, jobs, partial(click.echo, err=True), anew=anew)
    for figure in dict.fromkeys(figure for figure, _ in tasks):
        click.echo(f"## {figure}\n\n{every_point(CAMPAIGN.read(results, figure))}\n")
    if plots is not None:
        for text in draw(Results(results, "published"), figures or (SMOKE if smoke else DRAWN), plots):
            click.echo(text, err=True)
    if failed:
        raise SimulationError(f"no result for {'; '.join(failed)}")


if __name__ == "__main__":
    command(main)
