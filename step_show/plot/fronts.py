"""A sweep in two objectives: cycles against memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from step.errors import InputError
from step.host.figures import axes_for
from step.host.nearest import did_you_mean
from step_explore.sweeps.front import check_objectives
from step_explore.sweeps.plot import check_two, draw_front
from step_explore.sweeps.row import Row
from step_explore.sweeps.sweep import OBJECTIVES, Sweep


def front(
    sweep: Sweep | Sequence[Row],
    objectives: Sequence[str] | None = None,
    *,
    by: str | None = None,
    per: Sequence[str] | str | None = None,
    ax: Any = None,
) -> Any:
    """The points of ``sweep``, or ``rows`` of several, in two objectives, and their front: cycles against memory.

    Programs with tiles of dynamic size are stars. ``objectives``: up, then across; by default the first two of the
    sweep. ``by``: a parameter whose values have colours. ``per``: parameters each value of which has a front of its
    own, by default those of the sweep. Points of the front have names: the parameters in which rows
    differ, as far as there is room. Returns the axes, ``ax`` or new ones. Raises `InputError` for other objectives and
    parameters.

    >>> found = step.sweep(program, {"fabric.stages": [1, 4]}, jobs=1)
    >>> step.plot.front(found, ("cycles", "lut_sites"), by="fabric.stages").get_xlabel()
    'area [LUTs]'
    """
    rows = sweep if isinstance(sweep, Sequence) else sweep.rows
    given = OBJECTIVES if isinstance(sweep, Sequence) else sweep.objectives
    given = given if objectives is None else tuple(objectives)
    check_objectives(given)
    check_two(given)
    names = {name: None for row in rows for name in row.point}
    each = getattr(sweep, "per", ()) if per is None else (per,) if isinstance(per, str) else tuple(per)
    for name in (by, *each):
        if name is not None and name not in names:
            raise InputError(
                f"the rows have no parameter {name!r}; {did_you_mean(name, names)}they have {', '.join(names)}"
            )
    return draw_front(axes_for(ax), rows, given, getattr(sweep, "program", ""), by, each)
