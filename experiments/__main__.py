"""Run all figures of the paper, on the published timing and on our fabric, and all beyond them, and write their pages.

``python -m experiments`` goes on where it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from experiments import page, queues
from experiments.beyond import studies
from experiments.beyond.page import write_page
from experiments.fabric import explained, products, worst
from experiments.fabric import page as fabric_page
from experiments.fabric.figures import FIGURES
from experiments.fabric.record import CAMPAIGN
from experiments.published import page as published_page
from experiments.published import rows as published_rows
from experiments.published.__main__ import chosen
from experiments.published.show.plots import DRAWN, draw
from experiments.published.show.results import Results
from experiments.rows import RESULTS, ROOT
from experiments.work import Campaign, command
from step.errors import SimulationError
from step.host.files import write_together
from step.sweeps.processes import cores

PAGES: dict[str, Callable[[Path], str]] = {
    "evaluation.md": page.page,
    "evaluation-published.md": published_page.page,
    "evaluation-fabric.md": fabric_page.page,
}
TRACES = replace(CAMPAIGN, figures={"traces": CAMPAIGN.figures["traces"]})
BESIDE: tuple[Campaign, ...] = (products.CAMPAIGN, worst.CAMPAIGN, TRACES)
"""What our fabric is asked beside the figures."""
BEYOND = "evaluation-beyond.md"
"""That has pictures beside it."""


@click.command()
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--pages", type=click.Path(path_type=Path, file_okay=False), default=ROOT / "docs")
@click.option("--plots", "drawn", type=click.Path(path_type=Path, file_okay=False), help="Draw the figures, too.")
@click.option("--smoke", is_flag=True, help="Run a few small points of every kind, and write no pages.")
@click.option("--anew", is_flag=True, help="Run figures again that have results of other sources.")
@click.option("--jobs", type=click.IntRange(1), default=cores, help="Processes; one per core unless given.")
def main(results: Path, pages: Path, drawn: Path | None, smoke: bool, anew: bool, jobs: int) -> None:
    """Run what has no results yet."""
    tell = partial(click.echo, err=True)
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
        write_together({pages / name: text(results).encode() for name, text in PAGES.items()})
        write_page(pages / BEYOND, results)
        tell(f"{', '.join((*PAGES, BEYOND))} are in {pages}")
    if drawn is not None:
        for prefix in ("published", "fabric"):
            for text in draw(Results(results, prefix), DRAWN, drawn):
                tell(text)
    if failed:
        raise SimulationError(f"no result for {'; '.join(failed)}")


if __name__ == "__main__":
    command(main)
