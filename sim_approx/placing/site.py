"""Sites of units: what places the machines of a netlist, and the channels between them.

A value that is a tile of dynamic size is its rows here: where nobody wants to know the scalars, their number stands for
the tile, or for a tuple of such tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, MutableSequence
from typing import Any

from sim_approx.engine.words import CycleClock
from sim_approx.memory.channels import BeatPort, MemoryPorts, OffChipMemory
from sim_approx.memory.scratchpad import AnyMachine, ShareSites
from step.firing.declared import Applied
from step.firing.machine import Channel, Machine, Pace, Sizes, Stream, Unread
from step.language.function import Function
from step.language.graph import Node
from step.language.loops import RegularStream
from step.language.tokens import UNKNOWN, Token
from step.language.types import is_dynamic
from step.lowering.links import data_words, link_words
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Plan, UnitPlan
from step.programs.data.inputs import BoundInputs
from step.programs.data.stored import Tensors

TimingOf = Callable[[Node, Function, bool], Plan]
"""By node, function, and whether it reduces, the plan that replaces its own."""


class PlacedFabric:
    """All machines of ``netlist`` with ``data``; those of units in ``computing`` compute the values that they send.

    ``units``: per unit the machine whose activity is the unit's; ``owners`` has the unit of every machine.
    ``channels``: those of the netlist, by its order; ``all_channels`` are also those inside of units. ``tensors``,
    ``outputs`` and ``arrivals`` (see `step.running.result.RunResult`) fill up during the run. ``ports``: those of the
    units at off-chip memory, ``memory_ports`` those of the ``memory`` itself. ``timing_of`` replaces plans.
    """

    def __init__(
        self, netlist: Netlist, data: BoundInputs, computing: Collection[str], timing_of: TimingOf | None
    ) -> None:
        self.netlist, self.data, self.computing = netlist, data, computing
        self.memory_map = memory_map(netlist)
        self.timing_of = timing_of
        self.clock, self.tensors = CycleClock(), Tensors(netlist.graph, data)
        self.outputs, self.arrivals = dict[str, list[Token]](), dict[str, list[int]]()
        self.channels = [
            Channel(
                netlist.slots(each),
                each.index,
                netlist.lag(each),
                netlist.gathering(each),
                each.hops,
            )
            for each in netlist.channels
        ]
        self.all_channels = list(self.channels)
        self.machines: list[Machine] = []
        self.units: dict[str, Machine] = {}
        self.owners: dict[Machine, Node] = {}
        self.shares = ShareSites(netlist, self.channel, self.clock)
        self.memory_ports, self.ports = MemoryPorts(), tuple[BeatPort, ...]()
        self.memory: OffChipMemory | None = None

    def channel(self, depth: int) -> Channel:
        """A channel inside of a unit."""
        self.all_channels.append(Channel(depth))
        return self.all_channels[-1]

    def add(self, machine: Machine) -> None:
        """Place ``machine``, which reads and writes its channels from now on."""
        machine.order = len(self.machines)
        self.machines.append(machine)
        for channel in machine.inputs:
            channel.reader = machine
        for channel in machine.outputs:
            channel.writer = machine

    def change(self, netlist: Netlist) -> None:
        """Have the depths and the memory of ``netlist``, which is the same otherwise, in the runs that come."""
        for before, each, channel in zip(self.netlist.channels, netlist.channels, self.channels, strict=True):
            if each.depth != before.depth:
                channel.capacity += each.depth - before.depth
                channel.lag = netlist.lag(each)
        if self.memory is not None:
            self.memory.configure(netlist.fabric.memory)
        self.netlist = netlist


class UnitSite:
    """The place of the unit of ``node`` in ``placed``.

    ``elements_in`` and ``elements_out`` are what passes of values at each port, ``words_in`` and ``words_out`` the
    cycles that it takes, of a tile of dynamic size those with the most rows; ``tiled`` are the inputs with such tiles.
    ``carries``: somebody reads values of an output. ``computes``: whether they are wanted in this run. ``share``: the
    buffers that the unit fills or reads. ``most_rows``: of tiles of dynamic size that begin here. ``channel`` makes an
    internal channel of a depth.
    """

    def __init__(self, node: Node, placed: PlacedFabric) -> None:
        netlist = placed.netlist
        before, behind = netlist.inputs(node), netlist.outputs(node)
        self.node, self._placed = node, placed
        self.inputs = tuple(placed.channels[each.index] for each in before)
        self.outputs = tuple(Unread() if each is None else placed.channels[each.index] for each in behind)
        self.elements_in = tuple(each.element for each in before)
        self.elements_out = tuple(None if each is None else each.element for each in behind)
        self.tiled = tuple(port for port, each in enumerate(self.elements_in) if is_dynamic(each))
        self.words_in = tuple(netlist.words(each, node.name) for each in before)
        self.words_out = tuple(netlist.words(each, node.name) for each in behind)
        self.carries = any(each is not None and each.carries for each in behind)
        self.most_rows, self.fabric = netlist.rows_from(node), netlist.at(node)
        self.computes = node.name in placed.computing
        self.memory, self.memory_map = placed.memory_ports, placed.memory_map
        self.share = placed.shares.by_unit.get(node.name)
        self.channel, self.arrivals = placed.channel, placed.arrivals

    def ports(self) -> dict[str, Any]:
        """Keyword arguments of a machine that has the unit's channels for its own."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    @property
    def is_dynamic(self) -> bool:
        """Whether tiles of dynamic size come or go."""
        return any(map(is_dynamic, (*self.elements_in, *self.elements_out)))

    @property
    def words(self) -> int:
        """Cycles that a firing takes in which a value passes."""
        return max((*self.words_in, *self.words_out))

    def words_of_beat(self, port: int) -> int:
        """Words of the tiles at input ``port`` that make a beat of off-chip memory, where all have the same rows."""
        access = self.node.operator.writes(self.node)
        stores = access is not None and port in self.tiled
        tile = self.elements_in[port], self.fabric.link_bytes
        words = link_words(*tile, access.tile.shape[0]) if access and stores else self.words_in[port]
        return min(words, max(1, self.fabric.memory.beat_bytes // self.fabric.link_bytes))

    def words_with(self, rows: int) -> tuple[int, ...]:
        """Cycles that a value takes at each port, inputs first, if tiles of dynamic size have so many rows."""
        return tuple(link_words(each, self.fabric.link_bytes, rows) for each in (*self.elements_in, *self.elements_out))

    def timing(self, applied: Applied, rows: int | None = None) -> UnitPlan:
        """The plan of a firing that applies a function.

        Tiles of dynamic size have the most rows, or so many ``rows``. Without a reader of its results there is no
        hardware for it.
        """
        *before, behind = self.words_with(self.fabric.dynamic_rows if rows is None else rows)
        (result,) = self.elements_out
        if result is None:
            return UnitPlan(None, tuple(before), behind, stored=applied.stored)
        plan = self.plan(applied.function, reduce=applied.reduces, rows=rows)
        return UnitPlan(plan, tuple(before), behind, result.is_control, applied.stored)

    def plan(self, function: Function, *, reduce: bool, rows: int | None = None) -> Plan:
        """The plan of ``function``. No measured number replaces what follows from ``rows``."""
        timing_of = self._placed.timing_of
        if timing_of is not None and not self.is_dynamic:
            return timing_of(self.node, function, reduce)
        plan = plan_of(self.node, self.fabric)
        return plan if rows is None else plan.at(rows)

    def tiles(self) -> MutableSequence[Any]:
        """The tiles of the declared tensor that the unit reads or writes, as far as they are wanted."""
        return self._placed.tensors.tiles(self.node, known=self.computes)

    def stream(self) -> Stream:
        """Tokens to play, with values only where they are wanted; tiles of dynamic size have rows in any case."""
        tokens = self._placed.data.streams[self.node.name]
        if self.computes or not self.node.output_types[0].element.is_static:
            return tokens
        if isinstance(tokens, RegularStream):
            return RegularStream(tokens.extents)
        return [Token(UNKNOWN, each.stop) if each.has_value else each for each in tokens]

    def output(self) -> list[Token]:
        """The list that gets the tokens which leave the program through this unit."""
        return self._placed.outputs.setdefault(self.node.name, [])

    def add(self, machine: AnyMachine) -> AnyMachine:
        """Place ``machine``."""
        self._placed.add(machine)
        self._placed.owners[machine] = self.node
        return machine


def word_sizes(site: UnitSite, machine: Machine) -> Sizes:
    """Sizes of a unit at the edge of the fabric: a word a cycle."""
    return lambda rows: Pace(1, 0, max(site.words_with(rows)))


def stored_sizes(site: UnitSite, machine: Machine) -> Sizes:
    """Sizes of a unit between tiles of dynamic size and a memory: a burst are their words, if any."""
    (element,) = filter(is_dynamic, (*site.elements_in, *site.elements_out))

    def pace(rows: int) -> Pace:
        words = data_words(element, site.fabric.link_bytes, rows)
        return Pace(max(1, words), 0, words)

    return pace
