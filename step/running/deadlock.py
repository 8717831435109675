"""The report of a deadlock: what clears it first, then who waits for what, and the cycle of waits.

Both timed back ends make it from the same snapshot, so that they give the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from step.language.graph import Node
from step.lowering.memory import IN_FLIGHT, ScratchpadPlan, Share, scratchpads
from step.lowering.netlist import Channel, Netlist
from step.running.result import Activity

SHOWN = 3
"""Names of operators that are written out where many wait alike."""


@dataclass(frozen=True)
class Snapshot:
    """A fabric in which nothing moves any more, from ``cycle`` on.

    ``activities`` by unit and ``occupied`` by channel, both by name; ``capacities`` of the channels in slots; ``pages``
    of on-chip memory by the unit that fills them.
    """

    cycle: int
    activities: Mapping[str, Activity]
    occupied: Mapping[str, int]
    capacities: Mapping[str, int]
    pages: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Blockage:
    """A unit that can not go on: for space in ``channel`` (``full``), or for a token of it.

    With ``memory``, which says what it wants, it waits until on-chip memory is given back by the reader of ``channel``.
    """

    unit: Node
    channel: Channel
    full: bool
    memory: str = ""

    def awaited(self) -> str:
        """Name of the unit that would have to act."""
        return (self.channel.consumer if self.full else self.channel.producer)[0]


def find_waits(netlist: Netlist, snapshot: Snapshot) -> list[Blockage]:
    """Waits of every unit that is not finished: a blocked one for all full outputs and for on-chip memory that is
    full, a starved one for all empty inputs."""
    waits = []
    shares = {share.filler.name: (pad, share) for pad in scratchpads(netlist) for share in pad.shares}
    for node in netlist.units:
        activity = snapshot.activities[node.name]
        if activity == Activity.BLOCKED:
            behind = [each for each in netlist.outputs(node) if each is not None]
            full = [each for each in behind if snapshot.occupied[each.name] >= snapshot.capacities[each.name]]
            waits += [Blockage(node, each, True) for each in full]
            if node.name in shares:
                waits += _memory_waits(netlist, snapshot, *shares[node.name])
        elif activity == Activity.STARVED:
            empty = [each for each in netlist.inputs(node) if not snapshot.occupied[each.name]]
            waits += [Blockage(node, each, False) for each in empty]
    return waits


def _memory_waits(netlist: Netlist, snapshot: Snapshot, pad: ScratchpadPlan, share: Share) -> Iterator[Blockage]:
    """Waits of ``share``: until its own first buffer is read, or a page of the ``pad`` becomes free."""
    node = share.filler
    (own,) = filter(None, netlist.outputs(node))
    if snapshot.occupied[own.name] >= IN_FLIGHT:
        yield Blockage(node, own, True, f"a buffer: {IN_FLIGHT} are filled, and {share.reader.name} has read neither")
        return
    held = {each.filler.name: snapshot.pages[each.filler.name] for each in pad.shares}
    if sum(held.values()) < pad.pages:
        return
    others = [each for each in pad.shares if each is not share and held[each.filler.name]] or [share]
    most = max(others, key=lambda each: held[each.filler.name])
    (channel,) = filter(None, netlist.outputs(most.filler))
    holders = ", ".join(f"{pages} by {name}" for name, pages in held.items() if pages)
    what = f"a page of scratchpad {pad.index}, whose {pad.pages} pages are taken: {holders}"
    yield Blockage(node, channel, True, f"{what}; {most.reader.name} has to free some")


def find_cycle(waits: list[Blockage]) -> list[Blockage]:
    """The first shortest cycle of waits, or nothing if there is none."""
    import networkx  # which takes a while

    graph = networkx.DiGraph()
    for wait in waits:
        if not graph.has_edge(wait.unit.name, wait.awaited()):
            graph.add_edge(wait.unit.name, wait.awaited(), wait=wait)
    paths = (
        networkx.shortest_path(graph, back, wait.unit.name)
        for wait in waits
        for back in graph.successors(wait.unit.name)
        if networkx.has_path(graph, back, wait.unit.name)
    )
    best: list[str] = min(paths, key=len, default=[])
    return [graph.edges[name, after]["wait"] for name, after in zip(best[-1:] + best[:-1], best, strict=True)]


def full_channels(netlist: Netlist, snapshot: Snapshot) -> list[Channel]:
    """The full channels that someone waits for, those on the cycle of waits first."""
    waits = find_waits(netlist, snapshot)
    found = {wait.channel.name: wait.channel for wait in [*find_cycle(waits), *waits] if wait.full and not wait.memory}
    return list(found.values())


def report(netlist: Netlist, snapshot: Snapshot, depths: Mapping[str, int] | None = None) -> str:
    """The text of the error. ``depths``: the smallest depths, by channel, that clear the deadlock; empty: there are
    none; None: nobody looked for them."""
    waits = find_waits(netlist, snapshot)
    unfinished = sum(each != Activity.FINISHED for each in snapshot.activities.values())
    lines = [
        f"deadlock: from cycle {snapshot.cycle} on nothing can move, "
        f"and {unfinished} of {len(netlist.units)} operators are not finished"
    ]
    if depths is not None:
        lines += _cure(netlist, waits, depths)
    lines += ["who waits for what:", *_grouped(netlist, waits)]
    cycle = find_cycle(waits)
    if cycle:
        lines.append("the cycle of waits:")
        lines += [f"  {wait.unit.name} waits for {_what(wait)}" for wait in cycle]
    return "\n".join(lines)


def _cure(netlist: Netlist, waits: list[Blockage], depths: Mapping[str, int]) -> Iterator[str]:
    """Changes of the program or the fabric, or why these do not help."""
    if depths:
        yield "the smallest depths that clear it:"
        channels = {each.name: each for each in netlist.channels}
        yield from (f"  {_advice(netlist, channels[name], depth)}" for name, depth in depths.items())
    elif any(wait.memory and wait.channel.producer[0] != wait.unit.name for wait in waits):
        yield (
            "no depths clear it: on-chip memory is full of buffers that wait for each other; make them smaller, or "
            "choose a fabric with more scratchpad_bytes, or with fewer scratchpad_ports, so that fewer share one"
        )
    else:
        yield "no depths clear it: a token that is waited for is never made"


def _grouped(netlist: Netlist, waits: list[Blockage]) -> Iterator[str]:
    """One line per unit and channel; units of the same line of the program that wait alike share one."""
    groups: dict[tuple[object, ...], list[Blockage]] = {}
    for wait in waits:
        ends = (netlist.graph.nodes[end] for end, _ in (wait.channel.producer, wait.channel.consumer))
        kinds = [(node.operator.name, node.location) for node in (wait.unit, *ends)]
        groups.setdefault((*kinds, wait.full, wait.memory, wait.channel.depth), []).append(wait)
    for alike in groups.values():
        first = alike[0]
        if len(alike) == 1:
            yield f"  {first.unit.describe()} waits for {_what(first)}"
            continue
        names = list(dict.fromkeys(wait.unit.name for wait in alike))
        shown = ", ".join(repr(name) for name in names[:SHOWN])
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        verb = "waits" if len(names) == 1 else "wait"
        yield (
            f"  {first.unit.operator.name} {shown}{more} ({first.unit.location}) {verb} for "
            f"{_what(first, f'{len(alike)} channels like ')}"
        )


def _what(wait: Blockage, channels: str = "") -> str:
    """``space in add.0 -> join (depth 2, full)``."""
    if wait.memory:
        return wait.memory
    link = f"{wait.channel.name} -> {wait.channel.consumer[0]} (depth {wait.channel.depth}, "
    return f"space in {channels}{link}full)" if wait.full else f"a token of {channels}{link}empty)"


def _advice(netlist: Netlist, channel: Channel, depth: int) -> str:
    """Line to write in the program: the stream that the user knows, at the reader that the channel belongs to."""
    stream, port = channel.producer
    while netlist.graph.nodes[stream].operator.inserted:
        origin = netlist.graph.nodes[stream].inputs[0]
        stream, port = origin.key
    reader, name = netlist.graph.nodes[channel.consumer[0]], netlist.graph.stream_name(stream, port)
    made = netlist.graph.nodes[stream].location
    if reader.operator.inserted:
        return f"{channel.name}: {depth} instead of {channel.depth} (in front of its broadcast)"
    return (
        f"{channel.name}: {depth} instead of {channel.depth} "
        f"(input {channel.consumer[1]} of {reader.describe()}: {name}.buffered({depth}), from {made})"
    )
