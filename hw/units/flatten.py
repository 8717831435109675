"""Flatten: stops inside the merged dimensions vanish, the others are renumbered."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Module, Mux, Signal

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.flatten import Flatten as Operator


@dataclass(frozen=True)
class Flatten(Rule):
    """Merges dimensions ``low`` to ``high``.

    ``holds``: a token that does not end the merged row waits for the next one, which may be an empty that does.
    """

    token: TokenFormat
    low: int
    high: int
    holds: bool

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (TokenFormat(self.token.rank - (self.high - self.low), self.token.bits),)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        lost = self.high - self.low
        within, above = (token.stop > self.low) & (token.stop <= self.high), token.stop > self.high
        vanishes = (token.rank > self.low) & (token.rank <= self.high)
        merged = Signal(self.outputs[0].layout)
        m.d.comb += [merged.done.eq(token.done), merged.value.eq(token.value), merged.data.eq(token.data)]
        m.d.comb += merged.stop.eq(Mux(above, token.stop - lost, Mux(within, self.low, token.stop)))
        m.d.comb += merged.rank.eq(Mux(token.rank > self.high, token.rank - lost, token.rank))

        held, holding = Signal.like(merged), Signal()
        holdable = within if self.holds else Const(0)
        with m.If(vanishes):
            with m.If(above & holding):
                firing.put(0, held, stop=merged.stop)
                firing.next(holding, 0)
            with m.Elif(above):
                firing.put(0, stop=merged.stop, rank=self.low + 1)
            firing.take(0)
        with m.Elif(holding):
            firing.put(0, held)
            with m.If(holdable):
                firing.take(0)
        with m.Else():
            with m.If(~holdable):
                firing.put(0, merged)
            firing.take(0)
            firing.finish(token.done)
        if self.holds:
            with m.If(~vanishes):
                firing.next(holding, holdable)
                firing.next(held, merged)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, stream = node.operator, node.inputs[0].type
    assert isinstance(operator, Operator)
    return Unit(Flatten(TokenFormat.of(stream), operator.low, operator.high, operator.holds(stream)))
