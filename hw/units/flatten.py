"""Flatten: stops inside the merged dimensions vanish, the others are renumbered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Module, Mux, Signal

from hw.firing import Firing
from hw.layout import Format, TokenFormat, input_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
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
    def held(self) -> tuple[int, ...]:
        return (0,) if self.holds else ()

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (replace(self.token, rank=self.token.rank - (self.high - self.low)),)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        firing.pass_data(0, 0)
        lost = self.high - self.low
        within, above = (token.stop > self.low) & (token.stop <= self.high), token.stop > self.high
        vanishes = (token.rank > self.low) & (token.rank <= self.high)
        # What vanishes is the merged row itself, if it ends there with nothing in it.
        rank = Mux(token.rank > self.high, token.rank - lost, Mux(vanishes, self.low + 1, token.rank))
        if not self.holds:
            stop = Mux(above, token.stop - lost, Mux(within, self.low, token.stop))
            firing.put(0, token, when=~vanishes | above, stop=stop, rank=rank)
            firing.occupy(when=token.value)
            firing.take(0)
            firing.finish(token.done)
            return
        # its stop is `low`, and its rank not above that
        held = Signal(token.shape())
        holding = Signal()
        puts = Signal()
        value = Signal()
        m.d.comb += [puts.eq(Mux(vanishes, above, holding | ~within)), value.eq(Mux(holding, held.value, token.value))]
        firing.put(
            0,
            when=puts,
            done=token.done & ~holding,
            value=value,
            stop=Mux(holding & ~vanishes, self.low, Mux(above, token.stop - lost, token.stop)),
            rank=Mux(holding, held.rank if self.low else 0, rank),
            **({"control": Mux(holding, held.control, token.control)} if self.token.control else {}),
        )
        firing.drop(0, when=puts & value)
        firing.occupy(when=puts & value)
        firing.next(holding, Mux(vanishes, holding & ~above, within))
        with m.If(~vanishes):
            firing.next(held, token)
        with m.If(vanishes | within | ~holding):
            firing.take(0)
        firing.finish(token.done & ~holding)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, stream = node.operator, node.inputs[0].type
    assert isinstance(operator, Operator)
    (token,) = input_formats(node, netlist)
    return Unit(Flatten(token, operator.low, operator.high, operator.holds(stream)))
