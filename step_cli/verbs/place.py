"""``step place``."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated

from step_cli.console import show, table
from step_cli.files import save_picture
from step_cli.options import Count, Picture, ProgramAndInputs, Written
from step_cli.verb import NATURAL, verb, worked
from step_explore.placing.placement import place
from step_show.floor import crowd, floor


def floor_of(text: str | None) -> tuple[int, int] | Path | None:
    """Columns and rows of ``COLUMNSxROWS``, or the file of a grid."""
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,9}x[0-9]{1,9}", text):
        return Path(text)
    columns, _, rows = text.partition("x")
    return int(columns), int(rows)


@verb
def command(
    *,
    program: ProgramAndInputs,
    grid: Annotated[
        str | None, "COLSxROWS|FILE", floor_of, "Places (default: the smallest square), or their file."
    ] = None,
    hop: Annotated[int, NATURAL, "Registers on the way from a place to the next one."] = 1,
    tracks: Annotated[Count, "The most channels that pass side by side between two places."],
    seed: Annotated[int, NATURAL, "Equal seeds give equal places."] = 0,
    save: Annotated[Written, "Write the fabric with the hops of its channels, for --fitted."],
    plot: Annotated[Picture, "Draw the floor (.svg, .png or .pdf)."],
) -> None:
    """Units on a grid: hops of every channel by its distance, and the cycles that this takes."""
    found = worked(place, program=program.load())
    if save is not None:
        found.file().save(save)
    if plot is not None:
        save_picture(lambda figure: floor(found, figure.add_subplot()), (8, 8), plot)
    steps = Counter(found.steps(each) for each in found.netlist.channels)
    plain = {
        "program": found.program.name,
        "grid": (found.grid.columns, found.grid.rows),
        "hop": hop,
        "cycles": found.cycles,
        "without": found.near,
        "tried": found.tried,
        "tracks": max(found.passing.values(), default=0),
        "places": found.places,
        "hops": dict(found.program.fabric.hops),
    }
    title = f"{found.program.name} on {found.grid}: {found.near:,} cycles without distance, {found.cycles:,} with it"
    show(plain, [table(title, ("steps", "channels"), sorted(steps.items())), crowd(found)], save, plot)
