"""Hardware that can be chosen: lanes of every unit and the width of its links, and what that takes and saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import le

from step.language.graph import Node
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import lanes_of, with_lanes, with_links
from step.lowering.netlist import Channel, Netlist
from step.lowering.timing import timing_of
from step.programs.folding import starred
from step_explore.areas import Area
from step_explore.areas import units as areas
from step_explore.areas.model import Areas, priced

NARROWEST = 4
"""Bytes of the narrowest link that is tried."""

MEMORIES = (8, 16, 64)
"""Words from which on channels are block RAM."""

Grain = tuple[Sequence[int], Sequence[int]]
"""Parts of the fabric's links, the narrowest first; and lanes in steps of so many eighths of a power of two."""

FINE: Grain = ((8, 4, 2, 1), range(8, 16))
LINKED: Grain = ((4, 2, 1), (8,))
COARSE: Grain = ((1,), (8,))
"""All choices; links of half and quarter width, and lanes that are powers of two; those lanes with the widest links."""

Places = tuple[int, ...]
"""The place of an option for each unit."""


@dataclass(frozen=True)
class Option:
    """So many ``lanes``, if the unit has some, and words of so many bytes (``link``).

    ``area`` is that of the unit, of copies of what it sends, and of the channels behind it; ``intervals`` and
    ``latencies`` are the cycles from a firing to the next one and to a result, of the unit and of what has its links.
    """

    link: int
    lanes: int
    area: Area
    intervals: tuple[int, ...]
    latencies: tuple[int, ...]

    def dominates(self, other: Option) -> bool:
        """Whether it is no larger than ``other``, and no slower."""
        mine, theirs = ((each.area.lut_sites, *each.intervals, *each.latencies) for each in (self, other))
        return all(map(le, mine, theirs))


@dataclass(frozen=True)
class Knob:
    """Operator ``nodes[0]`` with others that have its links; ``options`` from the narrowest links and the fewest lanes
    on, the last one being what the fabric has."""

    nodes: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def name(self) -> str:
        return self.nodes[0]

    def links(self) -> list[int]:
        """The widths that there are, the narrowest first."""
        return sorted({each.link for each in self.options})

    def stepped(self, place: int, lanes: int = 0, links: int = 0) -> int:
        """The option so many steps on, with more lanes or wider links, or the last one there is; other links have as
        many lanes as there were, or the fewest more."""
        widths, mine = self.links(), self.options[place]
        link = widths[min(max(widths.index(mine.link) + links, 0), len(widths) - 1)]
        inside = [at for at, each in enumerate(self.options) if each.link == link]
        if lanes:
            return min(max(place + lanes, inside[0]), inside[-1])
        return next((at for at in inside if self.options[at].lanes >= mine.lanes), inside[-1])


@dataclass(frozen=True)
class Seam:
    """Channels with words from units of the group ``before`` to those of the group ``behind``: the ``area`` that they
    take more where words are written and read in such widths, and cycles that tokens wait there."""

    before: int
    behind: int
    area: Mapping[tuple[int, int], Area]
    waits: Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class Space:
    """Choices of hardware on one fabric: an option of each of ``units``. ``alike``: the places of units that do the
    same, whose names differ in numbers alone; they have the same links."""

    netlist: Netlist
    units: tuple[Knob, ...]
    alike: tuple[tuple[int, ...], ...]
    _areas: Areas = field(default_factory=Areas, repr=False, compare=False)

    @classmethod
    def of(cls, netlist: Netlist, grain: Grain = FINE) -> Space:
        """The choices for ``netlist``, with at most its lanes and its links."""
        return cls(netlist, *_units(netlist, grain))

    @property
    def asked(self) -> Places:
        """The options that the fabric has."""
        return tuple(len(unit.options) - 1 for unit in self.units)

    @cached_property
    def group_of(self) -> dict[int, int]:
        """The group of each unit."""
        return {at: group for group, places in enumerate(self.alike) for at in places}

    @cached_property
    def owners(self) -> dict[str, int]:
        """The unit of every node that has one."""
        return {name: at for at, unit in enumerate(self.units) for name in unit.nodes}

    @cached_property
    def seams(self) -> tuple[Seam, ...]:
        """Seams between all groups of which one sends words to another one."""
        found: dict[tuple[int, int], list[Channel]] = {}
        for channel in self.netlist.channels:
            before, behind = (self.owners.get(end[0]) for end in (channel.producer, channel.consumer))
            if before is not None and behind is not None and areas.data_bits(self.netlist, channel):
                groups = self.group_of[before], self.group_of[behind]
                if groups[0] != groups[1]:
                    found.setdefault(groups, []).append(channel)
        return tuple(_seam(self, groups, channels) for groups, channels in found.items())

    def options(self, chosen: Places) -> list[Option]:
        """The option of each unit."""
        return [unit.options[place] for unit, place in zip(self.units, chosen, strict=True)]

    def fabric(self, chosen: Places) -> FabricConfig:
        """The fabric with these options: links as most units have them, and those of the others by name."""
        fabric, pairs = self.netlist.fabric, [*zip(self.units, self.options(chosen), strict=True)]
        lanes = {unit.name: mine.lanes for unit, mine in pairs if mine.lanes not in (0, unit.options[-1].lanes)}
        ((link, _),) = Counter(mine.link for _, mine in pairs).most_common(1) or ((fabric.link_bytes, 0),)
        links = {unit.name: mine.link for unit, mine in pairs if mine.link != link}
        return replace(fabric, lanes={**fabric.lanes, **lanes}, links=links, link_bytes=link)

    def area(self, chosen: Places) -> Area:
        """The area of the whole program with these options."""
        return self._areas.of(replace(self.netlist, fabric=self.fabric(chosen)))

    def parts(self, chosen: Places) -> Area:
        """The area of what is chosen, without the rest of the program."""
        options = sum((option.area for option in self.options(chosen)), Area())
        return sum((seam.area[self.at(seam, chosen)] for seam in self.seams), options)

    def difference(self, chosen: Places, moved: Places) -> Area:
        """The area that ``moved`` takes more than ``chosen``, by the parts."""
        changed = [each for each in zip(self.units, chosen, moved, strict=True) if each[1] != each[2]]
        options = (unit.options[new].area - unit.options[old].area for unit, old, new in changed)
        seams = ((seam.area, self.at(seam, chosen), self.at(seam, moved)) for seam in self.seams)
        return sum((area[new] - area[old] for area, old, new in seams if old != new), sum(options, Area()))

    def stepped(self, chosen: Places, units: Iterable[int], lanes: int = 0, links: int = 0) -> Places:
        """``chosen`` with ``units`` so many options further."""
        found = list(chosen)
        for at in units:
            found[at] = self.units[at].stepped(found[at], lanes, links)
        return tuple(found)

    def at(self, seam: Seam, chosen: Places) -> tuple[int, int]:
        """The widths at ``seam``."""
        before, behind = (self.alike[group][0] for group in (seam.before, seam.behind))
        return self.units[before].options[chosen[before]].link, self.units[behind].options[chosen[behind]].link


def fabrics(fabric: FabricConfig) -> Iterator[FabricConfig]:
    """``fabric``, and those with narrower links and other memories, where no operator has links of its own."""
    for part in (1,) if fabric.links else reversed(FINE[0]):
        for words in dict.fromkeys((fabric.block_ram_words, *MEMORIES)):
            if part == 1 or fabric.link_bytes // part >= NARROWEST:
                yield replace(fabric, link_bytes=fabric.link_bytes // part, block_ram_words=words)


# -- units ----------------------------------------------------------------------------------------------------------


def _units(netlist: Netlist, grain: Grain) -> tuple[tuple[Knob, ...], tuple[tuple[int, ...], ...]]:
    nodes: dict[str, list[Node]] = {}
    having = [netlist.owner(each).name for each in (*with_links(netlist), *with_lanes(netlist))]
    for node in netlist.units:
        if (owner := netlist.owner(node).name) in having:
            nodes.setdefault(owner, []).append(node)
    known: dict[str, tuple[Option, ...]] = {}
    alike: dict[tuple[str, str], list[int]] = {}
    units = []
    for place, owned in enumerate(nodes.values()):
        kind = str([_kind(netlist, each) for each in owned])
        if kind not in known:
            known[kind] = tuple(_options(netlist, owned, grain))
        units.append(Knob(tuple(each.name for each in owned), known[kind]))
        alike.setdefault((starred(owned[0].name), kind), []).append(place)
    return tuple(units), tuple(map(tuple, alike.values()))


def _kind(netlist: Netlist, node: Node) -> str:
    """Text that is equal for units whose options are the same."""
    elements = (*(each.element for each in node.inputs), *(each.element for each in node.output_types))
    channels = (*netlist.inputs(node), *netlist.outputs(node))
    around = [(each.depth, each.carries) for each in channels if each is not None]
    fabric, function = netlist.fabric, node.operator.function
    own = fabric.lanes.get(node.name), fabric.links.get(node.name)
    return f"{node.operator.name} {function} {[*map(str, elements)]} {own} {around}"


def _options(netlist: Netlist, nodes: list[Node], grain: Grain) -> Iterator[Option]:
    """The options of ``nodes``, from the narrowest links and the fewest lanes on, without lanes that others beat, and
    links that are all the same."""
    link = netlist.links[nodes[0].name]
    whole = list(_of_lanes(netlist, nodes, link, grain))
    for part in grain[0] if nodes[0] in with_links(netlist) else ():
        if part > 1 and link // part >= NARROWEST:
            narrow = list(_of_lanes(netlist, nodes, link // part, grain))
            yield from narrow if replace(narrow[-1], link=link) != whole[-1] else ()
    yield from whole


def _of_lanes(netlist: Netlist, nodes: list[Node], link: int, grain: Grain) -> Iterator[Option]:
    most = lanes_of(nodes[0], netlist)
    whole = _option(netlist, nodes, link, most)
    found: list[Option] = []
    for lanes in sorted({eighths << bit >> 3 for bit in range(whole.lanes.bit_length()) for eighths in grain[1]}):
        if lanes >= whole.lanes:
            break
        each = _option(netlist, nodes, link, lanes)
        if each.lanes < whole.lanes and not whole.dominates(each) and not any(known.dominates(each) for known in found):
            found = [*(known for known in found if not each.dominates(known)), each]
    yield from found
    yield whole


def _option(netlist: Netlist, nodes: list[Node], link: int, lanes: int) -> Option:
    """``nodes`` with words of so many bytes, and at most so many lanes."""
    fabric, name = netlist.fabric, nodes[0].name
    with_own = {**fabric.lanes, **({name: lanes} if lanes else {})}
    links = {**fabric.links, **({name: link} if link != netlist.links[name] else {})}
    changed = replace(netlist, fabric=replace(fabric, lanes=with_own, links=links))
    parts = [areas.unit(changed, node) for node in nodes]
    intervals, latencies = [], []
    for node in nodes:
        timing, waiting = timing_of(changed, node), areas.in_flight(changed, node)
        behind = [each for each in changed.outputs(node) if each is not None]
        parts += [areas.channel(_ends(changed, each, (link, link)), each, waiting) for each in behind]
        words = [changed.words(each, node.name) for each in (*changed.inputs(node), *behind)]
        intervals.append(int(timing.initiation_interval) if timing is not None else max(words, default=1))
        latencies.append(int(timing.latency) if timing is not None else 0)
    area = sum(map(priced, parts), Area())
    return Option(link, lanes_of(nodes[0], changed), area, tuple(intervals), tuple(latencies))


def _ends(netlist: Netlist, channel: Channel, links: tuple[int, int]) -> Netlist:
    """``netlist`` with words of so many bytes at the two ends of ``channel``."""
    if netlist.widths(channel) == links:
        return netlist
    ends = (netlist.owner(netlist.graph.nodes[end[0]]).name for end in (channel.producer, channel.consumer))
    own = {**netlist.fabric.links, **dict(zip(ends, links, strict=True))}
    return replace(netlist, fabric=replace(netlist.fabric, links=own))


def _seam(space: Space, groups: tuple[int, int], channels: list[Channel]) -> Seam:
    """The area and the waits of ``channels``, which are alike, with each pair of widths."""
    before, behind = (space.units[space.alike[group][0]].links() for group in groups)
    area, waits = dict[tuple[int, int], Area](), dict[tuple[int, int], int]()
    channel, count = channels[0], len(channels)
    producer = space.netlist.graph.nodes[channel.producer[0]]
    for written in before:
        same = _ends(space.netlist, channel, (written, written))
        in_flight = areas.in_flight(same, producer)
        alone = priced(areas.channel(same, channel, in_flight))
        for read in behind:
            netlist = _ends(space.netlist, channel, (written, read))
            area[written, read] = (priced(areas.channel(netlist, channel, in_flight)) - alone).times(count)
            waits[written, read] = netlist.lag(channel) - same.lag(channel)
    return Seam(*groups, area, waits)
