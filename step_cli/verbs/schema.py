"""``step schema``."""

from __future__ import annotations

import json
from typing import Annotated

import click

from step.programs.files.json_file import schema, schema_names
from step_cli.verb import Note, verb


def command(name: Annotated[str | None, Note.ARGUMENT]) -> None:
    """Print the JSON Schema of a file format, or the names of all."""
    if name is None:
        click.echo("\n".join(schema_names()))
    else:
        click.echo(json.dumps(schema(name), indent=1))


command = verb(command, json=False)
