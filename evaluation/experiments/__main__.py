"""Run the figures of the paper on the published timing and on our fabric, and what is beyond them, and write a page.

``python -m experiments`` goes on where it was interrupted; ``python -m experiments fabric_fig15 beyond`` runs the
points of the result files with names that begin so.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from experiments.fabric import explained
from experiments.fabric.figures import FIGURES
from experiments.fabric.tables import table
from experiments.files import EXPLANATIONS, FILES, SMOKE, named, tasks
from experiments.page import NAME, write_page
from experiments.published.show.plots import DRAWN, draw
from experiments.published.show.results import FigureRows
from experiments.published.show.tables import every_point
from experiments.rows import RESULTS, ROOT
from experiments.work import command
from step.errors import SimulationError
from step.host.progress import Progress

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--results", type=FOLDER, default=RESULTS, help="The folder of the result files.")
@click.option("--pages", type=FOLDER, default=ROOT / "build", help="Where the page goes, once everything was run.")
@click.option("--plots", type=FOLDER, help="Draw the figures into this folder, too.")
@click.option("--only", default="", help="Run the points with this in their names, and write no page.")
@click.option("--smoke", is_flag=True, help="Run a few small points of every kind, and write no page.")
@click.option("--show", is_flag=True, help="Run nothing: write the page of what there is.")
@click.option("--anew", is_flag=True, help="Run files again that have results of other sources.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; one per core unless given.")
@click.option("--scheduler", help="Run on the workers of the Dask scheduler at this address, not here.")
def main(
    names: tuple[str, ...],
    results: Path,
    pages: Path,
    plots: Path | None,
    only: str,
    smoke: bool,
    show: bool,
    anew: bool,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Run the points of the result files whose NAMES begin so, or of all, that have no results yet."""
    tell = partial(click.echo, err=True)
    chosen = list(SMOKE) if smoke else named(names)
    failed: list[str] = []
    if not show:
        for name in chosen:
            failed += _run(name, results, jobs, scheduler, tell, only=only, smoke=smoke, anew=anew)
    if names or smoke:
        for name in chosen:
            _show(name, results)
    elif not only:
        pages.mkdir(parents=True, exist_ok=True)
        write_page(pages, results)
        tell(f"{NAME} is in {pages}")
    if plots is not None:
        _draw(chosen, results, plots, tell)
    if failed:
        raise SimulationError(f"no result for {'; '.join(failed)}")


def _run(
    name: str,
    results: Path,
    jobs: int | None,
    scheduler: str | None,
    tell: Progress,
    *,
    only: str,
    smoke: bool,
    anew: bool,
) -> list[str]:
    """Run what the file ``name`` misses; returns what failed."""
    if name == EXPLANATIONS:
        explained.run(list(FIGURES), results, tell, anew=anew)
        return []
    campaign, figure = FILES[name]
    points = [(figure, each) for each in SMOKE[name]] if smoke else list(tasks(campaign, figure, only))
    return campaign.run(points, results, jobs, tell, anew=anew, scheduler=scheduler)


def _show(name: str, results: Path) -> None:
    """Print the table of a figure."""
    prefix, _, figure = name.partition("_")
    figure = figure.removeprefix("fig")
    if prefix == "published":
        click.echo(f"## {figure}\n\n{every_point(FILES[name][0].read(results, figure))}\n")
    elif prefix == "fabric" and name != EXPLANATIONS:
        click.echo(f"## {figure}\n\n{table(figure, results)}\n")


def _draw(chosen: list[str], results: Path, plots: Path, tell: Progress) -> None:
    """Draw the figures of the files ``chosen``, and those that show something else of them."""
    for prefix in ("published", "fabric"):
        figures = [each for each in DRAWN if set(named([f"{prefix}_fig{each}"])) & set(chosen)]
        for text in draw(FigureRows(results, prefix), figures, plots):
            tell(text)


if __name__ == "__main__":
    command(main)
