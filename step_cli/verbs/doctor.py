"""``step doctor``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import step
from cosim.building.doctor import Diagnosis, diagnose
from step.errors import EnvironmentProblem, expect
from step.host.progress import Progress
from step_cli.console import show, working
from step_cli.verb import verb


@verb
def command(
    *, prepare: Annotated[bool, "Make now what first runs wait for: run a small program on the fast model and in RTL."]
) -> None:
    """List the tools that the toolkit needs: found, minimum, and how to mend what is missing."""
    findings = diagnose()
    missing = [each.tool for each in findings if each.required and not each.ok]
    if prepare and not missing:
        with working() as progress:
            findings += _prepared(progress)
    show([*map(asdict, findings)], map(str, findings))
    expect(not missing, f"missing or too old: {', '.join(missing)}", EnvironmentProblem)


def _prepared(progress: Progress) -> Iterator[Diagnosis]:
    """Runs of a program on the back ends that make something before the first one, with the time that they took."""
    graph = step.Graph("prepared")
    graph.source("x", step.Tile(step.FP32), [1]).sink("y")
    program = step.Program(graph, {"x": [1]})
    needs: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("approx", "fast model", {"engine": "compiled"}),
        ("rtl", "RTL", {}),
    )
    for backend, what, options in needs:
        started = time.monotonic()
        step.run(program, backend, progress=progress, **options)
        yield Diagnosis(what, f"ran in {time.monotonic() - started:.1f} s", None, True)
