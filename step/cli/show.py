"""``step show``."""

from __future__ import annotations

from pathlib import Path

import click

from step.cli.console import show_json, show_written
from step.cli.options import json_option, open_program, settings_option, writing
from step.errors import InputError
from step.host.files import write_atomically
from step.programs.drawing import dot, svg, text
from step.programs.serialize import graph_to_json


@click.command()
@click.argument("program")
@settings_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dot", "svg"]),
    help="Default: from the name of the output, else text.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@json_option
def command(program: str, settings: tuple[str, ...], form: str | None, output: Path | None, as_json: bool) -> None:
    """Show a program: operators and streams with their types, as text, Graphviz or SVG."""
    if settings and as_json:
        raise InputError("--set has no effect with --json, which shows the graph alone")
    graph = open_program(program, None, settings).graph
    if as_json:
        show_json(graph_to_json(graph))
        return
    if form is None:
        form = output.suffix.removeprefix(".") if output and output.suffix in (".dot", ".svg") else "text"
    drawn = {"text": text, "dot": dot, "svg": svg}[form](graph)
    if output is None:
        click.echo(drawn, nl=False)
    else:
        with writing(output):
            write_atomically(output, drawn.encode())
        show_written(output)
