"""Causes of cycles, in the words of the program: operators, its channels, and the memories."""

from __future__ import annotations

from typing import NamedTuple

from sim_approx.engine.record import Reason
from sim_approx.placing.site import PlacedFabric

MEMORY = "off-chip memory"
BUSES = "shared buses"
"""The masters in front of the memory."""

BANKS = "banks of the scratchpad"
PAGES = "pages of the scratchpad"

WORKS = "works"
"""Why: an operator was occupied by a firing, which the next one had to wait for."""

DISTANCE = "distance"
"""Why: registers on the way through a channel kept a token, or a freed slot."""

LATENCY = "latency"
"""Why: of what a machine does, until its tokens enter."""

BANDWIDTH, DRAM, PORT = "bandwidth", "DRAM timing", "a beat a cycle and port"
"""Why beats waited for beats."""

OF_MEMORY = {Reason.BEATS: PORT, Reason.BANDWIDTH: BANDWIDTH, Reason.CROWDED: DRAM, Reason.AFTER: WORKS}
OF_OPERATORS = {Reason.AFTER: WORKS, Reason.SENDING: "sends words", Reason.CROWDED: "banks are taken"}


class Cause(NamedTuple):
    """``what``: an operator, a channel of the program, or a memory; ``why``: what about it took the cycles."""

    what: str
    why: str


class Causes:
    """The causes in ``fabric``."""

    def __init__(self, fabric: PlacedFabric) -> None:
        self._fabric = fabric
        self._channels = [each.name for each in fabric.netlist.channels]
        self._numbers = {channel: number for number, channel in enumerate(fabric.all_channels)}
        self._inside: dict[int, str] = {}
        for machine in fabric.machines:
            if machine is not fabric.memory:
                for channel in (*machine.inputs, *machine.outputs):
                    self._inside.setdefault(self._numbers.get(channel, -1), self.operator(machine.order))
        self._scratchpads: dict[int, tuple[str, str]] = {}
        self._readers: dict[int, str] = {}
        for name, site in fabric.shares.by_filler.items():
            self._inside[self._numbers[site.in_flight]] = self._inside[self._numbers[site.pages]] = name
            self._scratchpads[self._numbers[site.in_flight]] = name, "both buffers are filled"
            self._scratchpads[self._numbers[site.pages]] = name, "no page is free"
            self._readers[self._numbers[site.in_flight]] = site.share.reader.name
            self._readers[self._numbers[site.pages]] = PAGES

    def operator(self, machine: int) -> str:
        """The operator that ``machine`` is a part of, the memory, or the masters in front of it."""
        found = self._fabric.machines[machine]
        if found is self._fabric.memory:
            return MEMORY
        return self._fabric.owners[found].name if found in self._fabric.owners else BUSES

    def awaited(self, channel: int, *, full: bool) -> tuple[int | None, str]:
        """The one to act where ``channel`` is full, or else empty: the machine, if it is one, and its operator."""
        if full and channel in self._readers:
            return None, self._readers[channel]
        found = self._fabric.all_channels[channel]
        machine = (found.reader if full else found.writer).order
        return machine, self.operator(machine)

    def latency(self, machine: int) -> Cause:
        return Cause(self.operator(machine), LATENCY)

    def transit(self, channel: int) -> Cause:
        """A token is seen in the next cycle, or in the one behind that."""
        if channel < len(self._channels):
            return Cause(self.link(channel), "transit")
        return Cause(self._inside[channel], "transit inside")

    def distance(self, channel: int) -> Cause:
        return Cause(self.link(channel), DISTANCE)

    def full(self, channel: int) -> Cause:
        if channel in self._scratchpads:
            return Cause(*self._scratchpads[channel])
        if channel < len(self._channels):
            return Cause(self.link(channel), "full")
        return Cause(self._inside[channel], "queue inside is full")

    def link(self, channel: int) -> str:
        """``mul -> add.1``: a channel of the program by its producer and consumer, with ports where there are more."""
        each = self._fabric.netlist.channels[channel]
        consumer, port = each.consumer
        several = len(self._fabric.netlist.graph.nodes[consumer].inputs) > 1
        return f"{each.name} -> {consumer}" + (f".{port}" if several else "")

    def of(self, reason: Reason, number: int) -> Cause:
        """The cause of an edge for this ``reason``, but for arrivals; ``number``: of a channel or machine."""
        if reason is Reason.FULL:
            return self.full(number)
        what = self.operator(number)
        return Cause(what, (OF_MEMORY if what == MEMORY else OF_OPERATORS)[reason])
