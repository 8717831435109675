"""``step show``."""

from __future__ import annotations

from pathlib import Path

import click

from step.errors import InputError
from step.host.files import write_atomically, writing
from step.programs.files.serialize import graph_to_json
from step.programs.pictures.drawing import dot, drawn, svg
from step.programs.pictures.outline import text
from step.programs.pictures.sketch import sketch
from step.programs.program import Program
from step_cli.console import show_json, show_written
from step_cli.options import Given, given_options, json_option

BY_ENDING = {"": "text", ".txt": "text", ".dot": "dot", ".svg": "svg", ".png": "png", ".pdf": "pdf"}
BINARY = ("png", "pdf")


@click.command()
@given_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dot", "svg", "png", "pdf"]),
    help="Default: from the name of the output, else text.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@json_option
def command(given: Given, form: str | None, output: Path | None, as_json: bool) -> None:
    """Show a program: operators with their parameters, ports, streams with their types, and depths of channels.

    As text, in Graphviz' language, or as a picture; PNG and PDF need Graphviz.
    """
    if given.settings and as_json:
        raise InputError("--set has no effect with --json, which shows the graph alone")
    opened = given.program()
    if as_json:
        show_json(graph_to_json(opened.graph))
        return
    if form is None:
        form = "text" if output is None else _form(output)
    if output is None and form in BINARY:
        raise InputError(f"a {form.upper()} must go to a file: give -o FILE.{form}")
    shown = _shown(opened, form)
    if output is None:
        click.echo(shown, nl=False)
    else:
        with writing(output):
            write_atomically(output, shown)
        show_written(output)


def _form(output: Path) -> str:
    if output.suffix not in BY_ENDING:
        endings = ", ".join(filter(None, BY_ENDING))
        raise InputError(f"the name of the output must end in one of {endings}, or give --format; not {str(output)!r}")
    return BY_ENDING[output.suffix]


def _shown(program: Program, form: str) -> bytes:
    if form == "text":
        return text(program.graph, program.fabric).encode()
    picture = sketch(program.graph, program.fabric)
    return drawn(picture, form) if form in BINARY else {"dot": dot, "svg": svg}[form](picture).encode()
