"""``step doctor``."""

from __future__ import annotations

from dataclasses import asdict

from cosim.building.doctor import diagnose
from step.errors import EnvironmentProblem
from step_cli.console import show
from step_cli.verb import verb


@verb
def command() -> None:
    """List the tools that the toolkit needs: found, minimum, and how to mend what is missing."""
    findings = diagnose()
    show([*map(asdict, findings)], map(str, findings))
    missing = [each.tool for each in findings if each.required and not each.ok]
    if missing:
        raise EnvironmentProblem(f"missing or too old: {', '.join(missing)}")
