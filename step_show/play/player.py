"""One page that plays a run, for a file or a notebook: it needs no network and no other file."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sim_approx.backend import Model
from sim_approx.engine.record import RunRecord
from sim_approx.running.model_run import ModelRun
from step.errors import Deadlock, InputError, SimulationError
from step.host.files import write_atomically, writing
from step.host.paths import named_file
from step.host.progress import Progress
from step.host.texts import filled
from step.host.watching import watched
from step.language.parameters import Within, settled
from step.lowering.fabric import FabricConfig
from step.programs.prepare import Inputs, Openable, Prepared, prepare
from step.running.deadlock import find_waits
from step.running.output import COLOURS
from step.running.result import RunResult
from step_show.play.play_data import play_data
from step_show.waves.recording import checked_limit, ended

Cycle = Annotated[int, Within(0)]

HEIGHT = 640
"""Pixels of a page in a notebook."""


@dataclass(frozen=True, repr=False, eq=False)
class Play:
    """A run as a ``page`` of HTML, which a notebook shows.

    ``result`` is the record of the run, and ``failure`` what is wrong with it, if anything is: the page goes up to
    there.

    >>> played = step.play(program)
    >>> played.result.cycles, played.failure
    (32, None)
    """

    page: str
    result: RunResult
    failure: SimulationError | None

    def save(self, path: Path | str) -> None:
        """Write the page to ``path`` (.html); raises `InputError` where it can not be written."""
        path = named_file(path, "a page", ".html")
        with writing(path):
            write_atomically(path, self.page.encode())

    def __repr__(self) -> str:
        return f"<play of {self.result.program}: {self.result.status}, {self.result.cycles:,} cycles>"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{HEIGHT}px;border:1px solid #ccc"
        return f'<iframe srcdoc="{html.escape(self.page)}" style="{style}"></iframe>'


def play(
    program: Openable | Prepared,
    *,
    inputs: Inputs | None = None,
    fabric: FabricConfig | None = None,
    first: int = 0,
    last: int | None = None,
    progress: Progress | None = None,
) -> Play:
    """A run of ``program`` on the fast model, as a page on which its tokens move.

    A notebook shows the page, `Play.save` writes it. ``inputs`` and ``fabric`` replace the program's own. The page
    begins with the cycle ``first`` and ends with the cycle ``last``, or with the run. ``progress`` as in `step.run`. A
    run that deadlocks or fails is played up to there.

    Raises `InputError` for cycles that the run does not have and for more tokens than a page can hold,
    `EnvironmentProblem` where there is no compiled engine or nothing that lays out a graph, and the errors of a program
    that is wrong; warns as `run` does.

    >>> step.play(program)
    <play of sums: finished, 32 cycles>
    """
    first = settled(first, Cycle, "first", InputError)
    last = None if last is None else settled(last, Cycle, "last", InputError)
    limit = checked_limit(first, last)
    prepared = prepare(program, inputs, fabric)
    if prepared is not program:
        prepared.warn()
    record = RunRecord()
    with watched(progress) as telling:
        run = Model.of(prepared).run(record, events=True, max_cycles=limit, progress=telling)
        return played(run, record, first)


def played(run: ModelRun, record: RunRecord, first: int = 0, report: str = "") -> Play:
    """The page of a ``run`` with its events and its ``record``; ``report``: the page of its explanation, for a link."""
    waits = find_waits(run.netlist, run.snapshot()) if isinstance(run.error, Deadlock) else []
    result, failure = ended(run.finished, first)
    folder, status = Path(__file__).parent / "page", f", {result.status}" if failure else ""
    page = filled(
        folder / "play.html",
        **{"first": first, "end": result.cycles, "colours": COLOURS, "report": report, "failure": failure},
        title=f"{result.program}: {result.cycles:,} cycles{status}",
        style=(folder / "play.css").read_text(),
        script=(folder / "play.js").read_text(),
        data=json.dumps(play_data(run, record, result, waits, first), separators=(",", ":")).replace("<", "\\u003c"),
    )
    return Play(page, result, failure)
