"""``step show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from step.errors import InputError
from step.programs.files.serialize import graph_to_json
from step.programs.pictures.drawing import dot, drawn, svg
from step.programs.pictures.outline import text
from step.programs.pictures.sketch import sketch
from step.programs.program import Program
from step_cli.console import as_json, show, show_written
from step_cli.files import save
from step_cli.options import FILE, ProgramOptions
from step_cli.verb import verb

BY_ENDING = {"": "text", ".txt": "text", ".dot": "dot", ".svg": "svg", ".png": "png", ".pdf": "pdf"}
BINARY = ("png", "pdf")


@verb
def command(
    program: ProgramOptions,
    form: Annotated[
        str | None,
        click.Choice([*dict.fromkeys(BY_ENDING.values())]),
        "--format",
        "Default: from the name of the output, else text.",
    ],
    output: Annotated[Path | None, FILE, "-o", "--output", "Write to this file."],
) -> None:
    """Show a program: operators with their parameters, ports, streams with their types, and depths of channels.

    As text, in Graphviz' language, or as a picture; PNG and PDF need Graphviz.
    """
    if program.settings and as_json():
        raise InputError("--set has no effect with --json, which shows the graph alone")
    opened = program.load()
    if as_json():
        show(graph_to_json(opened.graph), ())
        return
    if form is None:
        form = "text" if output is None else _form(output)
    if output is None and form in BINARY:
        raise InputError(f"a {form.upper()} must go to a file: give -o FILE.{form}")
    shown = _shown(opened, form)
    if output is None:
        click.echo(shown, nl=False)
    else:
        save(output, shown)
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
