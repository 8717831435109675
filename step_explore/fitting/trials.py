"""Choices that were tried: their area by formulas, and their cycles by the fast model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sim_approx.simulator import Simulator
from step.errors import ProgramError
from step.host.progress import Progress
from step.lowering.fabric import FabricConfig
from step.programs.program import Program
from step.running.result import RunResult, Status
from step_explore.areas import Area
from step_explore.fitting.choices import Chosen, Space


@dataclass(frozen=True)
class Choice:
    """A ``fabric``, the ``area`` of the program on it, and the ``cycles`` of a run; with ``depths`` of channels that
    are not those of the program."""

    fabric: FabricConfig
    area: Area
    cycles: int
    depths: Mapping[str, int] = field(default_factory=dict)

    @property
    def cost(self) -> tuple[int, int]:
        """LUT sites and cycles."""
        return round(self.area.lut_sites), self.cycles


class Trials:
    """Runs of ``program`` on other fabrics, none of them twice."""

    def __init__(self, program: Program, progress: Progress) -> None:
        self.program, self._progress = program, progress
        self.known: dict[FabricConfig, Choice | None] = {}

    def choice(self, space: Space, chosen: Chosen) -> Choice | None:
        """What is ``chosen`` in ``space``; None where the run fails, or can not be."""
        return self.on(space.fabric(chosen), lambda: space.area(chosen))

    def on(self, fabric: FabricConfig, area: Callable[[], Area]) -> Choice | None:
        """The program on ``fabric``, where it has this ``area``; None where the run fails, or can not be."""
        if fabric not in self.known:
            result = self.run(fabric)
            finished = result is not None and result.status == Status.FINISHED
            self.known[fabric] = Choice(fabric, area(), result.cycles) if finished and result else None
            self._progress(f"{len(self.known):,} choices have run")
        return self.known[fabric]

    def run(self, fabric: FabricConfig) -> RunResult | None:
        """A run on ``fabric``; None where the program can not be on it."""
        try:
            return Simulator(self.program, fabric=fabric).attempt().result
        except ProgramError:
            return None

    def depths(self, fabric: FabricConfig) -> Callable[[Mapping[str, int]], int | None]:
        """The cycles on ``fabric`` with depths of channels; None where the run fails."""
        simulator = Simulator(self.program, fabric=fabric)

        def run(depths: Mapping[str, int]) -> int | None:
            result = simulator.attempt(depths=dict(depths)).result
            return result.cycles if result.status == Status.FINISHED else None

        return run

    @property
    def choices(self) -> list[Choice]:
        """All that ended."""
        return [each for each in self.known.values() if each is not None]


def firings(result: RunResult) -> dict[str, int]:
    """How often each unit fires."""
    return {name: each.firings or 0 for name, each in result.operators.items()}
