"""``step doctor``."""

from __future__ import annotations

import click

from cosim.building.doctor import diagnose
from step.errors import EnvironmentProblem
from step_cli.console import show_json
from step_cli.options import Json
from step_cli.verb import verb


@verb
def command(as_json: Json) -> None:
    """List the tools that the toolkit needs: found, minimum, and how to mend what is missing."""
    findings = diagnose()
    if as_json:
        show_json([each.to_json() for each in findings])
    else:
        for each in findings:
            click.echo(str(each))
    missing = [each.tool for each in findings if each.required and not each.ok]
    if missing:
        raise EnvironmentProblem(f"missing or too old: {', '.join(missing)}")
