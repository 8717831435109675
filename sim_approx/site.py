"""What a unit sees of the program when its machines are placed."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from sim_approx.memory import Memory
from sim_approx.scratchpad import ShareSite
from step.firing.machine import Channel, Machine, Stream
from step.language.function import Function
from step.language.graph import Node
from step.language.loops import RegularStream
from step.language.tokens import UNKNOWN, Token
from step.language.types import ElementType, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.links import beats
from step.lowering.memory_map import MemoryMap
from step.lowering.plans import plan_of
from step.lowering.plans.plan import Plan
from step.lowering.plans.unit import UnitPlan
from step.programs.inputs import BoundInputs
from step.programs.stored import Tensors

Placed = TypeVar("Placed", bound=Machine)


class Ports(TypedDict):
    """The channels of a unit that is one machine."""

    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]


@dataclass(frozen=True)
class Site:
    """Where the unit of ``node`` goes.

    ``elements_in`` and ``elements_out`` are what passes of values at each port, ``beats_in`` and ``beats_out`` the
    cycles that it takes, of a tile of dynamic size those of one row; ``carries``: somebody reads values of
    an output. ``computes``: whether they are wanted in this run. ``share``: the buffers that the unit fills or reads.
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
    memory: Memory
    memory_map: MemoryMap
    share: ShareSite | None
    channel: Callable[[int], Channel]
    timing_of: Callable[[Node, Function, bool], Plan]
    outputs_of_run: dict[str, list[Token]]
    arrivals: dict[str, list[int]]
    machines: list[Machine]

    def ports(self) -> Ports:
        """Keyword arguments of a machine that has the unit's channels for its own."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    @property
    def beats(self) -> int:
        """Cycles that a firing takes in which a value passes."""
        return max(*self.beats_in, *self.beats_out)

    def words_of_beat(self, port: int) -> int:
        """Words of the tiles at input ``port`` that make a beat of off-chip memory."""
        return min(self.beats_in[port], max(1, self.fabric.memory.beat_bytes // self.fabric.link_bytes))

    def beats_with(self, rows: int) -> tuple[int, ...]:
        """Cycles that a value takes at each port, inputs first, if tiles of dynamic size have so many rows."""
        return tuple(
            beats(each.with_rows(rows) if isinstance(each, Tile) else each, self.fabric.link_bytes)
            for each in (*self.elements_in, *self.elements_out)
        )

    def timing(self, function: Function, *, reduce: bool, stored: bool = False, rows: int = 1) -> UnitPlan:
        """How long a firing takes that applies ``function``, whose results may be ``stored``.

        Tiles of dynamic size have so many ``rows``. Without a reader of its results there is no hardware for it.
        """
        *before, behind = self.beats_with(rows)
        (result,) = self.elements_out
        if result is None:
            return UnitPlan(None, tuple(before), behind, stored=stored)
        if rows == 1:
            plan = self.timing_of(self.node, function, reduce)
        else:
            plan = plan_of(self.node, function, self.fabric, reduce=reduce, rows=rows)
        return UnitPlan(plan, tuple(before), behind, result.is_control, stored)

    def tiles(self) -> MutableSequence[Any]:
        """The tiles of the declared tensor that the unit reads or writes, as far as they are wanted."""
        return self.tensors.tiles(self.node, known=self.computes)

    def stream(self) -> Stream:
        """What the unit plays, with values only where they are wanted; tiles of dynamic size have rows in any case."""
        tokens = self.data.streams[self.node.name]
        if self.computes or not self.node.output_types[0].element.is_static:
            return tokens
        if isinstance(tokens, RegularStream):
            return RegularStream(tokens.extents)
        return [Token(UNKNOWN, each.stop) if each.has_value else each for each in tokens]

    def output(self) -> list[Token]:
        """The list that gets the tokens which leave the program through this unit."""
        return self.outputs_of_run.setdefault(self.node.name, [])

    def add(self, machine: Placed) -> Placed:
        """Place ``machine``."""
        self.machines.append(machine)
        return machine
