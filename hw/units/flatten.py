"""Flatten: stops inside the merged dimensions vanish, the others are renumbered."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal

from hw.layout import Format, TokenFormat
from hw.shared import Parametric
from hw.unit import Firing, Rule, Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.flatten import Flatten as Operator


@dataclass(frozen=True)
class Flatten(Rule):
    """Merges dimensions ``low`` to ``high``.

    ``holds``: a token whose stop vanishes waits for the next one, which may be an empty that moves its stop there.
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
        token, before = firing.need(0), firing.before(0)
        within, above = (token.stop > self.low) & (token.stop <= self.high), token.stop > self.high
        adds_nothing = ~token.done & ~token.value & (token.stop > self.low) & (before > self.low)
        merged = Signal(self.outputs[0].layout)
        outer = token.stop - (self.high - self.low)
        m.d.comb += [merged.done.eq(token.done), merged.value.eq(token.value), merged.data.eq(token.data)]
        m.d.comb += merged.stop.eq(Mux(above, outer, Mux(within, self.low, token.stop)))

        held, holding, holdable = Signal.like(merged), Signal(), Signal()
        if self.holds:
            m.d.comb += holdable.eq(within)
        with m.If(adds_nothing):
            with m.If(above):
                firing.put(0, value=holding & held.value, data=Mux(holding, held.data, 0), stop=outer)
                firing.next(holding, 0)
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
            with m.If(~adds_nothing):
                firing.next(holding, holdable)
                firing.next(held, merged)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, stream = node.operator, node.inputs[0].type
    assert isinstance(operator, Operator)
    return Unit(Flatten(TokenFormat.of(stream), operator.low, operator.high, operator.holds(stream)))
