"""The result of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.files.fitted import FittedFile
from step.programs.metrics import metrics
from step.programs.program import Program
from step.running.interpreter import bind
from step.running.result import RunResult
from step_explore.fitting.trials import Choice


@dataclass(frozen=True)
class Width:
    """Lanes and links that operators that are alike were given: ``lanes`` (0: they have none) and words of ``link``
    bytes of those that they had; the busiest of ``names`` is busy for ``busy`` of the ``cycles``."""

    names: tuple[str, ...]
    had_lanes: int
    lanes: int
    had_link: int
    link: int
    busy: int
    cycles: int

    @property
    def title(self) -> str:
        """Their name in a table."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} and {len(self.names) - 1} alike"

    @property
    def narrower(self) -> bool:
        """Whether they have less than they had."""
        return self.lanes < self.had_lanes or self.link < self.had_link

    @property
    def why(self) -> str:
        """The reason in words."""
        part = f"busy {100 * self.busy / max(1, self.cycles):.0f} % of the cycles"
        return f"{part} with that" if self.narrower else f"{part}: it needs all"


def widths(choice: Choice, run: RunResult) -> tuple[Width, ...]:
    """Lanes and links of all operators in ``choice``, which has a space; ``run`` says how busy they were."""
    space = choice.space
    assert space is not None
    same: dict[tuple[int, int], list[int]] = {}
    for at, place in enumerate(choice.places):
        same.setdefault((space.group_of[at], place), []).append(at)
    found = []
    for (_, place), units in same.items():
        names, options = tuple(space.units[at].name for at in units), space.units[units[0]].options
        had, mine, busy = options[-1], options[place], max(run.operators[name].busy for name in names)
        found.append(Width(names, had.lanes, mine.lanes, had.link, mine.link, busy, choice.cycles))
    return tuple(found)


@dataclass(frozen=True, repr=False)
class Fitted:
    """Hardware that `step.fit` found for a program.

    ``program``: the program.
    ``asked``: the choice that it asks for.
    ``best``: the choice that was found; both have a ``fabric``, an ``area`` and ``cycles``.
    ``given``: what each operator with lanes or words got.
    ``front``: choices that no other beats in LUT sites and cycles, the smallest first.
    ``runs``: runs of the fast model that it took.
    ``registers``: in words, hops and stages for the clock that was asked for.

    >>> found = step.fit(program, within=0.05)
    >>> found.best.cycles, [each.names for each in found.given]
    (32, [('x',), ('accum_0',), ('y',)])
    """

    program: Program
    asked: Choice
    best: Choice
    given: tuple[Width, ...]
    front: tuple[Choice, ...]
    runs: int
    registers: tuple[str, ...] = ()

    @property
    def fabric(self) -> FabricConfig:
        """The fabric to take."""
        return self.best.fabric

    @property
    def depths(self) -> dict[str, int]:
        """Depths of all channels that the program asks for."""
        return {each.name: each.depth for each in lower(self.program.graph, self.fabric).channels}

    @property
    def loss(self) -> float:
        """The part that it takes more cycles."""
        return self.best.cycles / self.asked.cycles - 1

    @cached_property
    def energies(self) -> tuple[float, float]:
        """Picojoules of what is asked for and of the best one (docs/energy.md), on the program's data, which is
        interpreted for that: links and lanes change where values wait, and so what a bit of them takes."""
        known = bind(self.program)
        asked, best = (metrics(self.program, each.fabric).bind(known) for each in (self.asked, self.best))
        return float(asked.energy.total), float(best.energy.total)

    def file(self) -> FittedFile:
        """The hardware as a file has it."""
        best = self.best
        return FittedFile.of(self.program, best.fabric, best.depths, best.cycles, best.area.rounded())

    def __repr__(self) -> str:
        return (
            f"<{self.program.name} fitted: {self.best.area.lut_sites:,.0f} LUT sites instead of "
            f"{self.asked.area.lut_sites:,.0f}, {self.best.cycles:,} cycles instead of {self.asked.cycles:,}>"
        )
