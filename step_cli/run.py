"""``step run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

from step.errors import InputError, SimulationError
from step.host.figures import check_picture
from step.host.files import writing
from step.host.nearest import did_you_mean
from step.lowering.netlist import Netlist
from step.programs.prepare import prepare
from step.programs.program import Program
from step.running.backend import runner
from step.running.expectation import deviation
from step.running.result import RunResult
from step.running.run import Run
from step.running.waiting import awaited
from step_cli.backends import check_takes, sized, sized_backend_option
from step_cli.console import new_table, show_json, show_table, show_written, warn, working
from step_cli.options import (
    Given,
    binding_option,
    explain_option,
    explainer,
    json_option,
    program_options,
    writable,
)
from step_show.plot.pictures import PLOTS, draw


@click.command()
@program_options
@binding_option
@sized_backend_option
@click.option(
    "--engine",
    type=click.Choice(["compiled", "python"]),
    help="Engine of the fast model (default: the fastest there is).",
)
@click.option("--jump/--no-jump", default=None, help="Count the repetitions of regular phases of approx (default).")
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop a timed run there.")
@click.option("--events", is_flag=True, help="Keep the cycle of every token (with --json or --save).")
@click.option("--waves", type=click.Path(path_type=Path, dir_okay=False), help="Waves of an RTL run (.vcd or .fst).")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the result to this file, as JSON.")
@click.option(
    "--plot",
    "plots",
    multiple=True,
    metavar="NAME=FILE",
    help=f"Draw a picture of the run (.svg, .png or .pdf); NAME is one of {', '.join(PLOTS)}. Repeat for several.",
)
@click.option("--check", is_flag=True, help="Fail unless the outputs are what the program expects.")
@explain_option
@json_option
def command(
    given: Given,
    binding: Path | None,
    name: str | None,
    engine: str | None,
    jump: bool | None,
    max_cycles: int | None,
    events: bool,
    waves: Path | None,
    save: Path | None,
    plots: tuple[str, ...],
    check: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Run a program: interpret it, time it with the fast model, simulate its RTL, or time it as published.

    The table begins with what limits the run, the operators that are busiest: in cycles, and of the run the percentage
    in which each was busy, starved (a token that it needs was not there) and blocked (there was no space for what it
    would send), and the operator that it waited for.
    """
    options: dict[str, Any] = {
        "engine": engine,
        "jump": jump,
        "max_cycles": max_cycles,
        "events": events or None,
        "waves": waves,
    }
    timed = {"explain": explain or None, "plot": plots or None, "binding": binding}
    needed = {option: option for option in options} | {"check": "outputs", **dict.fromkeys(timed, "timed")}
    for option, value in {**options, "check": check or None, **timed}.items():
        if value is not None:
            written = f"--{'no-' if value is False else ''}{option.replace('_', '-')}"
            check_takes(name or "rtl", needed[option], f"{written} has no effect")
    show_path = explainer(as_json) if explain else None
    if events and not (save or as_json):
        raise InputError("--events has no effect without --json or --save")
    pictures = [_picture(each) for each in plots]
    opened = given.program(binding)
    if check and not opened.expected:
        raise InputError("--check needs expected outputs, but the program has none for this data")
    prepared = prepare(opened)
    warn(prepared.doubts)
    if name is None:
        name = "rtl" if check or waves else sized(prepared.netlist)
    if save is not None:
        writable(save)
    failure: SimulationError | None = None
    with working() as progress:
        try:
            result = runner(name, options, progress)(prepared)
            for plot, path in pictures:
                progress(f"drawing {path}")
                draw(plot, Run(opened, result), path)
        except SimulationError as error:
            if error.result is None:
                raise
            failure, result = error, error.result
    if result.engine_reason is not None:
        warn([f"the Python engine ran, which is slower: {result.engine_reason}"])
    if save is not None:
        with writing(save):
            result.save(save)
    if as_json:
        show_json(result.to_json())
    else:
        if failure is None:
            show_result(result, prepared.netlist)
            if show_path is not None:
                show_path(opened, max_cycles)
        show_written(save, waves, *(path for _, path in pictures if failure is None))
    if failure is not None:
        raise failure
    if check:
        line = _checked(opened, result)
        if not as_json:
            click.echo(line)


def _picture(text: str) -> tuple[str, Path]:
    """``NAME=FILE``, where NAME is one of `PLOTS`; raises `InputError` for others, and as `check_picture`."""
    name, _, file = text.partition("=")
    if name not in PLOTS or not file:
        hint = "" if name in PLOTS else did_you_mean(name, PLOTS)
        raise InputError(f"--plot must be NAME=FILE, not {text!r}; {hint}there are {', '.join(PLOTS)}")
    path = Path(file)
    check_picture(path)
    writable(path)
    return name, path


def _checked(program: Program, result: RunResult) -> str:
    """A line that says that the outputs are as expected; raises `SimulationError` where they are not."""
    found = deviation(program, result.outputs or {})
    assert found is not None
    if not found.close:
        raise SimulationError(f"{found.first}; the tolerance is {found.tolerance:.2%} of the largest one expected")
    names = ", ".join(program.expected)
    return f"ok: {names} as expected, within {found.relative:.2%} (tolerance {found.tolerance:.2%})"


def show_result(result: RunResult, netlist: Netlist) -> None:
    """The run as a table per operator, the busiest first, and its outputs in short."""
    engine = "" if result.engine is None else f" ({result.engine} engine)"
    jumped = f", {result.jumped_cycles:,} of them jumped over" if result.jumped_cycles else ""
    if result.operators:
        waits = awaited(netlist, result)
        table = new_table(
            f"{result.program} on {result.backend}{engine}: {result.cycles:,} cycles{jumped}",
            *("operator", "busy", "of run", "starved", "blocked", "waits for"),
            names=("waits for",),
        )
        for name, each in sorted(result.operators.items(), key=lambda item: -item[1].busy):
            shares = [_share(cycles, result.cycles) for cycles in (each.busy, each.starved, each.blocked)]
            table.add_row(escape(name), f"{each.busy:,}", *shares, escape(waits.get(name, "-")))
        show_table(table)
    if result.traffic:
        moved = [sum(getattr(each, way) for each in result.traffic.values()) for way in ("read_bytes", "written_bytes")]
        click.echo("off-chip traffic: {:,} bytes read, {:,} written".format(*moved))
    if result.buffers:
        most = ", ".join(f"{name} {size:,}" for name, size in result.buffers.items())
        click.echo(f"on-chip memory: {result.buffer_bytes:,} bytes at most, {most}")
    for name, tokens in (result.outputs or {}).items():
        values = [token.value for token in tokens if token.has_value]
        first = (
            np.array2string(np.asarray(values[0], dtype=float), precision=4, threshold=8)
            if values and isinstance(values[0], np.ndarray)
            else str(values[:1])
        )
        click.echo(f"{name}: {len(values)} elements, the first one {first}")


def _share(cycles: int, of: int) -> str:
    return f"{cycles / of:.0%}" if of else "-"
