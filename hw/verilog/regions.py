"""A large design as a module for each region: operators whose names begin alike, such as those of an expert."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from amaranth.lib.wiring import Out

from hw.verilog.modules import flat_ports
from hw.verilog.structure import Instance, Structure, Written, top_text
from hw.verilog.wire_names import KEYWORDS

MOST_LINES = 3_000
"""Lines of a module from which on it is in regions."""

LEAST = 4
"""Instances of a region."""

_NUMBER = re.compile(r"^[a-z]*\d+_")
_SIGNAL = re.compile(r"(?<!['\w])[A-Za-z_]\w*")


def in_regions(structure: Structure, words: int = 1, design: str = "") -> tuple[list[Structure], dict[str, str]]:
    """``structure`` and those of its regions, and where each instance is: its name, behind those of regions with dots.

    A region is of names with equal first ``words``, behind the number that each has; where that is still too large it
    has regions of one word more. A design that is not large, or in which no names are alike, stays whole.
    """
    where = {each.name: each.name for each in structure.instances}
    if structure.gathered or top_text(structure).count("\n") <= MOST_LINES:
        return [structure], where
    stems = {each.name: "_".join(_NUMBER.sub("", each.name).split("_")[:words]) for each in structure.instances}
    stems = {name: f"{stem}_" if stem in KEYWORDS else stem for name, stem in stems.items()}
    count = Counter(stems.values())
    regions: dict[str, list[Instance]] = {"": []}
    for each in structure.instances:
        stem = stems[each.name]
        regions.setdefault(stem if LEAST <= count[stem] < len(where) else "", []).append(each)
    places, drivers = _places(regions)
    top = Structure(structure.name, regions.pop(""), ports=structure.ports)
    found, outside = [top], {port: width for port, (_, width) in structure.ports.items()}
    for region, instances in regions.items():
        inner = Structure(f"{design or structure.name}_{region}", instances)
        for signal, width in {**outside, **structure.wires}.items():
            if region in places[signal] and (signal in outside or len(places[signal]) > 1):
                inner.ports[signal] = "output" if drivers.get(signal) == region else "input", width
            elif region in places[signal]:
                inner.wires[signal] = width
        connections: dict[str, str | int] = {port: port for port in ("clk", "rst", *inner.ports)}
        top.instances.append(Instance(region, Written(inner), connections, f"the region {region}"))
        below, inside = in_regions(inner, words + 1, design or structure.name)
        found += below
        where |= {name: f"{region}.{place}" for name, place in inside.items()}
    top.wires |= {each: width for each, width in structure.wires.items() if len(places[each]) > 1 or "" in places[each]}
    return found, where


def _places(regions: dict[str, list[Instance]]) -> tuple[dict[str, set[str]], dict[str, str]]:
    """For each signal the regions that have it, and the one that drives it."""
    places, drivers = defaultdict[str, set[str]](set), dict[str, str]()
    for region, instances in regions.items():
        for each in instances:
            outputs = {port for port, member, _ in flat_ports(each.component) if member.flow is Out}
            for port, net in each.connections.items():
                for signal in _SIGNAL.findall(str(net)):
                    places[signal].add(region)
                    if port in outputs:
                        drivers[signal] = region
    return places, drivers
