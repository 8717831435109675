"""The tiles and the hardware with which an imported model is fastest within a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from step import Program
from step.errors import InputError
from step.host.paths import named_file
from step.host.progress import Progress, silent
from step.language.parameters import Within, plain, settled
from step.lowering.machines import MACHINES
from step_explore.fitting.fitting import check_scipy
from step_explore.mapping.search import Candidate, Mapper
from step_explore.mapping.words import why
from step_explore.sweeps.axis import Value, grid
from step_explore.sweeps.row import Row
from step_explore.sweeps.sweep import Sweep
from step_explore.tuning.budget import AREA, MEMORY, Budget
from step_torch.tilings import Tilings

OBJECTIVES = ("cycles", "lut_sites", "on_chip_bytes")

CANDIDATES, FINALISTS, RUNS = 50, 3, 40


@dataclass(frozen=True, repr=False)
class Mapped(Sweep):
    """Choices of an import as rows, each with hardware within the budget, or with the reason why it has none.

    Fields are those of `step.Sweep`, and:

    ``entries``: the same choices with their programs.
    ``budget``: the budget.
    ``choices``: how many there were to choose from.
    ``smaller``: the fastest within parts of the LUT sites, which are rows too.
    ``interrupted``: Ctrl-C came, and these are the best so far.

    >>> found = step_torch.map("tests/step_torch/captured/page.pt2", luts=200_000)  # doctest: +SKIP
    >>> found.best().lut_sites <= 200_000, found.fitted()  # doctest: +SKIP
    (True, <program page: 40 operators, 9 inputs>)
    """

    entries: tuple[Candidate, ...] = ()
    budget: Budget = field(default_factory=lambda: Budget({}))
    choices: int = 0
    smaller: Mapping[int, Candidate] = field(default_factory=dict)
    interrupted: bool = False

    def best(self, measure: str = "cycles") -> Row:
        """The first row within the budget with the least of ``measure``; raises as `Sweep.best`."""
        return super().best(measure)

    def fitted(self, row: Row | None = None) -> Program:
        """The program of ``row``, by default of the `best` one, on its hardware.

        Raises `InputError` for a row that was given none.
        """
        wanted = self.best() if row is None else row
        for each in (*self.entries, *self.smaller.values()):
            if each.row is wanted and each.program is not None:
                return each.program
        raise InputError(f"no hardware was chosen for {dict(wanted.point)}: it is {wanted.status}")

    @property
    def why(self) -> str:
        """Why the best one is the best: what limits it, and what others would take."""
        return why(self.entries, self.best(), self.budget, self.smaller)

    def __repr__(self) -> str:
        return f"<{self.program} mapped: {len(self.rows)} choices, the best takes {self.best().cycles:,} cycles>"


def map(
    model: Path | str,
    *,
    luts: float | None = None,
    memory_bytes: float | None = None,
    bytes_per_cycle: float | None = None,
    over: Mapping[str, Sequence[Value]] | None = None,
    settings: Sequence[str] = (),
    candidates: int = CANDIDATES,
    finalists: int = FINALISTS,
    runs: int = RUNS,
    progress: Progress = silent,
) -> Mapped:
    """Tiles and hardware for a captured module: the choice with the fewest cycles within a budget.

    Every choice is an import with hardware of its own: lanes of operators, links, ports, depths of channels. An integer
    program on closed formulas picks it, and the fast model runs it.

    ``model``: a .pt2 file. A language model of `capture_decoding` is whole, with a prompt that is in all layers, and
    two tokens behind it.
    ``luts``: LUT sites at most, by default those of the machine that ``settings`` name.
    ``memory_bytes``: bytes of on-chip memory at most, with the contents of FIFOs.
    ``bytes_per_cycle``: bytes a cycle that off-chip memory moves.
    ``over``: values for parameters of `Tiling` in the place of those that are tried by themselves.
    ``settings``: parameters of the fabric: ``"fabric.stages=2"``.
    ``candidates``: choices that run.
    ``finalists``: the best so many of these get links of their own for every operator.
    ``runs``: runs of neighbours of the best of all.
    ``progress``: told what is going on.

    Ctrl-C ends the search, and the best so far is the result. Raises `InputError` for a budget that nothing is within,
    with what would be needed, and what `load` raises. Needs SciPy.

    >>> over = {"rows": [8], "columns": [16], "depth": [0], "sum": ["ordered"], "held": [True]}
    >>> found = step_torch.map("tests/step_torch/captured/page.pt2", luts=200_000, over=over, candidates=1, runs=0)
    >>> found.best().lut_sites <= 200_000
    True
    """
    numbers = Annotated[float, Within(0, math.inf)]
    if bytes_per_cycle is not None:
        bytes_per_cycle = settled(bytes_per_cycle, numbers, "bytes_per_cycle", InputError)
    counts = {"candidates": candidates, "finalists": finalists, "runs": runs}
    for name, count in counts.items():
        settled(count, Annotated[int, Within(0 if name == "runs" else 1, math.inf)], name, InputError)
    check_scipy("step_torch.map")
    path = named_file(model, "a captured module")
    tilings = Tilings(path, bytes_per_cycle, tuple(settled(settings, Iterable[Any], "settings", InputError)))
    machine = tilings.fabric().machine
    if luts is None and (machine is None or not MACHINES[machine].parts):
        raise InputError("a mapping needs a budget of luts, or a machine that has some: machine=U55C")
    given = {AREA: MACHINES[machine].parts["luts"] if luts is None and machine else luts, MEMORY: memory_bytes}
    budget = Budget({key: settled(each, numbers, key, InputError) for key, each in given.items() if each is not None})
    values = settled({} if over is None else over, Mapping, "over", InputError)
    listed = {name: settled(each, Iterable[Any], name, InputError) for name, each in values.items()}
    axes = tilings.axes({name: [plain(value) for value in each] for name, each in listed.items()})
    points = grid(axes)
    found, smaller, interrupted = Mapper(tilings.program, budget, **counts, progress=progress).search(points)
    of = path.stem, tuple(axes), OBJECTIVES, tuple(each.row for each in (*found, *smaller.values()))
    return Mapped(*of, tuple(found), budget, len(points), smaller, interrupted)
