"""``step show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from step.errors import InputError, expect
from step.host.paths import named_file
from step.programs.files.serialize import graph_to_json
from step.programs.pictures.drawing import dot, drawn, svg
from step.programs.pictures.outline import text
from step.programs.pictures.sketch import sketch
from step.programs.prepare import prepare
from step.programs.program import Program
from step_cli.console import as_json, show, show_written, warn, working
from step_cli.files import save, writable
from step_cli.options import FILE, ProgramAndInputs
from step_cli.verb import NATURAL, verb

BY_ENDING = {"": "text", ".txt": "text", ".dot": "dot", ".svg": "svg", ".png": "png", ".pdf": "pdf"}
BINARY = ("png", "pdf")


@verb
def command(
    program: ProgramAndInputs,
    form: Annotated[
        str | None,
        click.Choice([*dict.fromkeys(BY_ENDING.values())]),
        "--format",
        "Default: from the name of the output, else text.",
    ],
    play: Annotated[bool, "Play a run of the fast model: a page (.html) on which the tokens move."],
    first: Annotated[int | None, NATURAL, "--from", "CYCLE", "First cycle that is played."],
    last: Annotated[int | None, NATURAL, "--to", "CYCLE", "Last cycle that is played. Default: the end."],
    output: Annotated[Path | None, FILE, "-o", "--output", "Write to this file."],
) -> None:
    """Show a program: operators with their parameters, ports, streams with their types, and depths of channels.

    As text, in Graphviz' language, or as a picture; PNG and PDF need Graphviz. With --play as a page that stands alone:
    the graph, and on it the tokens of a run, cycle by cycle; a run that fails leaves its page as well.
    """
    if play:
        expect(form is None, "--format has no effect with --play, which writes a page", InputError)
        _play(program.load(), first or 0, last, output)
        return
    if program.inputs or first or last is not None:
        raise InputError("--inputs, --from and --to have no effect without --play")
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


def _play(program: Program, first: int, last: int | None, output: Path | None) -> None:
    """Write the page of a run of ``program``."""
    from step_show.play.player import play as play_of

    path = writable(named_file(output or f"{program.name}.html", "a page", ".html"))
    prepared = prepare(program)
    warn(prepared.doubts)
    with working() as progress:
        made = play_of(prepared, first=first, last=last, progress=progress)
    save(path, made.page)
    show({"page": str(path), "first": first, "last": made.result.cycles - 1}, (), path)
    if made.failure is not None:
        raise made.failure


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
