"""A tile that comes in words while the one before it is read in another order."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib.wiring import In

from hw.functions.corner_turn import Move, Turn, chosen, sizes_of
from hw.primitives.timing import held


class Assembly(Turn):
    """Puts the items of ``moves``, of ``item_bits`` each, together in registers, while the tile before is read.

    With ``write`` those of ``write_step`` are on ``values``. With ``swap`` all have come, move on to other registers,
    and from the next cycle on ``result`` has those of ``read_step``; the next tile may be written. ``last``: its last
    step comes with ``swap``, else before it.
    """

    def __init__(self, moves: tuple[Move, ...], item_bits: int, *, last: bool) -> None:
        self.moves, self.width, self.last = moves, item_bits, last
        super().__init__(*sizes_of(moves, item_bits), swap=In(1))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        steps = max(move.write_step for move in self.moves) + 1
        tile: list[Value] = []
        for step in range(steps):
            word: Value = self.values
            if step < steps - self.last:
                word = held(m, self.values, self.write & (self.write_step == step), f"coming_{step}")
            tile.append(held(m, word, self.swap, f"shown_{step}"))
        for port in {move.read_port for move in self.moves}:
            items = {
                move.read_step: tile[move.write_step].word_select(move.write_port, self.width)
                for move in self.moves
                if move.read_port == port
            }
            m.d.comb += self.result.word_select(port, self.width).eq(chosen(items, self.read_step))
        return m
