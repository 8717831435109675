"""Choices of hardware that were tried: their area by formulas, and their cycles by the fast model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sim_approx.simulator import Simulator
from step.errors import ProgramError
from step.host.progress import Progress
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.program import Program
from step.running.result import RunResult, Status
from step_explore.areas import Area, area_of
from step_explore.fitting.space import Places, Space


@dataclass(frozen=True)
class Choice:
    """A ``fabric``, the ``area`` of the program on it, and the ``cycles`` of a run; with ``depths`` of channels that
    are not those of the program. ``places``: the options of a ``space`` that it has, where it is of one."""

    fabric: FabricConfig
    area: Area
    cycles: int
    depths: Mapping[str, int] = field(default_factory=dict)
    space: Space | None = field(default=None, repr=False, compare=False)
    places: Places = field(default=(), repr=False, compare=False)

    @property
    def cost(self) -> tuple[int, int]:
        """LUT sites and cycles."""
        return round(self.area.lut_sites), self.cycles


class Trials:
    """Runs of ``program`` on other fabrics, none of them twice."""

    def __init__(self, program: Program, progress: Progress) -> None:
        self.program, self._progress = program, progress
        self.known: dict[FabricConfig, Choice | None] = {}

    def netlist(self, fabric: FabricConfig) -> Netlist:
        """The program on ``fabric``."""
        return lower(self.program.graph, fabric)

    def choice(self, space: Space, places: Places | None) -> Choice | None:
        """The choice with these options of ``space``; None where there are none, where the run fails, or can not be."""
        if places is None:
            return None
        found = self.on(space.fabric(places), lambda: space.area(places))
        return found and replace(found, space=space, places=places)

    def on(self, fabric: FabricConfig, area: Callable[[], Area] | None = None) -> Choice | None:
        """The program on ``fabric``, where it has this ``area``; None where the run fails, or can not be."""
        if fabric not in self.known:
            result, found = self.run(fabric), None
            if result is not None and result.status == Status.FINISHED:
                found = Choice(fabric, area() if area else area_of(self.netlist(fabric)), result.cycles)
            self.known[fabric] = found
            self._progress(f"{len(self.known):,} choices have run")
        return self.known[fabric]

    def run(self, fabric: FabricConfig) -> RunResult | None:
        """A run on ``fabric``; None where the program can not be on it."""
        try:
            return Simulator(self.program, fabric=fabric).attempt().result
        except ProgramError:
            return None

    @property
    def choices(self) -> list[Choice]:
        """All that ended."""
        return [each for each in self.known.values() if each is not None]


def firings(result: RunResult) -> dict[str, int]:
    """Numbers of firings, by unit."""
    return {name: each.firings or 0 for name, each in result.operators.items()}
