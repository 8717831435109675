"""``step sweep``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape

from step.errors import InputError
from step_cli.console import new_table, show_json, show_table, show_written, warn, working
from step_cli.options import (
    Given,
    jobs_option,
    json_option,
    parse_arguments,
    per_option,
    plot_option,
    program_options,
    rows_option,
    scheduler_option,
    tokens_option,
    writable,
)
from step_cli.quantities import quantity
from step_explore.sweeps.axis import parse_axis
from step_explore.sweeps.front import check_objectives
from step_explore.sweeps.plot import check_plot
from step_explore.sweeps.row import NUMBERS, PER_TOKEN, PICO, Row
from step_explore.sweeps.sweep import OBJECTIVES, Sweep, sweep

SHOWN = {name: NUMBERS[name] for name in ("cycles", PER_TOKEN, *NUMBERS) if NUMBERS[name].heading}
"""Measures of a row that are shown, in this order."""

OPTIONAL = (PER_TOKEN, "useful_flops_per_cycle")
"""Measures that are shown where they say something: tokens, and padding."""


@click.command()
@program_options
@click.option(
    "--over",
    "axes",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="memory.channels=1,2,4, fabric.matmul_lanes=16..256 (doubled), rows=4..12:4 (in steps); repeat for several.",
)
@click.option(
    "--objective",
    default=",".join(OBJECTIVES),
    show_default=True,
    metavar="NAME,NAME,...",
    help="What should be small: of this is the front, and what --search looks for.",
)
@click.option("--search", type=click.IntRange(min=1), metavar="N", help="Not all points: N that a search chooses.")
@click.option("--seed", type=click.IntRange(min=0), help="That of the search.  [default: 0]")
@per_option
@tokens_option
@rows_option
@plot_option
@jobs_option
@scheduler_option
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop every run there.")
@json_option
def command(
    given: Given,
    axes: tuple[str, ...],
    objective: str,
    search: int | None,
    seed: int | None,
    per: str | None,
    tokens: str | None,
    save: Path | None,
    plot: Path | None,
    jobs: int | None,
    scheduler: str | None,
    max_cycles: int | None,
    as_json: bool,
) -> None:
    """Run a program on the fast model with many parameters, and show which points no other one beats.

    A name that begins with fabric. or memory. is a parameter of the fabric, all others are those of the function of
    PROGRAM.
    """
    if seed is not None and search is None:
        raise InputError("--seed has no effect without --search")
    if jobs is not None and scheduler is not None:
        raise InputError("--jobs has no effect with --scheduler, whose workers run the points")
    objectives = objective.split(",")
    check_objectives(objectives)
    if plot is not None:
        check_plot(plot, objectives)
        writable(plot)
    over = {}
    for each in map(parse_axis, axes):
        if each.name in over:
            raise InputError(f"{each.name} is swept over twice")
        over[each.name] = each.values
    settings, depths = given.fitting(over)
    with working() as progress:
        found = sweep(
            given.spec,
            over,
            inputs=given.inputs,
            arguments=parse_arguments(given.arguments),
            settings=settings,
            depths=depths,
            objectives=objectives,
            search=search,
            seed=seed or 0,
            per=per.split(",") if per else (),
            tokens=tokens,
            save=save,
            plot=plot,
            jobs=jobs,
            scheduler=scheduler,
            max_cycles=max_cycles,
            progress=progress,
        )
    show_sweep(found, as_json)
    if not as_json:
        show_written(save, plot)
    warn_of(found.rows)


def show_sweep(found: Sweep, as_json: bool) -> None:
    """The rows as a table, or as JSON."""
    if as_json:
        front = set(map(id, found.front))
        show_json([{**row.plain(), "front": id(row) in front} for row in found.rows])
    else:
        _show_rows(found)


def _show_rows(found: Sweep) -> None:
    names = [each.name for each in found.axes]
    front = set(map(id, found.front))
    best = f"{len(front):,} of them on the front of {', '.join(found.objectives)}"
    best += f", for each {', '.join(found.per)}" if found.per else ""
    shown = {name: what for name, what in SHOWN.items() if name not in OPTIONAL or _differs(name, found.rows)}
    table = new_table(
        f"{found.program}: {len(found.rows):,} points, {best}",
        *("", *names, "status", *(each.heading for each in shown.values()), "bound by"),
        names=("status", "bound by"),
    )
    for row in found.rows:
        cells = [str(row.point[name]) for name in names]
        numbers = [_shown(getattr(row, name), each.unit) for name, each in shown.items()]
        best = "*" if id(row) in front else ""
        table.add_row(best, *map(escape, cells), row.status, *numbers, escape(row.bound or "-"))
    show_table(table)


def _differs(name: str, rows: Sequence[Row]) -> bool:
    """Whether a measure of `OPTIONAL` is known, and not the same as that without it."""
    return any(getattr(row, name) not in (None, row.flops_per_cycle) for row in rows)


def _shown(value: float | None, unit: str | None) -> str:
    if value is None:
        return "-"
    if unit is None:
        return f"{value:,}"
    return quantity(value * PICO if unit == "J" else value, unit)


def warn_of(rows: tuple[Row, ...]) -> None:
    """A warning for every kind of error, with the number of points that have it."""
    errors: dict[str, int] = {}
    for row in rows:
        if row.error is not None:
            errors[row.error] = errors.get(row.error, 0) + 1
    warn(f"{count} of {len(rows)} points: {error}" for error, count in errors.items())
