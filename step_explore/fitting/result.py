"""What a fit found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.files.fitted import FittedFile
from step.programs.metrics import metrics
from step.programs.program import Program
from step.running.interpreter import bind
from step_explore.fitting.trials import Choice


@dataclass(frozen=True)
class Given:
    """What operators that are alike were given: ``lanes`` (0: they have none) and words of ``link`` bytes of those that
    they had; the busiest of ``names`` is busy for ``busy`` of the ``cycles``."""

    names: tuple[str, ...]
    had_lanes: int
    lanes: int
    had_link: int
    link: int
    busy: int
    cycles: int

    @property
    def title(self) -> str:
        """What a table calls them."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} and {len(self.names) - 1} alike"

    @property
    def narrower(self) -> bool:
        """Whether they have less than they had."""
        return self.lanes < self.had_lanes or self.link < self.had_link

    @property
    def why(self) -> str:
        """In words."""
        part = f"busy {100 * self.busy / max(1, self.cycles):.0f} % of the cycles"
        return f"{part} with that" if self.narrower else f"{part}: it needs all"


@dataclass(frozen=True, repr=False)
class Fitted:
    """What was found for ``program``: the ``best`` choice beside the one ``asked`` for, and the ``front`` of LUT sites
    and cycles of all that ran, the smallest first. ``given``: what each operator with lanes or words got."""

    program: Program
    asked: Choice
    best: Choice
    given: tuple[Given, ...]
    front: tuple[Choice, ...]
    runs: int

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
        found = (metrics(self.program, each.fabric).bind(known) for each in (self.asked, self.best))
        asked, best = (float(each.energy.total) for each in found)
        return asked, best

    def file(self) -> FittedFile:
        """What a file of it says."""
        best = self.best
        return FittedFile.of(self.program, best.fabric, best.depths, best.cycles, best.area.rounded())

    def __repr__(self) -> str:
        return (
            f"<{self.program.name} fitted: {self.best.area.lut_sites:,.0f} LUT sites instead of "
            f"{self.asked.area.lut_sites:,.0f}, {self.best.cycles:,} cycles instead of {self.asked.cycles:,}>"
        )
