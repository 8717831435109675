"""Run all figures of the paper, on the published timing and on our fabric, and all beyond them, and write their page.

``python -m experiments`` goes on where it was interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from experiments import queues
from experiments.beyond import studies
from experiments.fabric import explained, products, worst
from experiments.fabric.figures import FIGURES
from experiments.fabric.record import CAMPAIGN
from experiments.page import NAME, write_page
from experiments.published import rows as published_rows
from experiments.published.__main__ import chosen
from experiments.published.show.plots import DRAWN, draw
from experiments.published.show.results import Results
from experiments.rows import RESULTS, ROOT
from experiments.work import Campaign, command
from step.errors import SimulationError
from step.sweeps.processes import cores

TRACES = replace(CAMPAIGN, figures={"traces": CAMPAIGN.figures["traces"]})
BESIDE: tuple[Campaign, ...] = (products.CAMPAIGN, worst.CAMPAIGN, TRACES)
"""What our fabric is asked beside the figures."""


@click.command()
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--pages", type=click.Path(path_type=Path, file_okay=False), default=ROOT / "docs")
@click.option("--plots", "drawn", type=click.Path(path_type=Path, file_okay=False), help="Draw the figures, too.")
@click.option("--show", is_flag=True, help="Write the page of the results that there are, and run nothing.")
@click.option("--smoke", is_flag=True, help="Run a few small points of every kind, and write no page.")
@click.option("--anew", is_flag=True, help="Run figures again that have results of other sources.")
@click.option("--jobs", type=click.IntRange(1), default=cores, help="Processes; one per core unless given.")
def main(results: Path, pages: Path, drawn: Path | None, show: bool, smoke: bool, anew: bool, jobs: int) -> None:
    """Run what has no results yet."""
    tell = partial(click.echo, err=True)
    if show:
        write_page(pages, results)
        return
    failed = published_rows.CAMPAIGN.run(chosen((), smoke, None), results, jobs, tell, anew=anew)
    if smoke:
        tasks = [("smoke", point.name) for point in CAMPAIGN.figures["smoke"]()]
        failed += CAMPAIGN.run(tasks, results, jobs, tell, anew=anew)
        failed += studies.run(studies.STUDIES, results, jobs, tell, first=1, anew=anew)
    else:
        failed += queues.CAMPAIGN.run([("15", point.name) for point in queues.points()], results, jobs, tell, anew=anew)
        tasks = [(figure, point.name) for figure, points in FIGURES.items() for point in points()]
        failed += CAMPAIGN.run(tasks, results, jobs, tell, anew=anew)
        for campaign in BESIDE:
            tasks = [(figure, point.name) for figure, points in campaign.figures.items() for point in points()]
            failed += campaign.run(tasks, results, jobs, tell, anew=anew)
        explained.run(list(FIGURES), results, tell, anew=anew)
        failed += studies.run(studies.STUDIES, results, jobs, tell, anew=anew)
        pages.mkdir(parents=True, exist_ok=True)
        write_page(pages, results)
        tell(f"{NAME} is in {pages}")
    if drawn is not None:
        for prefix in ("published", "fabric"):
            for text in draw(Results(results, prefix), DRAWN, drawn):
                tell(text)
    if failed:
        raise SimulationError(f"no result for {'; '.join(failed)}")


if __name__ == "__main__":
    command(main)
