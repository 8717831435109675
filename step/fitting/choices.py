"""What can be chosen: how wide every unit is, and what that takes and saves."""

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
from step.lowering.timing import reduces

LINKS = (1, 2, 4)
"""Parts of the fabric's links that are tried."""

NARROWEST = 8
"""Bytes of the narrowest link that is tried."""

MEMORIES = (8, 16, 64)
"""Words from which on channels are block RAM."""

Chosen = tuple[int, ...]
"""For each unit the place of its option."""


@dataclass(frozen=True)
class Option:
    """So many ``lanes``: the ``area`` of the unit and of what waits behind it, the cycles from a firing to the next
    one, and to a result."""

    lanes: int
    area: Area
    interval: int
    latency: int

    def beats(self, other: Option) -> bool:
        """Whether it is no larger than ``other``, and no slower."""
        return (
            self.area.lut_sites <= other.area.lut_sites
            and self.interval <= other.interval
            and self.latency <= other.latency
        )


@dataclass(frozen=True)
class Unit:
    """An operator with lanes; ``options`` from the narrowest on, the last one being what the fabric has."""

    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Space:
    """The choices on one fabric: of each of ``units`` an option. ``alike``: the places of units that do the same, whose
    names differ in numbers alone."""

    netlist: Netlist
    units: tuple[Unit, ...]
    alike: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, netlist: Netlist) -> Space:
        """Those of ``netlist``, with at most its lanes."""
        known: dict[str, tuple[Option, ...]] = {}
        alike: dict[tuple[str, str], list[int]] = {}
        units = []
        for place, node in enumerate(with_lanes(netlist)):
            kind = _kind(netlist, node)
            if kind not in known:
                known[kind] = tuple(_options(netlist, node))
            units.append(Unit(node.name, known[kind]))
            alike.setdefault((re.sub(r"\d+", "#", node.name), kind), []).append(place)
        return cls(netlist, tuple(units), tuple(map(tuple, alike.values())))

    @property
    def asked(self) -> Chosen:
        """What the fabric has."""
        return tuple(len(unit.options) - 1 for unit in self.units)

    def options(self, chosen: Chosen) -> list[Option]:
        """The option of each unit."""
        return [unit.options[place] for unit, place in zip(self.units, chosen, strict=True)]

    def fabric(self, chosen: Chosen) -> FabricConfig:
        """The fabric with these options; what it has anyway is not named."""
        own = {
            unit.name: unit.options[place].lanes
            for unit, place in zip(self.units, chosen, strict=True)
            if place != len(unit.options) - 1
        }
        return replace(self.netlist.fabric, lanes={**self.netlist.fabric.lanes, **own})

    def area(self, chosen: Chosen) -> Area:
        """The area of the whole program with these options."""
        return area_of(replace(self.netlist, fabric=self.fabric(chosen)))


def fabrics(fabric: FabricConfig) -> Iterator[FabricConfig]:
    """``fabric``, and those with narrower links and other memories."""
    for part in LINKS:
        if part > 1 and fabric.link_bytes // part < NARROWEST:
            continue
        for words in dict.fromkeys((fabric.block_ram_words, *MEMORIES)):
            yield replace(fabric, link_bytes=fabric.link_bytes // part, block_ram_words=words)


def _kind(netlist: Netlist, node: Node) -> str:
    """What units have in common whose options are the same."""
    elements = (*(each.element for each in node.inputs), node.output_types[0].element)
    behind = [(each.depth, each.carries) for each in netlist.outputs(node) if each is not None]
    return f"{[*map(str, elements)]} {node.operator} {netlist.fabric.lanes.get(node.name)} {behind}"


def _options(netlist: Netlist, node: Node) -> Iterator[Option]:
    """The options of ``node`` that no other one beats, from one lane to those that it has."""
    whole = _option(netlist, node, None)
    asked = [eighths << bit >> 3 for bit in range(whole.lanes.bit_length()) for eighths in range(8, 16)]
    found: list[Option] = []
    for lanes in sorted(set(asked)):
        each = _option(netlist, node, lanes) if lanes < whole.lanes else whole
        if each.lanes >= whole.lanes or whole.beats(each):
            break
        if not any(known.beats(each) for known in found):
            found = [*(known for known in found if not each.beats(known)), each]
    yield from found
    yield whole


def _option(netlist: Netlist, node: Node, lanes: int | None) -> Option:
    """``node`` with so many ``lanes`` at most, or with those that it has."""
    fabric = netlist.fabric
    if lanes is not None:
        netlist = replace(netlist, fabric=replace(fabric, lanes={**fabric.lanes, node.name: lanes}))
    reduce = reduces(type(node.operator))
    plan = plan_of(node, node.operator.function, netlist.fabric, reduce=reduce)  # type: ignore[attr-defined]
    assert isinstance(plan, LanePlan)
    waiting = areas.in_flight(netlist, node)
    behind = (areas.channel(netlist, each, waiting) for each in netlist.outputs(node) if each is not None)
    area = sum(map(priced, (areas.unit(netlist, node), *behind)), Area())
    return Option(plan.lanes, area, plan.initiation_interval, plan.latency)
