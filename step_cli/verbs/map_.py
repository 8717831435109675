"""``step map``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from step.errors import InputError
from step.host.amounts import BYTES_A_CYCLE
from step.running.result import Status
from step_cli.console import as_json, talk, warn
from step_cli.files import save as write
from step_cli.options import Amount, Best, Plot, Settings, Written, parse_axes
from step_cli.verb import NATURAL, POSITIVE, Note, verb, worked
from step_cli.verbs.sweep import show_sweep
from step_explore.sweeps.axis import Value
from step_explore.sweeps.row import REFUSED
from step_explore.sweeps.table import check_format, encode
from step_explore.tuning.budget import AREA, MEMORY, Budget
from step_torch.mapped import CANDIDATES, FINALISTS, RUNS, map
from step_torch.tilings import NAMES


def _limit(name: str, text: str) -> float:
    return Budget.parse([f"{name}={text}"]).limits[name]


@verb
def command(
    *,
    model: Annotated[Path, Note.ARGUMENT],
    luts: Annotated[
        float | None, partial(_limit, AREA), "NUMBER", "The most LUT sites, 300k; by default those of the machine."
    ],
    memory_bytes: Annotated[
        float | None,
        partial(_limit, MEMORY),
        "NUMBER",
        "The most on-chip memory, with the contents of FIFOs: 4Mbit, 500kB.",
    ],
    bytes_per_cycle: Annotated[
        float | None, Amount(BYTES_A_CYCLE), "What off-chip memory moves, by default as of step import."
    ],
    over: Annotated[
        dict[str, tuple[Value, ...]],
        partial(parse_axes, twice="{} is given twice"),
        "NAME=VALUES",
        f"Other values of {', '.join(NAMES)} than those that are tried (depth=0: all of it); repeat for several.",
    ],
    settings: Settings,
    candidates: Annotated[int, POSITIVE, "That get hardware."] = CANDIDATES,
    finalists: Annotated[int, POSITIVE, "That get links of their own."] = FINALISTS,
    runs: Annotated[int, NATURAL, "Neighbours of the best one."] = RUNS,
    save: Annotated[Written, "Write the rows to a new file (.csv or .parquet)."],
    best: Best,
    plot: Plot,
) -> None:
    """Choose tiles and hardware for MODEL (.pt2): the fewest cycles within a budget.

    MODEL is of step_torch.capture, or a whole language model of step_torch.capture_decoding.

    Ctrl-C shows, and saves, the best so far.
    """
    if save is not None:
        check_format(save)
        if save.exists():
            raise InputError(f"{save} is there, and a mapping does not go on: choose another file, or delete it")
    found = worked(map)
    if save is not None:
        write(save, encode(save, [each.name for each in found.axes], found.rows))
    if best is not None:
        found.fitted().save(best)
    within = tuple(row for row in found.rows if row.status == Status.FINISHED)
    shown = found if as_json() else replace(found, rows=within)
    if plot is not None:
        shown.plot(plot)
    others = "over the budget, or slower with any hardware" + ", or not looked at" * found.interrupted
    left = f"{len(found.rows) - len(within)} choices are {others}"
    show_sweep(shown, save, best, plot, more=[left, found.why])
    warn(f"{dict(row.point)}: {row.error}" for row in found.rows if row.status == REFUSED)
    if found.interrupted:
        ran = f"{len(found.entries)} of {found.choices} choices have run"
        talk(f"the best so far: {ran}, and {len(within)} within the budget")
        raise KeyboardInterrupt
