"""Area and clock of a design, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import add
from statistics import median
from typing import Any

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import CellFamily
from hw.fabric import ElaboratedFabric

LARGEST = 3
"""Modules that are named where a design does not fit."""


@dataclass(frozen=True)
class ClockResult:
    """Clocks in MHz, one for each seed, and the slowest path of the median as names of operators and channels, with the
    registers at its ``ends``; and the nanoseconds after which all of each part is reached (``arrivals``)."""

    mhz: tuple[float, ...]
    path: tuple[str, ...]
    ends: tuple[str, ...]
    arrivals: Mapping[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return median(self.mhz)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"mhz": list(self.mhz), "median": self.median, "path": list(self.path), "ends": list(self.ends)}


@dataclass(frozen=True)
class Component:
    """A unit or channel: its module, what it takes, and for a placed unit its clock, or its ``levels`` of logic."""

    name: str
    kind: str
    module: str
    area: Cells
    clock: ClockResult | None = None
    levels: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "area": self.area.to_json(), "clock": self.clock and self.clock.to_json()}


@dataclass(frozen=True)
class Report:
    """Area and clock of a program. ``area`` is the sum of all parts; ``clock`` that of the whole, where it fits."""

    program: str
    family: CellFamily[Any]
    units: tuple[Component, ...]
    channels: tuple[Component, ...]
    area: Cells
    clock: ClockResult | None = None

    @classmethod
    def of(cls, fabric: ElaboratedFabric, family: CellFamily[Any], areas: Mapping[str, Cells]) -> Report:
        """The areas of ``fabric``, of whose modules these are known."""

        def part(name: str, kind: str, module: str) -> Component:
            return Component(name, kind, module, areas[module])

        units = [part(each.node.name, each.node.operator.name, each.component.module_name) for each in fabric.units]
        units += [part(each.name, "scratchpad", each.component.module_name) for each in fabric.scratchpads]
        channels = [part(each.edge.name, "channel", each.component.module_name) for each in fabric.channels]
        every = (areas[each.component.module_name] for each in fabric.structure.instances)
        area = reduce(add, every, family.nothing)
        return cls(fabric.netlist.graph.name, family, tuple(units), tuple(channels), area)

    @property
    def levels(self) -> int | None:
        """Levels of logic of the unit that has the most; None where they are not counted."""
        return max((each.levels for each in self.units if each.levels is not None), default=None)

    @property
    def misfit(self) -> str | None:
        """The resources that are too few, and the modules that take the most; None if all fits."""
        lacking = self.family.lacks(self.area)
        if not lacking:
            return None
        parts = (*self.units, *self.channels)
        counts = Counter(each.module for each in parts)
        first = {each.module: each for each in reversed(parts)}
        largest = sorted(first.values(), key=lambda each: -counts[each.module] * each.area.size)[:LARGEST]
        shown = ", ".join(
            f"{counts[each.module]} x {each.module} ({each.name}) {counts[each.module] * each.area.size:,}"
            for each in largest
        )
        return f"{self.program} {self.family.misfit(', '.join(lacking), shown)}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "program": self.program,
            **self.family.to_json(),
            "units": [each.to_json() for each in self.units],
            "channels": [each.to_json() for each in self.channels],
            "area": self.area.to_json(),
            "clock": self.clock and self.clock.to_json(),
            "levels": self.levels,
            "misfit": self.misfit,
        }
