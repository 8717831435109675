"""What can be chosen: the lanes of operators, those of alike ones together, and what that takes and saves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from step.areas import Area, area_of
from step.areas import units as areas
from step.areas.model import priced
from step.language.graph import Node
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import with_lanes
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import LanePlan

LINKS = (1, 2, 4)
"""Parts of the fabric's links that are tried."""

NARROWEST = 8
"""Bytes of the narrowest link that is tried."""

MEMORIES = (16, 64)
"""Words from which on channels are block RAM."""


@dataclass(frozen=True)
class Width:
    """So many ``lanes`` in every operator of a group: ``area`` of all of them, cycles from a firing to the next one,
    and to a result."""

    lanes: int
    area: Area
    interval: int
    latency: int


@dataclass(frozen=True)
class Group:
    """Operators that do the same, whose names differ in numbers alone; ``widths`` from the narrowest on."""

    names: tuple[str, ...]
    widths: tuple[Width, ...]

    @property
    def title(self) -> str:
        """What a table calls it."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} and {len(self.names) - 1} alike"

    def width(self, lanes: int) -> Width:
        """That with so many ``lanes``."""
        return next(each for each in self.widths if each.lanes == lanes)


Lanes = tuple[int, ...]
"""The lanes of each group."""


@dataclass(frozen=True)
class Space:
    """The choices on one fabric: of each of ``groups`` a width, ``asked`` being what the fabric has."""

    netlist: Netlist
    groups: tuple[Group, ...]
    asked: Lanes

    @classmethod
    def of(cls, netlist: Netlist, *, alone: bool = False) -> Space:
        """Those of ``netlist``, with at most its lanes; every operator ``alone``, or alike ones together."""
        found: dict[tuple[str, str], list[Node]] = {}
        for node in with_lanes(netlist):
            elements = (*(each.element for each in node.inputs), node.output_types[0].element)
            types = f"{[*map(str, elements)]} {node.operator}"
            name = node.name if alone else re.sub(r"\d+", "#", node.name)
            found.setdefault((name, types), []).append(node)
        groups, asked = [], []
        for nodes in found.values():
            widths = tuple(_widths(netlist, nodes))
            groups.append(Group(tuple(each.name for each in nodes), widths))
            asked.append(widths[-1].lanes)
        return cls(netlist, tuple(groups), tuple(asked))

    def fabric(self, lanes: Lanes) -> FabricConfig:
        """The fabric with these ``lanes``; those that it has anyway are not named."""
        own = {
            name: each
            for group, each, whole in zip(self.groups, lanes, self.asked, strict=True)
            if each != whole
            for name in group.names
        }
        return replace(self.netlist.fabric, lanes={**self.netlist.fabric.lanes, **own})

    def each(self, lanes: Lanes) -> tuple[Space, Lanes]:
        """The same choice where every operator has its own."""
        own = {name: each for group, each in zip(self.groups, lanes, strict=True) for name in group.names}
        alone = Space.of(self.netlist, alone=True)
        return alone, tuple(own[group.names[0]] for group in alone.groups)

    def area(self, lanes: Lanes) -> Area:
        """The area of the whole program with these ``lanes``."""
        return area_of(replace(self.netlist, fabric=self.fabric(lanes)))


def fabrics(fabric: FabricConfig) -> Iterator[FabricConfig]:
    """``fabric``, and those with narrower links and other memories."""
    for part in LINKS:
        if part > 1 and fabric.link_bytes // part < NARROWEST:
            continue
        for words in dict.fromkeys((fabric.block_ram_words, *MEMORIES)):
            yield replace(fabric, link_bytes=fabric.link_bytes // part, block_ram_words=words)


def _widths(netlist: Netlist, nodes: list[Node]) -> Iterator[Width]:
    """The distinct widths of ``nodes``, which are alike, from one lane to those that they have."""
    node, known = nodes[0], set[int]()
    reduce = areas.reduces(type(node.operator))
    function = node.operator.function  # type: ignore[attr-defined]
    whole = plan_of(node, function, netlist.fabric, reduce=reduce)
    assert isinstance(whole, LanePlan)
    asked = [1 << bit for bit in range(whole.lanes.bit_length()) if 1 << bit < whole.lanes]
    for lanes in (*asked, None):
        fabric = netlist.fabric
        if lanes is not None:
            fabric = replace(fabric, lanes={**fabric.lanes, node.name: lanes})
        plan = plan_of(node, function, fabric, reduce=reduce)
        assert isinstance(plan, LanePlan)
        if plan.lanes in known or (lanes is not None and plan.lanes >= whole.lanes):
            continue
        known.add(plan.lanes)
        one = priced(areas.unit(replace(netlist, fabric=fabric), node))
        yield Width(plan.lanes, one.times(len(nodes)), plan.initiation_interval, plan.latency)
