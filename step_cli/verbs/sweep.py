"""``step sweep``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from step_cli.console import show, table, warn
from step_cli.options import Count, Names, PointOptions, ProgramAndInputs, parse_axes
from step_cli.verb import Default, Note, verb, worked
from step_explore.sweeps.axis import Value
from step_explore.sweeps.row import CLOCKED, NUMBERS, PER_TOKEN, Measure, Row
from step_explore.sweeps.sweep import OBJECTIVES, Sweep, sweep

SHOWN = {name: NUMBERS[name] for name in ("cycles", PER_TOKEN, *NUMBERS) if NUMBERS[name].heading}
"""Measures of a row that are shown, in this order."""

OPTIONAL = (PER_TOKEN, "useful_flops_per_cycle", *CLOCKED)
"""Measures that are shown where they say something: tokens, padding, and what needs a clock."""


@verb
def command(
    *,
    program: ProgramAndInputs,
    over: Annotated[
        dict[str, tuple[Value, ...]],
        parse_axes,
        Note.REQUIRED,
        "NAME=VALUES",
        "memory.channels=1,2,4, fabric.matmul_lanes=16..256 (doubled), rows=4..12:4 (in steps); repeat for several.",
    ],
    objectives: Annotated[
        Names,
        Default(",".join(OBJECTIVES)),
        "--objective",
        "What should be small: of this is the front, and what --search looks for.",
    ],
    points: PointOptions,
    max_cycles: Annotated[Count, "Stop every run there."],
) -> None:
    """Run a program on the fast model with many parameters, and show which points no other one beats.

    A name that begins with fabric. or memory. is a parameter of the fabric, all others are those of the function of
    PROGRAM.
    """
    settings, depths = program.fitting(over)
    found = worked(sweep, settings=settings, depths=depths)
    show_sweep(found, points.save, points.plot)
    warn_of(found.rows)
    warn(_idle(found))


def show_sweep(found: Sweep, *written: Path | None, more: Sequence[str] = ()) -> None:
    """The rows as a table with ``more`` behind it, or as JSON."""
    front = set(map(id, found.front))
    plain = [{**row.plain(), "front": id(row) in front} for row in found.rows]
    show(plain, chain(_points(found, front), more), *written)


def _points(found: Sweep, front: set[int]) -> Iterator[str]:
    names = [each.name for each in found.axes]
    best = f"{len(front):,} of them on the front of {', '.join(found.objectives)}"
    best += f", for each {', '.join(found.per)}" if found.per else ""
    shown = {name: what for name, what in SHOWN.items() if name not in OPTIONAL or _differs(name, found.rows)}
    title = f"{found.program}: {len(found.rows):,} points, {best}"
    headings = ("", *names, "status", *(each.heading for each in shown.values()), "bound by")
    rows = []
    for row in found.rows:
        numbers = [_shown(getattr(row, name), each) for name, each in shown.items()]
        point = [str(row.point[name]) for name in names]
        rows.append(("*" if id(row) in front else "", *point, row.status, *numbers, row.bound))
    yield table(title, headings, rows, names=("status", "bound by"), keys=1 + len(names))


def _differs(name: str, rows: Sequence[Row]) -> bool:
    """Whether a measure of `OPTIONAL` is known, and not the same as that without it."""
    return any(getattr(row, name) not in (None, row.flops_per_cycle) for row in rows)


def _shown(value: Any, measure: Measure) -> Any:
    """``value`` as a cell of a table."""
    return value if value is None or measure.unit is None else measure.shown(value)


def _idle(found: Sweep) -> Iterator[str]:
    """A warning for every parameter that changes nothing, and for an objective that does not tell points apart."""
    for name in (each.name for each in found.axes):
        alike = defaultdict[tuple[Any, ...], list[tuple[Any, ...]]](list)
        for row in found.rows:
            measures = tuple(getattr(row, each) for each in NUMBERS if each != "seconds")
            alike[tuple(row.point[each] for each in row.point if each != name)].append(measures)
        if len(alike) < len(found.rows) and all(len(set(each)) == 1 for each in alike.values()):
            yield f"{name} changes nothing at these points"
    ended = [row for row in found.rows if row.cycles is not None]
    same = [name for name in found.objectives if len({getattr(row, name) for row in ended}) == 1]
    if len(same) < len(found.objectives):
        yield from (f"{name} is the same at all points; --objective takes others, such as lut_sites" for name in same)


def warn_of(rows: tuple[Row, ...]) -> None:
    """A warning for every kind of error, with the number of points that have it."""
    errors = Counter(row.error for row in rows if row.error is not None)
    warn(f"{count} of {len(rows)} points: {error}" for error, count in errors.items())
