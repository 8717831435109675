"""Where does each technique pay? ``python -m experiments.beyond`` runs all points, ``... mixtures`` those of one study.

A file ``beyond_STUDY.csv`` has a row per point, with all that it was made of. Points that it has already are not run
again; a file of other sources is refused, or with ``--anew`` replaced.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from experiments.beyond.studies import STUDIES, run
from experiments.rows import RESULTS
from experiments.work import command
from step.errors import SimulationError
from step.sweeps.processes import cores


@click.command()
@click.argument("studies", nargs=-1, type=click.Choice(list(STUDIES)))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--first", type=click.IntRange(min=1), help="Run only so many points of each study.")
@click.option("--anew", is_flag=True, help="Run studies again that have results of other sources.")
@click.option("--jobs", type=click.IntRange(min=1), default=cores, help="Processes; one per core unless given.")
def main(studies: tuple[str, ...], results: Path, first: int | None, anew: bool, jobs: int) -> None:
    """Run STUDIES (all, if none are given)."""
    failed = run(studies or STUDIES, results, jobs, partial(click.echo, err=True), first=first, anew=anew)
    if failed:
        raise SimulationError(f"no result for {'; '.join(failed)}")


if __name__ == "__main__":
    command(main)
