"""The common part of plans: what they are made from, how a datapath is declared, and the cycles of a unit."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from step.language.function import Function
from step.language.graph import Node
from step.language.types import ElementType, is_dynamic, with_rows
from step.lowering.fabric import FabricConfig
from step.lowering.plans.parts import Circuit, Part
from step.lowering.plans.rows import largest
from step.lowering.plans.words import Words


@dataclass(frozen=True)
class Timing:
    """Cycles of a function on a fabric: of what was measured, or by a plan with rows, which may be hardware.

    ``initiation_interval``: from one start to the next, at least. ``latency``: from a start to its result. With
    ``streams`` that is from the first word of the operands to the first one of the result; else all operands have to be
    there at the start.
    """

    initiation_interval: Any
    latency: Any
    streams: bool = False


class DatapathPlan(abc.ABC):
    """A datapath as it is declared: a frozen dataclass whose fields are all that makes it.

    Its cycles follow from `at`, and the hardware is built from it, ports and all; in Verilog its fields are the
    module's parameters. Where tiles have a dynamic number of rows, ``most_rows`` is the most, 0 elsewhere.
    """

    operands: tuple[Words, ...]
    result: Words
    most_rows: int = 0
    lanes: int = 0
    """Scalars a cycle, of what has lanes."""
    streams: bool = True
    reduce: bool = False
    takes_rows: bool = True
    """Whether there is hardware for tiles with a dynamic number of rows."""
    widest: int = 0
    """Bits of a tile that waits in registers, as one value."""

    @property
    def operand_bits(self) -> tuple[int, ...]:
        """Widths of the operands: of words, or of what does not stream whole."""
        return tuple(each.word_bits for each in self.operands)

    @property
    def result_bits(self) -> int:
        """The width of the result, likewise."""
        return self.result.word_bits

    @property
    def rows(self) -> int:
        """Rows of a tile, or the most."""
        return self.result.rows

    @property
    def parts(self) -> Iterable[Part]:
        """Parts of the datapath."""
        return ()

    @abc.abstractmethod
    def at(self, rows: Any) -> Timing:
        """The cycles with so many ``rows``: a number, or hardware. Where they are static, it is all of these."""

    @cached_property
    def initiation_interval(self) -> int:
        return int(self.at(self.rows).initiation_interval)

    @cached_property
    def latency(self) -> int:
        return int(self.at(self.rows).latency)


Plan = DatapathPlan | Timing
"""The cycles of a function; of tiles with a dynamic number of rows those with the most (see `DatapathPlan.at`)."""


@dataclass(frozen=True)
class Wires(DatapathPlan):
    """A ``function`` of elements that come in one piece, and of which the result is there ``cycles`` later.

    Mostly that is at once: of control, and of a piece that an index counts. Elements follow each other ``interval``
    cycles apart; ``at_once`` scalars are worked on in a cycle, where not all are. A piece is the whole element,
    ``streams`` or not, or a word of it, of ``word_bits``.
    """

    function: Function
    inputs: tuple[ElementType, ...]
    output: ElementType
    reduce: bool
    streams: bool = False
    interval: int = 1
    cycles: int = 0
    at_once: int = 0
    word_bits: int | None = None

    takes_rows = False
    rows = 1
    operand_bits = property(lambda self: tuple(self.word_bits or each.bits for each in self.inputs))
    result_bits = property(lambda self: self.word_bits or self.output.bits)

    @property
    def parts(self) -> Iterable[Part]:
        """Wires; logic that finds the lowest of targets is for each of them."""
        targets = getattr(self.inputs[0], "targets", 0)
        yield Circuit(self.function.name, amounts={"bits": self.output.bits, "targets": targets})

    @classmethod
    def of(cls, function: Function, application: Application, **more: Any) -> Wires:
        """The wires of a function at its place in the fabric."""
        return cls(function, application.inputs, application.result, application.reduce, **more)

    def at(self, rows: Any) -> Timing:
        return Timing(self.interval, self.cycles, self.streams)


@dataclass(frozen=True)
class TilePlan(DatapathPlan):
    """The words of a ``tile`` become those of the ``result``, of which the last leaves a cycle behind its last one."""

    function: Function
    tile: Words
    result: Words
    most_rows: int = field(default=0, kw_only=True)

    operands = property(lambda self: (self.tile,))

    @property
    def parts(self) -> Iterable[Part]:
        """Wires, registers and counters, in parts of the words and of whole elements."""
        amounts = {"bits": self.result.bits, "word_bits": self.result.word_bits}
        yield Circuit(self.function.name, amounts=amounts)

    def at(self, rows: Any) -> Timing:
        came, leave = self.tile.words_at(rows), self.result.words_at(rows)
        return Timing(largest(1, came), 1 + came - leave, streams=True)


@dataclass(frozen=True)
class Application:
    """A function at its place in the fabric: elements of the types ``inputs`` become a ``result`` on ``fabric``.

    ``reduce``: as the state of a reduction, which the elements update. ``fewer``: inputs whose tiles may have fewer
    rows (-1: the result).
    """

    inputs: tuple[ElementType, ...]
    result: ElementType
    fabric: FabricConfig
    reduce: bool = False
    fewer: frozenset[int] = frozenset()

    @property
    def dynamic(self) -> bool:
        """Whether tiles may have fewer rows."""
        return bool(self.fewer)

    def words(self, port: int) -> Words:
        """The words of the tile at operand ``port`` (-1: of the result); one of dynamic size is never control."""
        return Words.of(self._element(port), self.fabric.link_bytes, control=self.is_control(port))

    def is_control(self, port: int) -> bool:
        """Whether what stands at operand ``port`` (-1: the result) travels in the header; no tile of dynamic size."""
        return self._element(port).is_control and port not in self.fewer

    def _element(self, port: int) -> ElementType:
        return self.result if port < 0 else self.inputs[port]

    @classmethod
    def at(cls, node: Node, fabric: FabricConfig, *, reduce: bool) -> Application:
        """The function of ``node``, which is applied to what it reads and makes what it writes; tiles of dynamic size
        have the most rows."""
        elements = node.output_types[0].element, *(each.element for each in node.inputs)
        fewer = frozenset(port for port, each in enumerate(elements, -1) if is_dynamic(each))
        result, *inputs = (with_rows(each, fabric.dynamic_rows) for each in elements)
        return cls(tuple(inputs), result, fabric, reduce, fewer)


@dataclass(frozen=True)
class UnitPlan:
    """A function with the links of its unit.

    It is a firing with a value, whose ``operands`` take so many cycles on their links, and whose ``result`` so many.

    ``plan`` is that of the function, None where nobody reads the result: then only control passes. A result that is
    ``control`` is part of the header. One that is ``stored`` (the state that a reduction hands out) leaves while the
    next operands come, and keeps only the output busy. All is as it is with some number of rows, which may be hardware.
    """

    plan: Plan | None
    operands: tuple[Any, ...]
    result: Any
    control: bool = False
    stored: bool = False

    @property
    def gathering(self) -> int:
        """Cycles from the first word of the operands to the start of the function, which may want all of them."""
        return 0 if self.plan is None or self.plan.streams else max(self.operands) - 1

    @property
    def initiation_interval(self) -> Any:
        """Cycles from a firing to the next one."""
        function = 1 if self.plan is None else self.plan.initiation_interval
        return largest(1, function, *self.operands, 1 if self.stored else self.result)

    @property
    def latency(self) -> Any:
        """Cycles from a firing to the header of its result; one with control waits for the data of the operands."""
        return 0 if self.plan is None else self.gathering + self.plan.latency + self.control

    @property
    def burst(self) -> Any:
        """Cycles from a result to the next one."""
        return largest(1, self.result) if self.stored else self.initiation_interval
