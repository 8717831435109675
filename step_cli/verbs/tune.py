"""``step tune``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from cosim.comparing.compare import compare
from step.errors import SimulationError
from step.host.progress import Progress
from step_cli.console import show_written, talk, working
from step_cli.options import (
    Arguments,
    Best,
    Names,
    PointOptions,
    ProgramName,
    Settings,
    parse_arguments,
    parse_axes,
    parted,
    percent,
)
from step_cli.verb import NATURAL, Default, Note, verb, worked
from step_cli.verbs.sweep import show_sweep, warn_of
from step_explore.sweeps.axis import Value, named
from step_explore.tuning.budget import LIMITED, Budget
from step_explore.tuning.legal import LEGAL
from step_explore.tuning.tune import OBJECTIVES, Tuned, tune


@verb
def command(
    *,
    program: ProgramName,
    arguments: Arguments,
    settings: Settings,
    over: Annotated[
        dict[str, Any],
        partial(parse_axes, stays=LEGAL.fullmatch),
        Note.REQUIRED,
        "NAME=VALUES",
        "As of step sweep, or 1..64:legal, the values of 1 to 64 with which there is a program; repeat for several.",
    ],
    budget: Annotated[
        dict[str, float],
        lambda texts: Budget.parse(texts).limits,
        "NAME=NUMBER",
        f"The most of {', '.join(LIMITED)}: lut_sites=300k, memory_bytes=4Mbit.",
    ],
    objectives: Annotated[Names, Default(",".join(OBJECTIVES)), "--objective"],
    within: Annotated[float, percent, Default("5%"), "PERCENT", "Cycles that a fit may lose."],
    as_is: Annotated[bool, "The fabric as it is: nothing is fitted."],
    runs: Annotated[int, NATURAL, "Choices that each fit tries."] = 20,
    cases: Annotated[
        tuple[dict[str, Value], ...],
        lambda texts: [parse_arguments(parted(each)) for each in texts] or [{}],
        "--case",
        "NAME=VALUE,...",
        "Further arguments, such as seed=1; with several, the worst counts (see --mean).",
    ],
    mean: Annotated[bool, "Of several cases the mean counts."],
    verify: Annotated[
        dict[str, Value] | None,
        lambda text: parse_arguments(parted(text)),
        "NAME=VALUE,...",
        "Compare the best choice in RTL too; with other arguments where it is too large: hidden=32,inner=32.",
    ],
    points: PointOptions,
    best: Best,
) -> None:
    """Look for the parameters of a program that are best within a budget, each choice with hardware fitted to it.

    Ctrl-C shows the best so far; with --save a search goes on where it ended.
    """
    found = worked(tune, within=None if as_is else within, judge="mean" if mean else "worst")
    show_sweep(found)
    warn_of(found.rows)
    if found.interrupted:
        raise KeyboardInterrupt
    if best is not None:
        found.fitted().save(best)
    if verify is not None:
        with working() as progress:
            talk(_verify(found, verify, progress))
    show_written(points.save, best, points.plot)


def _verify(found: Tuned, toy: dict[str, Value], progress: Progress) -> str:
    """A line on the best choice in RTL, with the arguments ``toy`` in the place of its own."""
    assert found.subject is not None
    point = {**found.best().point, **toy}
    own = {name: value for name, value in found.trial.cases[0] if name not in point}
    case = tuple(own.items())
    (made,) = replace(found.trial, cases=(case,)).programs(found.subject, point)
    compared = compare(made, progress=progress)
    if not compared.passed:
        raise SimulationError(f"the best choice, with {named(point)}, differs in RTL; step compare says where")
    return f"the best choice, with {named(point)}, takes {compared.exact_cycles:,} cycles in RTL too, token for token"
