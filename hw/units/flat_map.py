"""FlatMap: an element leaves piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Const, Module, Mux, Signal

from hw.functions import datapath_of
from hw.layout import Format, TokenFormat
from hw.shared import Parametric, Shared
from hw.unit import Firing, Rule, Unit
from step.language.dims import Shape
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.ops.flat_map import FlatMap as Operator


@dataclass(frozen=True)
class FlatMap(Rule):
    """Piece i of ``slicer``, with the stop ``stops[i]``; that of the last one is raised by the element's own."""

    token: TokenFormat
    piece: TokenFormat
    slicer: Parametric
    stops: tuple[int, ...]

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.piece,)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        m.submodules.slicer = slicer = Shared(self.slicer)
        index = Signal(range(max(2, len(self.stops))))
        m.d.comb += [slicer.operand0.eq(firing.word(0)), slicer.index.eq(firing.lagging(index))]
        firing.send(0, slicer.result)
        last = index == len(self.stops) - 1
        rank = self.stops[-1]
        with m.If(token.value):
            own = Array(Const(stop, self.piece.stop_bits) for stop in self.stops)[index]
            firing.put(0, value=1, stop=Mux(last, token.stop + rank, own))
            firing.next(index, Mux(last, 0, index + 1))
            with m.If(last):
                firing.take(0)
        with m.Else():
            stop, above = (Mux(token.done, 0, level + rank) for level in (token.stop, token.rank))
            firing.put(0, done=token.done, stop=stop, rank=above)
            firing.take(0)
            firing.finish(token.done)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    assert isinstance(node.operator, Operator)
    function, element, result = node.operator.function, node.inputs[0].element, node.output_types[0]
    slicer = datapath_of(node, function, netlist)
    stops = piece_stops(function.result_shape(element))
    return Unit(FlatMap(TokenFormat.of(node.inputs[0].type), TokenFormat.of(result), slicer, stops))


def piece_stops(shape: Shape) -> tuple[int, ...]:
    """The stop of every piece of a static stream ``shape``, in order; the last one's is the rank."""
    outer, *inner = (int(extent) for extent in shape)
    stops = [0]
    for extent in reversed(inner):
        stops = [*(stops * extent)[:-1], stops[-1] + 1]
    return tuple(stops * outer)
