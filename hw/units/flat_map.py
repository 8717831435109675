"""FlatMap: an element leaves piece by piece, cut out of it or counted."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from hw.firing.machine import Firing
from hw.firing.rule import Rule
from hw.firing.unit import Unit
from hw.functions import datapath_of
from hw.functions.generator import INDEX_BITS, Generator
from hw.functions.retile import RetileSlicer
from hw.functions.sequence import counter
from hw.functions.store import Parts, Store
from hw.functions.words import in_words
from hw.links.layout import Format, TokenFormat, input_formats, output_formats
from hw.verilog.modules import Parametric, Shared
from step.language.dims import Shape
from step.language.faults import Fault
from step.language.function import CountedFunction
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.flat_map import FlatMap as Operator


@dataclass(frozen=True)
class FlatMap(Rule):
    """Piece i of ``slicer``, with the stop ``stops[i]``; that of the last one is raised by the element's own.

    A piece that is made of whole words, or is a part of one, is read where it lies. All others have to wait until the
    element is there, `latency` cycles; then the next one comes while they leave. Where words are whole parts of lines,
    they wait in a memory, else in registers; and so where pieces are control, of which the header waits for them.
    """

    token: TokenFormat
    piece: TokenFormat
    slicer: RetileSlicer
    stops: tuple[int, ...]

    @property
    def initiation_interval(self) -> int:
        return self.slicer.plan.initiation_interval if self.piece.items else 1

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.slicer.plan.latency if self.piece.items else 0

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.piece,)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        index = Signal(range(max(2, len(self.stops))))
        firing.occupy(when=token.value)
        if self.piece.items and self.slicer.plan.collects_control:
            number, word = self._collect(m, firing, token.value, index == 0)
            firing.late(0, control=_piece(m, self.slicer, self._gather(m, number, word), firing.delayed(index)))
        elif self.piece.word_bits:
            self._cut(m, firing, index, token.value)
        control = {"control": token.control} if self.token.control and self.piece.control else {}
        last = index == len(self.stops) - 1
        rank = self.stops[-1]
        with m.If(token.value):
            own = Array(Const(stop, self.piece.stop_bits) for stop in self.stops)[index]
            firing.put(0, value=1, stop=Mux(last, token.stop + rank, own), **control)
            firing.next(index, Mux(last, 0, index + 1))
            with m.If(last):
                firing.take(0)
        with m.Else():
            stop, above = (Mux(token.done, 0, level + rank) for level in (token.stop, token.rank))
            firing.put(0, done=token.done, stop=stop, rank=above)
            firing.take(0)
            firing.finish(token.done)

    def _cut(self, m: Module, firing: Firing, index: Signal, value: Value) -> None:
        """Send the words of piece ``index``."""
        if self.slicer.plan.lies_whole:
            if self.token.beats > 1:
                firing.read_from(0, index * self.piece.beats)
            firing.pass_data(0, 0)
        elif self.slicer.plan.lies_within:
            width = min(self.token.bits, self.token.link_bits)
            pieces = width // self.piece.bits  # of a word
            shift = pieces.bit_length() - 1
            if self.token.beats > 1:
                firing.read_from(0, index >> shift)
                index = index[:shift]
            slicer = RetileSlicer(self.slicer.plan, pieces)
            firing.send(0, _piece(m, slicer, firing.word(0), firing.latched(index)))
        else:
            begins = firing.delayed(firing.fired(value))
            number, word = self._collect(m, firing, value, index == 0)
            which = firing.delayed(firing.latched(index))
            if self.slicer.width % self.token.word_bits == 0:
                firing.send(0, self._read(m, number, word, begins, which))
            else:
                piece = _piece(m, self.slicer, self._gather(m, number, word), which)
                firing.send(0, in_words(m, piece, begins, self.piece))

    def _collect(self, m: Module, firing: Firing, value: Value, first: Value) -> tuple[Signal, Value]:
        """The word of the element that comes now, and its number; that is `beats` where none comes."""
        number = Signal(range(self.token.beats + 1), init=self.token.beats)
        firing.read_from(0, Mux(first, 0, number + 1))  # it goes on below the firings of other pieces
        with m.If(firing.fires & value & first):
            m.d.sync += number.eq(0)
        with m.Elif(number != self.token.beats):
            m.d.sync += number.eq(number + 1)
        return number, firing.word(0)

    def _read(self, m: Module, number: Signal, word: Value, begins: Value, index: Value) -> Value:
        """The words of piece ``index``, out of a memory for two elements: one leaves, one comes."""
        element = Parts(self.token.beats, self.token.word_bits)
        store = Store(m, "elements", element, element, 2)
        comes = number != self.token.beats
        into, _ = counter(m, 2, "coming", number == self.token.beats - 1)
        store.write(comes, number, into, word)
        before = Signal(init=1)
        leaving = Signal()
        m.d.comb += leaving.eq(before ^ (begins & (index == 0)))
        m.d.sync += before.eq(leaving)
        place = Signal(range(self.piece.beats))
        following = Signal(range(self.piece.beats))
        m.d.comb += place.eq(Mux(begins, 0, following))
        m.d.sync += following.eq(place + 1)
        words, pieces = self.slicer.width // self.token.word_bits, self.slicer.pieces  # words of a line of a piece
        numbers = [
            Array(
                Const((at // words * pieces + piece) * words + at % words, range(self.token.beats))
                for at in range(self.piece.beats)
            )
            for piece in range(pieces)
        ]
        return store.read(Array(each[place] for each in numbers)[index], leaving)

    def _gather(self, m: Module, number: Signal, word: Value) -> Signal:
        """The last element of which all words have come."""
        before = Signal((self.token.beats - 1) * self.token.word_bits, reset_less=True)
        element = Signal(self.token.bits, reset_less=True)
        with m.Switch(number):
            for place in range(self.token.beats - 1):
                with m.Case(place):
                    m.d.sync += before.word_select(place, len(word)).eq(word)
            with m.Case(self.token.beats - 1):
                m.d.sync += element.eq(Cat(before, word))
        return element


@dataclass(frozen=True)
class Counted(Rule):
    """The pieces that ``generator`` makes of the control of ``operands``; none is an empty row.

    ``fault``: of operands that it finds invalid.
    """

    operands: tuple[TokenFormat, ...]
    piece: TokenFormat
    generator: Generator
    fault: Fault | None

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.generator.latency if self.piece.items else 0

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.operands

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.piece,)

    def fire(self, m: Module, firing: Firing) -> None:
        m.submodules.generator = generator = Shared(self.generator)
        index = Signal(INDEX_BITS)
        m.d.comb += generator.index.eq(index)
        m.d.comb += [getattr(generator, f"operand{at}").eq(firing.head(at).control) for at in range(len(self.operands))]
        if self.fault is not None:
            with m.If(firing.head(0).value & generator.invalid):
                firing.fault(self.fault)
        token = firing.need_aligned()  # which other faults come first
        counts = token.value & ~generator.none
        more = counts & ~generator.last
        level, rank = (Mux(token.done, 0, each + 1) for each in (token.stop, token.rank))
        firing.put(
            0,
            done=token.done,
            value=counts,
            stop=Mux(more, 0, level),
            rank=Mux(counts, 0, rank),
            **({"control": generator.result} if self.piece.items and not self.latency else {}),
        )
        if self.latency:
            firing.late(0, control=generator.result)
        firing.next(index, Mux(more, index + 1, 0))
        if step := self.generator.step:
            reached = Signal(INDEX_BITS + 1, init=step)
            m.d.comb += generator.reached.eq(reached)
            firing.next(reached, Mux(more, reached + step, step))
        with m.If(~counts | generator.last):
            for port in range(len(self.operands)):
                firing.take(port)
        firing.finish(token.done)


def _piece(m: Module, slicer: RetileSlicer, element: Value, index: Value) -> Value:
    """Piece ``index`` of ``element``."""
    m.submodules.slicer = cut = Shared(slicer)
    m.d.comb += [cut.operand0.eq(element), cut.index.eq(index)]
    result: Value = cut.result
    return result


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    function, tokens, (piece,) = node.operator.function, input_formats(node, netlist), output_formats(node, netlist)
    made = datapath_of(node, function, netlist)
    if isinstance(function, CountedFunction):
        return Unit(Counted(tokens, piece, made, function.fault))
    (token,) = tokens
    return Unit(FlatMap(token, piece, made, piece_stops(function.result_shape(node.inputs[0].element))))


def piece_stops(shape: Shape) -> tuple[int, ...]:
    """The stop of every piece of a static stream ``shape``, in order; the last one's is the rank."""
    outer, *inner = (int(extent) for extent in shape)
    stops = [0]
    for extent in reversed(inner):
        stops = [*(stops * extent)[:-1], stops[-1] + 1]
    return tuple(stops * outer)
