"""Reshape: counts chunks, fills up the last one, and says which elements are padding."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Const, Module, Mux, Signal, Value

from hw.layout import Format, TokenFormat, pack_element
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.reshape import Reshape as Operator
from step.ops.reshape import pad_element


@dataclass(frozen=True)
class Reshape(Rule):
    """Chunks of ``chunk`` elements; ``pad`` is the data of an element of padding (chunks of one have none)."""

    token: TokenFormat
    chunk: int
    pad: int

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[TokenFormat, ...]:
        return (replace(self.token, rank=self.token.rank + 1), TokenFormat(self.token.rank + 1, 1))

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.head(0)
        count = Signal(range(self.chunk))  # elements in the open chunk
        filling = Signal()  # the stop `fill_stop` ended the last element inside a chunk
        fill_stop = Signal(self.token.stop_bits)
        last, padding = Signal(), Signal()
        m.d.comb += [last.eq(count == self.chunk - 1), padding.eq(filling | ~token.value)]
        self._fill(m, firing, padding)

        def put_element(stop: Value) -> None:
            for port in range(2):
                control = {"control": Mux(padding, self.pad, token.control)} if self.outputs[port].control else {}
                firing.put(port, value=1, stop=Mux(last, stop + 1, 0), **control)
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
        """Send the data: elements, or the pad, and which of them it is."""
        late = firing.lagging(padding)
        firing.send(1, late)
        if self.token.data_bits:
            firing.send(0, Mux(late, Const(self.pad, self.token.bits), firing.word(0)))


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, stream = node.operator, node.inputs[0].type
    assert isinstance(operator, Operator)
    pad = pack_element(pad_element(stream.element, operator.pad), stream.element) if operator.chunk > 1 else 0
    return Unit(Reshape(TokenFormat.of(stream), operator.chunk, pad))
