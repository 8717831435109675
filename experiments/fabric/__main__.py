"""Run figures of the paper on the fabric's fast model: ``python -m experiments.fabric 9 15``; all without a number.

A file ``fabric_figN.csv`` has a row per point, with all that it was made of. Points that it has already are not run
again; a file of other sources is refused. ``--explain`` says what limits the best and the worst points, ``--plots``
draws the figures, and `experiments.fabric.page` makes the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from experiments.fabric import explained
from experiments.fabric.figures import FIGURES, SHOWN
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.tables import table
from experiments.published.show.plots import DRAWN, draw
from experiments.published.show.results import Results
from experiments.rows import RESULTS
from experiments.work import Task, command
from step.errors import SimulationError
from step.sweeps.processes import cores


def chosen(figures: tuple[str, ...], only: str | None) -> Iterator[Task]:
    """The points to run."""
    for figure in figures:
        for point in CAMPAIGN.figures[figure]():
            if only is None or only in point.name:
                yield figure, point.name


@click.command()
@click.argument("figures", nargs=-1, type=click.Choice([*FIGURES, *SHOWN]))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--only", help="Run the points with this in their names.")
@click.option("--smoke", is_flag=True, help="Run one small workload of every kind instead.")
@click.option("--anew", is_flag=True, help="Run figures again that have results of other sources.")
@click.option("--jobs", type=click.IntRange(1), default=cores, help="Processes; one per core unless given.")
@click.option("--explain", is_flag=True, help="Say what limits the best and the worst points.")
@click.option("--plots", type=click.Path(path_type=Path, file_okay=False), help="Draw the figures into this folder.")
def main(
    figures: tuple[str, ...],
    results: Path,
    only: str | None,
    smoke: bool,
    anew: bool,
    jobs: int,
    explain: bool,
    plots: Path | None,
) -> None:
    """Run FIGURES (all, if none are given)."""
    run = ("smoke",) if smoke else tuple(dict.fromkeys(SHOWN.get(each, each) for each in figures or FIGURES))
    tell = partial(click.echo, err=True)
    failed = CAMPAIGN.run(chosen(run, only), results, jobs, tell, anew=anew)
    for figure in run:
        click.echo(f"## {figure}\n\n{table(figure, results)}\n")
    if explain:
        explained.run([each for each in run if each in FIGURES], results, tell, anew=anew)
    if plots is not None:
        for text in draw(Results(results, "fabric"), figures or DRAWN, plots):
            tell(text)
    if failed:
        raise SimulationError(f"no result for {'; '.join(failed)}")


if __name__ == "__main__":
    command(main)
