"""``step map``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from step.errors import InputError
from step.host.amounts import BYTES_A_CYCLE
from step.host.files import write_atomically, writing
from step.running.result import Status
from step_cli.console import show_written, talk, warn, working
from step_cli.options import Amount, best_option, json_option, plot_option, settings_option, writable
from step_cli.sweep import show_sweep
from step_explore.sweeps.axis import Value, parse_axis
from step_explore.sweeps.plot import check_plot
from step_explore.sweeps.row import REFUSED
from step_explore.sweeps.table import check_format, encode
from step_explore.tuning.budget import AREA, MEMORY, Budget
from step_torch.mapping.mapping import CANDIDATES, FINALISTS, OBJECTIVES, RUNS, map
from step_torch.mapping.tilings import NAMES


@click.command("map")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--luts", required=True, metavar="NUMBER", help="The most LUT sites: 300k.")
@click.option("--ram", metavar="NUMBER", help="The most on-chip memory, with the contents of FIFOs: 4Mbit, 500kB.")
@click.option(
    "--bytes-per-cycle", type=Amount(BYTES_A_CYCLE), help="What off-chip memory moves, by default as of step import."
)
@click.option(
    "--over",
    "axes",
    multiple=True,
    metavar="NAME=VALUES",
    help=f"Other values of {', '.join(NAMES)} than those that are tried (depth=0: all of it); repeat for several.",
)
@settings_option
@click.option(
    "--candidates", type=click.IntRange(min=1), default=CANDIDATES, show_default=True, help="That get hardware."
)
@click.option(
    "--finalists", type=click.IntRange(min=1), default=FINALISTS, show_default=True, help="That get links of their own."
)
@click.option("--runs", type=click.IntRange(min=0), default=RUNS, show_default=True, help="Neighbours of the best one.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the rows to a new file (.csv or .parquet).",
)
@best_option
@plot_option
@json_option
def command(
    model: Path,
    luts: str,
    ram: str | None,
    bytes_per_cycle: float | None,
    axes: tuple[str, ...],
    settings: tuple[str, ...],
    candidates: int,
    finalists: int,
    runs: int,
    save: Path | None,
    best: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Choose tiles and hardware for MODEL (.pt2): the fewest cycles within a budget.

    MODEL is of step_torch.capture, or a whole language model of step_torch.capture_decoding.

    Ctrl-C shows, and saves, the best so far.
    """
    if plot is not None:
        check_plot(plot, OBJECTIVES)
    if save is not None:
        check_format(save)
        if save.exists():
            raise InputError(f"{save} is there, and a mapping does not go on: choose another file, or delete it")
    for path in (save, best, plot):
        if path is not None:
            writable(path)
    budget = Budget.parse([f"{AREA}={luts}", *([] if ram is None else [f"{MEMORY}={ram}"])]).limits
    with working() as progress:
        found = map(
            model,
            luts=budget[AREA],
            ram=budget.get(MEMORY),
            bytes_per_cycle=bytes_per_cycle,
            over=_over(axes),
            settings=settings,
            candidates=candidates,
            finalists=finalists,
            runs=runs,
            progress=progress,
        )
    if save is not None:
        with writing(save):
            write_atomically(save, encode(save, [each.name for each in found.axes], found.rows))
    if best is not None:
        found.fitted().save(best)
    within = tuple(row for row in found.rows if row.status == Status.FINISHED)
    shown = found if as_json else replace(found, rows=within)
    if plot is not None:
        shown.plot(plot)
    show_sweep(shown, as_json)
    warn(f"{dict(row.point)}: {row.error}" for row in found.rows if row.status == REFUSED)
    if not as_json:
        others = "over the budget, or slower with any hardware" + ", or not looked at" * found.interrupted
        click.echo(f"{len(found.rows) - len(within)} choices are {others}")
        click.echo(found.why)
        show_written(save, best, plot)
    if found.interrupted:
        ran = f"{len(found.entries)} of {found.choices} choices have run"
        talk(f"the best so far: {ran}, and {len(within)} within the budget")
        raise KeyboardInterrupt


def _over(texts: tuple[str, ...]) -> dict[str, tuple[Value, ...]]:
    over: dict[str, tuple[Value, ...]] = {}
    for axis in (parse_axis(text) for text in texts):
        if axis.name in over:
            raise InputError(f"{axis.name} is given twice")
        over[axis.name] = axis.values
    return over
