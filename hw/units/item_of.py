"""ItemOf: one item of tuples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Module

from hw.firing.machine import Firing
from hw.firing.rule import Rule
from hw.firing.unit import Unit
from hw.functions.words import whole
from hw.links.layout import Format, TokenFormat, input_formats, output_formats
from hw.verilog.modules import Parametric
from step.language.graph import Node
from step.language.types import Tuple
from step.lowering.links import tuple_words
from step.lowering.netlist import Netlist
from step.ops.item_of import ItemOf as Operator


@dataclass(frozen=True)
class ItemOf(Rule):
    """Words ``first`` to ``first + words - 1`` of every tuple leave when they come; a header waits for its control."""

    token: TokenFormat
    item: TokenFormat
    first: int
    words: int

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.token,)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.item,)

    @property
    def offsets(self) -> tuple[int, ...]:
        return (self.first,)

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.first + (self.words if self.item.control else 0)

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need(0)
        firing.put(0, token)
        firing.take(0)
        firing.occupy(when=token.value)
        firing.finish(token.done)
        if self.token.beats > 1:
            firing.read_from(0, self.first)
        if self.item.control:
            number = firing.phase() - self.first
            item = replace(self.item, control=False)
            firing.late(0, control=whole(m, "item", firing.word(0), number, item, self.words - 1))
        elif self.item.word_bits:
            firing.send(0, firing.word(0)[: self.item.word_bits])


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    operator, element = node.operator, node.input_types[0].element
    assert isinstance(operator, Operator) and isinstance(element, Tuple)
    (token,), (item,) = input_formats(node, netlist), output_formats(node, netlist)
    words = tuple_words(element, netlist.fabric.link_bytes)
    first = sum(words[: operator.index]) if item.items else 0
    return Unit(ItemOf(token, item, first, words[operator.index] if item.items else 0))
