"""Hardware within an area for one program of many: in seconds, where `step_explore.fitting.search` takes minutes.

The area decides how wide links can be; one integer program chooses lanes, and for those that it is worth it another
one links as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from step.host.progress import silent
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.program import Program
from step_explore.areas import Area, area_of
from step_explore.fitting.candidates import Candidates
from step_explore.fitting.choices import NARROWEST, Space
from step_explore.fitting.depths import shallower
from step_explore.fitting.goal import Goal
from step_explore.fitting.grain import COARSE, LINKED, Grain
from step_explore.fitting.search import SPARE, Found, Search
from step_explore.fitting.trials import Choice, Trials, firings

ROOM = 2
"""How many times the area with a lane in every unit there should be: the rest is for lanes."""

GAP = 0.02
"""The part by which paths may be longer than the shortest ones: formulas are no more exact."""


@dataclass(frozen=True, eq=False)
class Quickly:
    """Hardware with at most the ``limits`` for ``program``, with at most the links and lanes of its fabric."""

    program: Program
    goal: Goal

    @cached_property
    def trials(self) -> Trials:
        """What has run."""
        return Trials(self.program, silent)

    @cached_property
    def least(self) -> Area:
        """The area with the narrowest links, and a lane in every unit."""
        return area_of(self._netlist(self.narrowest))

    @property
    def narrowest(self) -> FabricConfig:
        """That with the narrowest links, and a lane in every unit."""
        return _bare(self._fabrics[-1])

    def rough(self) -> Found | None:
        """With one width for all links; None where nothing fits the limits."""
        fabric = self._base
        return None if fabric is None else self._chosen(fabric, COARSE)

    def linked(self, rough: Found) -> Found:
        """The better one of ``rough`` and of what has a width for the links of every unit."""
        assert self._base is not None
        wider = [each for each in self._fabrics if each.link_bytes <= 2 * self._base.link_bytes]
        found = self._chosen(wider[0], LINKED)
        return rough if found is None else min(rough, found, key=lambda each: self.goal.cost(each[0]))

    def improved(self, found: Found, runs: int) -> Choice:
        """The best of ``runs`` neighbours from ``found`` on, with channels that are less deep."""
        search = Search(self.trials, found[0], self.goal, 0)
        choice, _, _ = search.improved(found, len(self.trials.known) + runs)
        return shallower(self.trials, choice, self.goal)

    @cached_property
    def _fabrics(self) -> list[FabricConfig]:
        """Those with narrower links, the widest first."""
        widths = [self.program.fabric.link_bytes]
        while widths[-1] // 2 >= NARROWEST:
            widths.append(widths[-1] // 2)
        return [as_wide(self.program.fabric, each) for each in widths]

    @cached_property
    def _base(self) -> FabricConfig | None:
        """The widest links that leave room for lanes, else the narrowest ones if these fit."""
        for fabric in self._fabrics:
            if self.goal.over(area_of(self._netlist(_bare(fabric))).times(ROOM)) == 0:
                return fabric
        return self._fabrics[-1] if self.goal.over(self.least) == 0 else None

    def _chosen(self, fabric: FabricConfig, grain: Grain) -> Found | None:
        """What the integer program chooses of the options on ``fabric``, as much smaller as has to be."""
        return min(self._candidates(fabric, grain), key=lambda each: self.goal.cost(each[0]), default=None)

    def _candidates(self, fabric: FabricConfig, grain: Grain) -> Iterator[Found]:
        result = self.trials.run(fabric)
        if result is None:
            return
        netlist = self._netlist(fabric)
        space = Space.of(netlist, grain)
        programs = Candidates.by_formulas(space, firings(result), GAP)
        rest = area_of(netlist) - space.parts(space.asked)
        for part in SPARE:
            spare = {name: most * part - getattr(rest, name) for name, most in self.goal.limits.items()}
            chosen = programs.fastest(spare, together=grain is COARSE)
            choice = None if chosen is None else self.trials.choice(space, chosen)
            if choice is not None and chosen is not None and self.goal.misses(choice) == 0:
                yield choice, space, chosen
                return

    def _netlist(self, fabric: FabricConfig) -> Netlist:
        return lower(self.program.graph, fabric)


def _bare(fabric: FabricConfig) -> FabricConfig:
    """``fabric`` with a lane in every unit."""
    return replace(fabric, matmul_lanes=1, vector_lanes=1)


def as_wide(fabric: FabricConfig, link: int) -> FabricConfig:
    """``fabric`` with links of so many bytes, and ports of memory as wide, of the same bandwidth."""
    memory = fabric.memory
    if memory.dram is None:
        channels = max(1, memory.channels * memory.beat_bytes // link)
        interval = channels * link / memory.bandwidth
        if interval == int(interval) and interval >= 1:
            memory = replace(memory, beat_bytes=link, channels=channels, interval=int(interval))
    return replace(fabric, link_bytes=link, memory=memory)
