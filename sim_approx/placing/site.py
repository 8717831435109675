"""The program as a unit sees it when its machines are placed, and the pace of those that take dynamic tiles.

Tiles of dynamic size: a firing with one of n rows takes the time of these rows. A value is its rows here: where nobody
wants to know the scalars, their number stands for the tile, or for a tuple of such tiles.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict

from sim_approx.engine.words import RowsOf, unknown
from sim_approx.memory.channels import MemoryPorts
from sim_approx.memory.scratchpad import AnyMachine, ShareSite
from step.errors import FabricError
from step.firing.declared import Declared
from step.firing.machine import Channel, Machine, Pace, Sizes, Stream
from step.language.function import Function
from step.language.graph import Node
from step.language.loops import RegularStream
from step.language.tokens import UNKNOWN, Token
from step.language.types import ElementType, Tile, is_dynamic
from step.lowering.fabric import FabricConfig
from step.lowering.links import data_words, link_words
from step.lowering.memory import MemoryMap
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Plan, UnitPlan
from step.programs.data.inputs import BoundInputs
from step.programs.data.stored import Tensors


class Ports(TypedDict):
    """The channels of a unit that is one machine."""

    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]


@dataclass(frozen=True)
class UnitSite:
    """The place of the unit of ``node``.

    ``elements_in`` and ``elements_out`` are what passes of values at each port, ``beats_in`` and ``beats_out`` the
    cycles that it takes, of a tile of dynamic size those with the most rows; ``carries``: somebody reads values of
    an output. ``computes``: whether they are wanted in this run. ``share``: the buffers that the unit fills or reads.
    ``most_rows``: of tiles of dynamic size that begin here.
    ``channel`` makes an internal channel of a depth, ``timing_of`` looks up the plan of a function;
    ``outputs_of_run``, ``arrivals`` (see `step.running.result.RunResult`) and ``machines`` collect what is placed.
    """

    node: Node
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    elements_in: tuple[ElementType | None, ...]
    elements_out: tuple[ElementType | None, ...]
    beats_in: tuple[int, ...]
    beats_out: tuple[int, ...]
    carries: bool
    fabric: FabricConfig
    data: BoundInputs
    tensors: Tensors
    computes: bool
    memory: MemoryPorts
    memory_map: MemoryMap
    share: ShareSite | None
    most_rows: int
    channel: Callable[[int], Channel]
    timing_of: Callable[[Node, Function, bool], Plan]
    outputs_of_run: dict[str, list[Token]]
    arrivals: dict[str, list[int]]
    machines: list[Machine]

    def ports(self) -> Ports:
        """Keyword arguments of a machine that has the unit's channels for its own."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    @property
    def tiled(self) -> tuple[int, ...]:
        """The inputs with tiles of dynamic size."""
        return tuple(port for port, each in enumerate(self.elements_in) if is_dynamic(each))

    @property
    def beats(self) -> int:
        """Cycles that a firing takes in which a value passes."""
        return max(*self.beats_in, *self.beats_out)

    def words_of_beat(self, port: int) -> int:
        """Words of the tiles at input ``port`` that make a beat of off-chip memory, where all have the same rows."""
        access = self.node.operator.writes(self.node)
        stores = access is not None and port in self.tiled
        tile = self.elements_in[port], self.fabric.link_bytes
        words = link_words(*tile, access.tile.shape[0]) if access and stores else self.beats_in[port]
        return min(words, max(1, self.fabric.memory.beat_bytes // self.fabric.link_bytes))

    def beats_with(self, rows: int) -> tuple[int, ...]:
        """Cycles that a value takes at each port, inputs first, if tiles of dynamic size have so many rows."""
        return tuple(link_words(each, self.fabric.link_bytes, rows) for each in (*self.elements_in, *self.elements_out))

    def timing(self, function: Function, *, reduce: bool, stored: bool = False, rows: int | None = None) -> UnitPlan:
        """The plan of a firing that applies ``function``, whose results may be ``stored``.

        Tiles of dynamic size have the most rows, or so many ``rows``. Without a reader of its results there is no
        hardware for it.
        """
        *before, behind = self.beats_with(self.fabric.dynamic_rows if rows is None else rows)
        (result,) = self.elements_out
        if result is None:
            return UnitPlan(None, tuple(before), behind, stored=stored)
        plan = self.plan(function, reduce=reduce, rows=rows)
        return UnitPlan(plan, tuple(before), behind, result.is_control, stored)

    def plan(self, function: Function, *, reduce: bool, rows: int | None = None) -> Plan:
        """The plan of ``function``. No measured number replaces what follows from ``rows``."""
        if not any(map(is_dynamic, (*self.elements_in, *self.elements_out))):
            return self.timing_of(self.node, function, reduce)
        plan = plan_of(self.node, function, self.fabric, reduce=reduce)
        return plan if rows is None else plan.at(rows)

    def tiles(self) -> MutableSequence[Any]:
        """The tiles of the declared tensor that the unit reads or writes, as far as they are wanted."""
        return self.tensors.tiles(self.node, known=self.computes)

    def stream(self) -> Stream:
        """Tokens to play, with values only where they are wanted; tiles of dynamic size have rows in any case."""
        tokens = self.data.streams[self.node.name]
        if self.computes or not self.node.output_types[0].element.is_static:
            return tokens
        if isinstance(tokens, RegularStream):
            return RegularStream(tokens.extents)
        return [Token(UNKNOWN, each.stop) if each.has_value else each for each in tokens]

    def output(self) -> list[Token]:
        """The list that gets the tokens which leave the program through this unit."""
        return self.outputs_of_run.setdefault(self.node.name, [])

    def add(self, machine: AnyMachine) -> AnyMachine:
        """Place ``machine``."""
        self.machines.append(machine)
        return machine


def set_sizes(site: UnitSite, machine: Machine, sizes: Callable[[UnitSite, Machine], Sizes] | None) -> None:
    """Give ``machine``, where it reads or writes tiles of dynamic size, its ``sizes``.

    ``sizes(site, machine)`` gives them; raises `FabricError` where there is none.
    """
    if not any(map(is_dynamic, (*site.elements_in, *site.elements_out))):
        return
    if sizes is None:
        raise FabricError(
            f"{site.node.describe()}: only the interpreter has tiles of dynamic size at this operator; "
            "pack their rows into tiles of a static size"
        )
    machine.sizes = cache(sizes(site, machine))
    machine.sized = tuple(is_dynamic(each.element) for each in site.node.output_types)


def routing_sizes(site: UnitSite, machine: Machine) -> Sizes:
    """Sizes of a unit that sends on what it gets, word by word."""
    return declared_sizes(site, Declared(type(machine), latency=machine.latency))


def declared_sizes(site: UnitSite, declared: Declared) -> Sizes:
    """Sizes of a unit that sends on what it gets, or a part of it, as it has ``declared``."""

    def pace(rows: int) -> Pace:
        cycles, latency = site.beats_with(rows), declared.cycles(site.fabric.link_bytes, rows, carries=site.carries)
        waits = 1 if isinstance(declared.latency, int) else latency
        return Pace(max(*cycles, waits), latency, max(cycles[len(site.inputs) :]))

    return pace


def stored_sizes(site: UnitSite, element: ElementType | None) -> Sizes:
    """Sizes of a unit between tiles of ``element`` and a memory: a burst are their words, if any."""

    def pace(rows: int) -> Pace:
        words = data_words(element, site.fabric.link_bytes, rows)
        return Pace(max(1, words), 0, words)

    return pace


def function_sizes(site: UnitSite, function: Function, *, reduce: bool, stored: bool = False) -> Sizes:
    """Sizes of a unit that applies ``function``, as `UnitSite.timing` has it."""

    def pace(rows: int) -> Pace:
        timing = site.timing(function, reduce=reduce, stored=stored, rows=rows)
        return Pace(timing.initiation_interval, timing.latency, site.beats_with(rows)[-1])

    return pace


def rows_of_result(site: UnitSite) -> Callable[..., Any]:
    """Stands for a function whose result nobody needs: of dynamic tiles it has the rows, which may decide."""
    result = site.node.output_types[0].element
    if not is_dynamic(result):
        return unknown
    assert isinstance(result, Tile)
    elements = [each.element for each in site.node.inputs]
    alike = [port for port, each in enumerate(elements) if isinstance(each, Tile) and each.rows == result.rows]
    return RowsOf(tuple(alike[:1]))


def rows_of_state(site: UnitSite, kept: int | None) -> tuple[Any, Callable[..., Any]]:
    """Stand for the initial state and its update where nobody needs them: of dynamic size, they have the rows.

    These are those of the operand whose rows are ``kept``, else they grow by those of the first one.
    """
    if not is_dynamic(site.node.output_types[0].element):
        return UNKNOWN, unknown
    first = site.node.inputs[0].element
    if kept is not None:
        return 0, RowsOf((kept + 1,))  # behind the state
    assert isinstance(first, Tile)
    return 0, RowsOf((0,), int(first.rows)) if first.rows.is_static else RowsOf((0, 1))
