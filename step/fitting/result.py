"""What a fit found."""

from __future__ import annotations

from dataclasses import dataclass

from step.fitting.trials import Choice
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.files.fitted import FittedFile
from step.programs.program import Program


@dataclass(frozen=True)
class Given:
    """What an operator was given: ``lanes`` of those that it ``had``; it is busy for ``busy`` of the ``cycles``."""

    name: str
    had: int
    lanes: int
    busy: int
    cycles: int

    @property
    def why(self) -> str:
        """In words."""
        part = f"busy {100 * self.busy / max(1, self.cycles):.0f} % of the cycles"
        return f"{part} with all of them" if self.lanes < self.had else f"{part}: it needs them"


@dataclass(frozen=True, repr=False)
class Fitted:
    """What was found for ``program``: the ``best`` choice beside the one ``asked`` for, and the ``front`` of LUT sites
    and cycles of all that ran, the smallest first. ``given``: what each operator with lanes got."""

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

    def file(self) -> FittedFile:
        """What a file of it says."""
        best = self.best
        return FittedFile.of(self.program, best.fabric, best.depths, best.cycles, best.area.rounded())

    def __repr__(self) -> str:
        return (
            f"<{self.program.name} fitted: {self.best.area.lut_sites:,.0f} LUT sites instead of "
            f"{self.asked.area.lut_sites:,.0f}, {self.best.cycles:,} cycles instead of {self.asked.cycles:,}>"
        )
