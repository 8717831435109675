"""Reshape: counts chunks, fills up the last one, and says which elements are padding; its rule only splits others."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

from hw.firing.machine import Firing
from hw.firing.rule import FiringRule
from hw.firing.unit import Unit
from hw.links.layout import DynamicFormat, TokenFormat, cycles_of, input_formats, output_formats
from hw.links.packing import pack_element, pack_words
from hw.rules.unit import translated
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.reshape import Reshape as Operator
from step.ops.reshape import pad_element


@dataclass(frozen=True)
class Reshape(FiringRule):
    """Chunks of ``chunk`` elements; ``pad`` are the words of an element of padding, or its control.

    Tiles of dynamic size have no padding.

    ``flag`` is what goes out beside every element: whether it is padding.
    """

    token: TokenFormat
    flag: TokenFormat
    chunk: int
    pad: tuple[int, ...]

    latency = property(lambda self: int(self.chunk > 1))
    inputs = property(lambda self: (self.token,))
    outputs = property(lambda self: (replace(self.token, rank=self.token.rank + 1), self.flag))

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.head(0)
        count = Signal(range(self.chunk))  # elements in the open chunk
        filling = Signal()  # the stop `fill_stop` ended the last element inside a chunk
        fill_stop = Signal(self.token.stop_bits)
        last = Signal()
        padding = Signal()
        m.d.comb += [last.eq(count == self.chunk - 1), padding.eq(filling | ~token.value)]
        self._fill(m, firing, padding)

        element = Signal()  # an element goes out
        firing.occupy(when=element, cycles=cycles_of(self.token, token))

        def put_element(stop: Value) -> None:
            m.d.comb += element.eq(1)
            for port in range(2):
                control = {"control": Mux(padding, self.pad[0], token.control)} if self.outputs[port].control else {}
                rows = {"rows": token.rows} if isinstance(self.outputs[port], DynamicFormat) else {}
                firing.put(port, value=1, stop=Mux(last, stop + 1, 0), **control, **rows)
            firing.next(count, Mux(last, 0, count + 1))

        with m.If(filling):
            put_element(fill_stop)
            firing.next(filling, ~last)
        with m.Else():
            firing.need(0)
            with m.If(token.value):
                put_element(token.stop)
                firing.take(0)
                firing.next(filling, (token.stop != 0) & ~last)
                firing.next(fill_stop, token.stop)
            with m.Elif(~token.done):
                for port in range(2):
                    firing.put(port, stop=token.stop + 1, rank=token.rank + 1)
                firing.take(0)
            with m.Elif(count != 0):
                put_element(Const(0))
            with m.Else():
                for port in range(2):
                    firing.put(port, done=1)
                firing.take(0)
                firing.finish()

    def _fill(self, m: Module, firing: Firing, padding: Signal) -> None:
        """Send the words: elements, or the pad, and which of them it is.

        Where there is a pad they pass through registers, which it sets: that takes no gates.
        """
        pads = firing.latched(padding)
        if self.flag.word_bits:
            firing.send(1, firing.registered(pads) if self.latency else pads)
        if self.token.word_bits and not self.latency:
            firing.pass_data(0, 0)
        elif self.token.word_bits:
            word = Signal(self.token.word_bits, reset_less=True)
            m.d.sync += word.eq(firing.word(0))
            with m.If(pads):
                m.d.sync += word.eq(Array(Const(each, len(word)) for each in self.pad)[firing.phase()])
            firing.send(0, word)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, stream = node.operator, node.inputs[0].type
    assert isinstance(operator, Operator)
    if operator.rank:
        return translated(node, netlist)
    (token,), (_, flag) = input_formats(node, netlist), output_formats(node, netlist)
    value = pad_element(stream.element, operator.pad) if operator.chunk > 1 else None
    pad = (0,) * token.cycles
    if value is not None and token.items:
        pad = (
            (pack_element(value, stream.element),) if token.control else tuple(pack_words(value, stream.element, token))
        )
    return Unit(Reshape(token, flag, operator.chunk, pad))
