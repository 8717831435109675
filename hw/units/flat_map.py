"""FlatMap: an element leaves piece by piece, cut out of it or counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.arithmetic.staged import placed
from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.functions import datapath_of
from hw.functions.wires import INDEX_BITS, Generator
from hw.links.layout import HeaderFormat, TokenFormat, cycles_of, input_formats, output_formats
from hw.primitives.timing import window_place
from hw.units.columns import Columns
from hw.units.pieces import Pieces, send_pieces
from hw.units.rows import HeldRows, Rows
from hw.verilog.modules import Parametric, Shared
from step.language.faults import Fault
from step.language.function import CountedFunction
from step.language.graph import Node
from step.language.loops import Stops
from step.lowering.netlist import Netlist
from step.ops.flat_map import FlatMap as Operator


@dataclass(frozen=True)
class FlatMap(Pieces):
    """Piece i of ``slicer``, with the stop ``stops[i]``; that of the last one is raised by the element's own."""

    stops: tuple[int, ...]

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        index = Signal(range(max(2, len(self.stops))))
        rows = {"rows": token.rows} if self.piece.most_rows else {}
        firing.occupy(when=token.value, cycles=cycles_of(self.piece, token) if rows else None)
        if self.piece.items and self.slicer.plan.collects_control:
            number, word = self.collect(m, firing, token.value, index == 0)
            element = self.gather(m, number, word)
            firing.complete(0, control=placed(m, "slicer", self.slicer, element, firing.delayed(index)))
        elif self.piece.word_bits:
            self.cut(m, firing, index, token.value)
        control = {"control": token.control} if self.token.control and self.piece.control else {}
        own = Array(Const(stop, self.piece.stop_bits) for stop in self.stops)[index]
        last = ~token.value | (index == len(self.stops) - 1)
        send_pieces(m, firing, index, token.value, last, raised=self.stops[-1], own=own, **control, **rows)


@dataclass(frozen=True)
class ColumnPieces(FlatMap):
    """The pieces of a tile of dynamic size: columns, ``found`` in a memory, in the order of the pieces' words.

    Word ``step`` is wanted, of the tile in the other ``part`` than the one before.
    """

    latency = 0

    inputs = property(lambda self: (HeaderFormat(self.token),))

    @property
    def ports(self) -> Mapping[str, Any]:
        steps = range(self.slicer.pieces * self.piece.words)
        return {"part": Out(1), "step": Out(steps), "found": In(self.piece.word_bits)}

    def cut(self, m: Module, firing: Firing, index: Signal, value: Value) -> None:
        part = Signal(init=1)
        unit = firing.unit
        firing.next(part, part ^ (value & (index == 0)))
        word = window_place(m, "word", firing.fired(), self.piece.words)
        m.d.comb += [unit.part.eq(part), unit.step.eq(firing.latched(index) * self.piece.words + word)]
        firing.send(0, unit.found)


@dataclass(frozen=True)
class Counted(FiringRule):
    """The pieces that ``generator`` makes of the control of ``operands``; none is an empty row.

    ``fault``: of operands that it finds invalid.
    """

    operands: tuple[TokenFormat, ...]
    piece: TokenFormat
    generator: Generator
    fault: Fault | None

    latency = property(lambda self: self.generator.latency if self.piece.items else 0)
    inputs = property(lambda self: self.operands)
    outputs = property(lambda self: (self.piece,))

    def fire(self, m: Module, firing: Firing) -> None:
        m.submodules.generator = generator = Shared(self.generator)
        index = Signal(INDEX_BITS)
        m.d.comb += generator.index.eq(index)
        m.d.comb += [getattr(generator, f"operand{at}").eq(firing.head(at).control) for at in range(len(self.operands))]
        if self.fault is not None:
            with m.If(firing.head(0).value & generator.invalid):
                firing.fault(self.fault)
        token = firing.need_aligned()  # which other faults come first
        some = token.value & ~generator.none
        last = ~some | generator.last
        if self.latency:
            firing.complete(0, control=generator.result)
        if step := self.generator.step:
            reached = Signal(INDEX_BITS + 1, init=step)
            m.d.comb += generator.reached.eq(reached)
            firing.next(reached, Mux(last, step, reached + step))
        control = {"control": generator.result} if self.piece.items and not self.latency else {}
        send_pieces(m, firing, index, some, last, raised=1, **control)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    tokens, (piece,) = input_formats(node, netlist), output_formats(node, netlist)
    function, made = node.operator_as(Operator).function, datapath_of(node, netlist)
    if isinstance(function, CountedFunction):
        return Unit(Counted(tokens, piece, made, function.fault))
    (token,) = tokens
    if token.most_rows and not piece.most_rows:
        rows = Rows(token, piece, made, nested=bool(function.rank))
        return Unit(rows) if function.rank or not piece.rank else HeldRows(rows)
    shape = function.result_shape(node.inputs[0].element)
    stops = tuple(Stops(tuple(map(int, shape)), function.rank))
    if piece.most_rows:
        return Columns(ColumnPieces(token, piece, made, stops))
    return Unit(FlatMap(token, piece, made, stops))
