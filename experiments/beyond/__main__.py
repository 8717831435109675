"""Where does each technique pay? ``python -m experiments.beyond`` runs all points, ``... mixtures`` those of one study.

A file ``beyond_STUDY.csv`` has a row per point, with all that it was made of. Points that it has already are not run
again; a file of other sources is refused, or with ``--anew`` replaced. ``--page`` writes a page of the results that
there are, with its pictures beside it, and runs nothing.
"""

from __future__ import annotations

import sys
from functools import partial
from inspect import getfile
from pathlib import Path

import click

from experiments.beyond.page import write_page
from experiments.beyond.studies import STUDIES, Study
from experiments.fabric import points
from experiments.fabric.record import ROOMS
from experiments.rows import RESULTS, ROOT, Row, digest, resumed, write
from step.errors import EnvironmentProblem, StepError
from step.sweeps.processes import Processes, cores


def sources(study: str) -> str:
    """A digest of the files that decide the results of ``study``."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*"))]
    paths += [Path(getfile(each)) for each in (points, STUDIES[study])]
    return digest(path for path in paths if path.suffix in (".py", ".hpp", ".json"))


def found(point: Study, made_of: str) -> Row:
    """What a process does."""
    return point.measured(made_of)


def lost(point: Study, reason: str) -> Row:
    """A process was killed: the run ends, and keeps its rows."""
    raise EnvironmentProblem(f"{point.name}: {reason}")


@click.command()
@click.argument("studies", nargs=-1, type=click.Choice(list(STUDIES)))
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=RESULTS)
@click.option("--jobs", type=click.IntRange(min=1), default=cores, help="Processes; by default one per core.")
@click.option("--at-most", type=click.IntRange(min=1), help="Run so many points of each study, those that are missing.")
@click.option("--anew", is_flag=True, help="Run studies again that have results of other sources.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write a page; run nothing.")
def main(
    studies: tuple[str, ...], results: Path, jobs: int, at_most: int | None, anew: bool, page: Path | None
) -> None:
    """Run STUDIES (all, if none are given)."""
    if page is not None:
        write_page(page, results)
        return
    for name in studies or STUDIES:
        path, made_of = results / f"beyond_{name}.csv", sources(name)
        rows = {row["point"]: row for row in resumed(path, made_of, anew=anew)}
        wanted = list(STUDIES[name]())
        missing = [each for each in wanted if each.name not in rows][:at_most]
        with Processes(partial(found, made_of=made_of), jobs, lost) as workers:
            for number, row in enumerate(workers.rows(missing), start=1):
                rows[row["point"]] = row
                write(path, list(row), [rows[each.name] for each in wanted if each.name in rows])
                told = f"{name}, {number} of {len(missing)}, {row['point']}: {int(row['cycles']):,} cycles"
                click.echo(told, err=True)


if __name__ == "__main__":
    try:
        main()
    except StepError as error:
        sys.exit(f"error: {error}")
