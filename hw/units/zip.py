"""Zip: elements side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from amaranth.hdl import Module, Signal

from hw.firing import Firing
from hw.layout import Format, TokenFormat, input_formats, output_formats
from hw.rule import Rule
from hw.shared import Parametric
from hw.unit import Unit
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Zip(Rule):
    """Joins ``items`` to what is ``joined``: their words go out one item after the other."""

    items: tuple[TokenFormat, ...]
    joined: TokenFormat

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.items

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.joined,)

    @property
    def offsets(self) -> tuple[int, ...]:
        begins = accumulate(self._words[:-1], initial=0)
        return tuple(begin if item.word_bits else 0 for begin, item in zip(begins, self.items, strict=True))

    @property
    def _words(self) -> list[int]:
        """Words of each item; those of control are in the tuple only."""
        return [item.beats or -(-item.bits // item.link_bits) for item in self.items]

    def fire(self, m: Module, firing: Firing) -> None:
        token = firing.need_aligned()
        firing.put(0, token)
        for port in range(len(self.items)):
            firing.take(port)
        firing.occupy(when=token.value)
        firing.finish(token.done)
        if self.joined.word_bits:
            self._join(m, firing)

    def _join(self, m: Module, firing: Firing) -> None:
        word, bits = Signal(self.joined.word_bits), self.joined.link_bits
        sources = [firing.word(port) for port in range(len(self.items))]
        begin = 0
        with m.Switch(firing.phase()):
            for source, item, words in zip(sources, self.items, self._words, strict=True):
                if item.control:
                    for number in range(words):
                        with m.Case(begin + number):
                            m.d.comb += word.eq(source[number * bits : (number + 1) * bits])
                else:
                    with m.Case(*range(begin, begin + words)):
                        m.d.comb += word.eq(source)
                begin += words
        firing.send(0, word)


def unit(node: Node, netlist: Netlist) -> Parametric:
    """The hardware of ``node``."""
    return Unit(Zip(input_formats(node, netlist), *output_formats(node, netlist)))
