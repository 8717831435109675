"""Choices that were tried: their area by formulas, and their cycles by the fast model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from step.areas import Area
from step.errors import ProgramError
from step.fitting.choices import Lanes, Space
from step.host.progress import Progress
from step.lowering.fabric import FabricConfig
from step.programs.program import Program
from step.running.result import RunResult, Status
from step.running.simulator import Simulator


@dataclass(frozen=True)
class Choice:
    """A ``fabric``, the ``area`` of the program on it, and the ``cycles`` of a run."""

    fabric: FabricConfig
    area: Area
    cycles: int

    @property
    def cost(self) -> tuple[int, int]:
        """LUT sites and cycles."""
        return round(self.area.lut_sites), self.cycles


class Trials:
    """Runs of ``program`` on other fabrics, none of them twice."""

    def __init__(self, program: Program, progress: Progress) -> None:
        self._program, self._progress = program, progress
        self.known: dict[FabricConfig, Choice | None] = {}

    def choice(self, space: Space, lanes: Lanes) -> Choice | None:
        """``lanes`` on the fabric of ``space``; None where the run fails, or can not be."""
        fabric = space.fabric(lanes)
        if fabric not in self.known:
            result = self.run(fabric)
            finished = result is not None and result.status == Status.FINISHED
            self.known[fabric] = Choice(fabric, space.area(lanes), result.cycles) if finished and result else None
            self._progress(f"{len(self.known):,} choices have run")
        return self.known[fabric]

    def run(self, fabric: FabricConfig) -> RunResult | None:
        """A run on ``fabric``; None where the program can not be on it."""
        try:
            return Simulator(self._program, fabric=fabric).attempt().result
        except ProgramError:
            return None

    @property
    def choices(self) -> list[Choice]:
        """All that ended."""
        return [each for each in self.known.values() if each is not None]


def firings(space: Space, result: RunResult) -> list[int]:
    """Of each group, how often the operator fires that does so most often."""
    counts: Mapping[str, int] = {name: each.firings or 0 for name, each in result.operators.items()}
    return [max(counts[name] for name in group.names) for group in space.groups]
