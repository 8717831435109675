"""``step run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from step.cli.console import show_json, show_table, warn, working
from step.cli.options import json_option, open_program, program_options, writing
from step.errors import InputError, SimulationError
from step.language.validate import check
from step.running.backend import backend
from step.running.result import RunResult

TIMED = ("approx", "rtl")


@click.command()
@program_options
@click.option("--backend", "name", type=click.Choice(["interpret", "approx", "rtl"]), default="rtl", show_default=True)
@click.option(
    "--engine",
    type=click.Choice(["compiled", "python"]),
    help="Engine of the fast model (default: the fastest there is).",
)
@click.option("--max-cycles", type=click.IntRange(min=1), help="Stop a timed run there.")
@click.option("--events", is_flag=True, help="Keep the cycle of every token (with --json or --save).")
@click.option("--waves", type=click.Path(path_type=Path, dir_okay=False), help="Waves of an RTL run (.vcd or .fst).")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the result to this file, as JSON.")
@json_option
def command(
    program: str,
    inputs: Path | None,
    settings: tuple[str, ...],
    name: str,
    engine: str | None,
    max_cycles: int | None,
    events: bool,
    waves: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Run a program: interpret it, time it with the fast model, or simulate its RTL."""
    options: dict[str, Any] = {}
    for option, value, backends in (
        ("engine", engine, ("approx",)),
        ("max_cycles", max_cycles, TIMED),
        ("events", events or None, TIMED),
        ("waves", waves, ("rtl",)),
    ):
        if value is None:
            continue
        if name not in backends:
            raise InputError(
                f"--{option.replace('_', '-')} has no effect with --backend {name}; it needs {' or '.join(backends)}"
            )
        options[option] = value
    if events and not (save or as_json):
        raise InputError("--events has no effect without --json or --save")
    opened = open_program(program, inputs, settings)
    warn(check(opened.graph))
    if save is not None:
        with writing(save):
            pass  # told before the run, not after it
    failure: SimulationError | None = None
    with working() as progress:
        if name == "rtl":
            options["progress"] = progress
        try:
            result = backend(name)(opened.graph, opened.inputs, opened.fabric, **options)
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
    elif failure is None:
        show_result(result)
    if failure is not None:
        raise failure


def show_result(result: RunResult) -> None:
    """The run as a table per operator, and its outputs in short."""
    engine = "" if result.engine is None else f" ({result.engine} engine)"
    if result.operators:
        table = Table(
            "operator",
            "busy",
            "starved",
            "blocked",
            "finished",
            title=f"{result.program} on {result.backend}{engine}: {result.cycles} cycles",
        )
        for column in table.columns[1:]:
            column.justify = "right"
        for name, each in result.operators.items():
            table.add_row(name, str(each.busy), str(each.starved), str(each.blocked), str(each.finished))
        show_table(table)
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
