"""Areas by closed formulas: amounts of a netlist times coefficients that were fitted to synthesis."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any

from step.lowering.memory import scratchpads
from step.lowering.netlist import Netlist
from step_explore.areas import units
from step_explore.areas.amounts import Amounts, total

TABLE = Path(__file__).with_name("coefficients.json")
"""What one of everything takes; ``python -m benchmarks.area_formulas --fit`` writes it."""

ULTRASCALE = TABLE.with_name("ultrascale.json")
"""The same of LUTs without LUT RAM, and DSPs, on UltraScale+; ``python -m benchmarks.area_ultrascale --fit`` writes it.
"""

Price = tuple[float, ...]
"""The price of one amount in each field of `Area`."""


@dataclass(frozen=True)
class Area:
    """LUT sites (as nextpnr counts them), multipliers (18 x 18), block RAMs (18 kbit) and cells of LUT RAM (16 words of
    4 bits; they are part of the sites) of an ECP5."""

    lut_sites: float = 0
    multipliers: float = 0
    block_rams: float = 0
    lut_rams: float = 0

    def __add__(self, other: Area) -> Area:
        return Area(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def __sub__(self, other: Area) -> Area:
        return Area(*(getattr(self, each.name) - getattr(other, each.name) for each in fields(self)))

    def times(self, count: int) -> Area:
        """So many of it."""
        return Area(*(count * getattr(self, each.name) for each in fields(self)))

    def rounded(self) -> dict[str, int]:
        """Whole numbers by name."""
        return {each.name: round(getattr(self, each.name)) for each in fields(self)}


def _parts(netlist: Netlist) -> Iterator[tuple[tuple[str, str], tuple[Any, ...], Callable[[], Amounts]]]:
    """The kind (unit, channel, scratchpad) and name of every part, what it depends on where fabrics differ in lanes and
    links of operators alone, and its amounts."""
    lanes, links = netlist.fabric.lanes, netlist.links
    for node in netlist.units:
        yield ("unit", node.name), (lanes.get(node.name), links[node.name]), partial(units.unit, netlist, node)
    for each in netlist.channels:
        before, behind = each.producer[0], each.consumer[0]
        yield (
            ("channel", each.name),
            (lanes.get(before), links[before], links[behind]),
            partial(units.channel, netlist, each),
        )
    for pad in scratchpads(netlist):
        widths = tuple(links[share.filler.name] for share in pad.shares)
        yield ("scratchpad", f"scratchpad {pad.index}"), widths, partial(units.scratchpad, netlist, pad)


def amounts(netlist: Netlist) -> dict[tuple[str, str], Amounts]:
    """The amounts of every part, by its kind (unit, channel, scratchpad) and name."""
    return {name: made() for name, _, made in _parts(netlist)}


def area_of(netlist: Netlist) -> Area:
    """The area of ``netlist``, by formulas."""
    return priced(total(amounts(netlist).values()))


class Areas:
    """Areas of one program on fabrics that differ in lanes and links of operators alone: each part is found once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Area] = {}

    def of(self, netlist: Netlist) -> Area:
        """The area of ``netlist``; the same as `area_of`, but for roundings."""
        found = []
        for name, depends, made in _parts(netlist):
            if (name, depends) not in self._known:
                self._known[name, depends] = priced(made())
            found.append(astuple(self._known[name, depends]))
        return Area(*map(sum, zip(*found, strict=True)))


def priced(found: Amounts, table: Path = TABLE) -> Area:
    """The area of ``found``, by the coefficients of ``table``."""
    area = [0.0] * len(fields(Area))
    for name, amount in found.items():
        for at, each in enumerate(price(name, table)):
            area[at] += amount * each
    return Area(*area)


@cache
def price(name: str, table: Path = TABLE) -> Price:
    """The area of one of ``name``; arithmetic in a format that was not measured is as dear as the dearest that was."""
    prices, (kind, _, format) = coefficients(table), name.rpartition(".")
    alike = (each for other, each in prices.items() if format.isupper() and other.rpartition(".")[0] == kind)
    return prices[name] if name in prices else max(alike, default=(0.0, 0.0, 0.0, 0.0))


@cache
def coefficients(table: Path = TABLE) -> dict[str, Price]:
    """What one of everything takes, by name; names that ``table`` does not have are as on an ECP5."""
    return {name: tuple(each) for path in (TABLE, table) for name, each in json.loads(path.read_text()).items()}
