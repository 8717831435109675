"""``step schema``."""

from __future__ import annotations

import click

from step.programs.files.json_file import schema, schema_names
from step_cli.console import show_json


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Print the JSON Schema of a file format, or the names of all."""
    if name is None:
        click.echo("\n".join(schema_names()))
    else:
        show_json(schema(name))
