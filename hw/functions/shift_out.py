"""Items that leave in the order in which they came, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In

from hw.functions.corner_turn import Move, Turn, sizes_of


def leaves_in_order(moves: Sequence[Move]) -> bool:
    """Whether the items of every read port come through one write port, one after the other."""
    return all(
        len({move.write_port for move in items}) == 1
        and [move.read_step for move in items] == list(range(len(items)))
        and len({move.write_step for move in items}) == len(items)
        for items in _by_port(moves).values()
    )


def _by_port(moves: Sequence[Move]) -> dict[int, list[Move]]:
    """The moves to each read port, in the order in which they come."""
    found: dict[int, list[Move]] = {}
    for move in sorted(moves):
        found.setdefault(move.read_port, []).append(move)
    return found


class ShiftOut(Turn):
    """Shift registers for the items of ``moves``, of ``item_bits`` each.

    With ``write`` those of ``write_step`` are on ``values``. When all have come ``result`` is the first word; ``shift``
    makes it the next one. Not both in a cycle.
    """

    def __init__(self, moves: tuple[Move, ...], item_bits: int) -> None:
        self.moves, self.width = moves, item_bits
        super().__init__(*sizes_of(moves, item_bits), read_step=None, shift=In(1))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for port, items in _by_port(self.moves).items():
            register = Signal(len(items) * self.width, name=f"items_{port}", reset_less=True)
            comes = Cat(self.write_step == move.write_step for move in items).any()
            value = self.values.word_select(items[0].write_port, self.width)
            with m.If(self.shift | (self.write & comes)):
                m.d.sync += register.eq(Cat(register, value)[self.width :])
            m.d.comb += self.result.word_select(port, self.width).eq(register)
        return m
