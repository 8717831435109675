"""``step tune``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cosim.comparing.compare import compare
from step.errors import InputError, SimulationError
from step.host.progress import Progress
from step_cli.console import show_written, talk, working
from step_cli.options import (
    arguments_option,
    best_option,
    check_kept,
    jobs_option,
    json_option,
    parse_arguments,
    per_option,
    percent,
    plot_option,
    rows_option,
    scheduler_option,
    settings_option,
    tokens_option,
    writable,
)
from step_cli.sweep import show_sweep, warn_of
from step_explore.sweeps.axis import Point, Value, parse_axis
from step_explore.sweeps.plot import check_plot
from step_explore.tuning.budget import LIMITED, Budget
from step_explore.tuning.legal import LEGAL
from step_explore.tuning.tune import OBJECTIVES, Tuned, tune


@click.command()
@click.argument("program")
@arguments_option
@settings_option
@click.option(
    "--over",
    "axes",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="As of step sweep, or 1..64:legal, the values of 1 to 64 with which there is a program; repeat for several.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="NAME=NUMBER",
    help=f"The most of {', '.join(LIMITED)}: lut_sites=300k, memory_bytes=4Mbit.",
)
@click.option("--objective", default=",".join(OBJECTIVES), show_default=True, metavar="NAME,NAME,...")
@click.option("--within", default="5%", show_default=True, metavar="PERCENT", help="Cycles that a fit may lose.")
@click.option("--as-is", is_flag=True, help="The fabric as it is: nothing is fitted.")
@click.option("--runs", type=click.IntRange(min=0), default=20, show_default=True, help="Choices that each fit tries.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Further arguments, such as seed=1; with several, the worst counts (see --mean).",
)
@click.option("--mean", is_flag=True, help="Of several cases the mean counts.")
@click.option("--search", type=click.IntRange(min=1), metavar="N", help="Not all choices: N that a search chooses.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="That of the search.")
@click.option(
    "--verify",
    metavar="NAME=VALUE,...",
    help="Compare the best choice in RTL too; with other arguments where it is too large: hidden=32,inner=32.",
)
@per_option
@tokens_option
@rows_option
@best_option
@plot_option
@jobs_option
@scheduler_option
@json_option
def command(
    program: str,
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    axes: tuple[str, ...],
    budgets: tuple[str, ...],
    objective: str,
    within: str,
    as_is: bool,
    runs: int,
    cases: tuple[str, ...],
    mean: bool,
    search: int | None,
    seed: int,
    verify: str | None,
    per: str | None,
    tokens: str | None,
    save: Path | None,
    best: Path | None,
    plot: Path | None,
    jobs: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Look for the parameters of a program that are best within a budget, each choice with hardware fitted to it.

    Ctrl-C shows the best so far; with --save a search goes on where it ended.
    """
    check_kept({"PROGRAM": Path(program.partition(":")[0])})
    objectives = objective.split(",")
    if plot is not None:
        check_plot(plot, objectives)
    for path in (plot, best):
        if path is not None:
            writable(path)
    toy = None if verify is None else parse_arguments(tuple(verify.split(",")))
    with working() as progress:
        found = tune(
            program,
            _axes(axes),
            budget=Budget.parse(budgets).limits,
            objectives=objectives,
            within=None if as_is else percent(within),
            runs=runs,
            cases=[parse_arguments(tuple(each.split(","))) for each in cases] or [{}],
            judge="mean" if mean else "worst",
            search=search,
            seed=seed,
            arguments=parse_arguments(arguments),
            settings=settings,
            per=per.split(",") if per else (),
            tokens=tokens,
            save=save,
            plot=plot,
            jobs=jobs,
            scheduler=scheduler,
            progress=progress,
        )
    show_sweep(found, as_json)
    warn_of(found.rows)
    if found.interrupted:
        raise KeyboardInterrupt
    if best is not None:
        found.fitted().save(best)
    if toy is not None:
        with working() as progress:
            talk(_verify(found, toy, progress))
    if not as_json:
        show_written(save, best, plot)


def _axes(texts: tuple[str, ...]) -> dict[str, Any]:
    over: dict[str, Any] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name in over:
            raise InputError(f"{name} is swept over twice")
        over[name] = values if LEGAL.fullmatch(values) else parse_axis(text).values
    return over


def _verify(found: Tuned, toy: dict[str, Value], progress: Progress) -> str:
    """A line on the best choice in RTL, with the arguments ``toy`` in the place of its own."""
    assert found.subject is not None
    point = {**found.best().point, **toy}
    own = {name: value for name, value in found.trial.cases[0] if name not in point}
    case = tuple(own.items())
    (made,) = replace(found.trial, cases=(case,)).programs(found.subject, point)
    compared = compare(made, progress=progress)
    if not compared.passed:
        raise SimulationError(f"the best choice, with {_text(point)}, differs in RTL; step compare says where")
    return f"the best choice, with {_text(point)}, takes {compared.exact_cycles:,} cycles in RTL too, token for token"


def _text(point: Point) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
