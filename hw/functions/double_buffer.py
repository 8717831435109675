"""A tile that comes in words while the one before it is read in another order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from hw.functions.corner_turn import CornerTurn, Move
from hw.verilog.modules import Parametric, Shared


class DoubleBuffer(Parametric):
    """The items of ``moves``, of ``width`` bits each, twice.

    With ``write`` those of ``write_step`` are on ``values``. With ``swap`` all have come, from the next cycle on
    ``result`` has those of ``read_step``, and the next tile may be written. ``last``: its last step comes with
    ``swap``, else before it.

    Tiles lie in the two parts of a `CornerTurn`, where its banks have some items each. Else they are put together in
    registers, and with ``swap`` move on to others, which are read: so a multiplexer is as wide as one tile, not two.
    """

    def __init__(self, moves: tuple[Move, ...], width: int, *, last: bool) -> None:
        self.moves, self.width, self.last = moves, width, last
        turn = CornerTurn(moves, width, 2)
        names = ("write", "write_step", "values", "read_step", "result")
        super().__init__({**{name: turn.signature.members[name] for name in names}, "swap": In(1)})

    @property
    def parameters(self) -> tuple[Any, ...]:
        return tuple(map(tuple, self.moves)), self.width, self.last

    @property
    def in_registers(self) -> bool:
        """Whether that is smaller.

        A bit of LUT RAM takes one and a half LUTs, and every input of a multiplexer about one: of those there are as
        many as items in registers, or as banks. Two registers are counted as a LUT, as there are as many of both.
        """
        banks = {(move.write_port, move.read_port) for move in self.moves}
        return 2 * len(self.moves) < 2.5 * len(banks)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        if self.in_registers:
            self._registers(m)
        else:
            self._memory(m)
        return m

    def _memory(self, m: Module) -> None:
        half = Signal()
        with m.If(self.swap):
            m.d.sync += half.eq(~half)
        m.submodules.turn = turn = Shared(CornerTurn(self.moves, self.width, 2))
        m.d.comb += [
            *(turn.write.eq(self.write), turn.write_part.eq(half), turn.write_step.eq(self.write_step)),
            *(turn.values.eq(self.values), turn.read_part.eq(~half), turn.read_step.eq(self.read_step)),
            self.result.eq(turn.result),
        ]

    def _registers(self, m: Module) -> None:
        steps = max(move.write_step for move in self.moves) + 1
        tile: list[Value] = []
        for step in range(steps):
            word: Value = self.values
            if step < steps - self.last:
                word = Signal(len(self.values), name=f"coming_{step}", reset_less=True)
                with m.If(self.write & (self.write_step == step)):
                    m.d.sync += word.eq(self.values)
            shown = Signal(len(self.values), name=f"shown_{step}", reset_less=True)
            with m.If(self.swap):
                m.d.sync += shown.eq(word)
            tile.append(shown)
        for port in {move.read_port for move in self.moves}:
            items = {
                move.read_step: tile[move.write_step].word_select(move.write_port, self.width)
                for move in self.moves
                if move.read_port == port
            }
            m.d.comb += self.result.word_select(port, self.width).eq(_chosen(items, self.read_step))


def _chosen(items: Mapping[int, Value], number: Value) -> Value:
    """Item ``number``, which is there: a tree of multiplexers, a bit of ``number`` for each level."""
    halves = [{at >> 1: item for at, item in items.items() if at & 1 == bit} for bit in range(2)]
    if len(items) == 1:
        return next(iter(items.values()))
    if not all(halves):
        return _chosen(halves[0] or halves[1], number[1:])
    even, odd = (_chosen(half, number[1:]) for half in halves)
    return Mux(number[0], odd, even)
