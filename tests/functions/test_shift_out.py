"""Items that leave in the order in which they came."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from driving import drive

from hw.functions.corner_turn import Move
from hw.functions.shift_out import ShiftOut, leaves_in_order

ROWS = tuple(Move(row, port, row // 2, row % 2 * 2 + port) for row in range(6) for port in range(2))
"""Six rows of two items, two of them a word."""
UNEVEN = tuple(move for move in ROWS if move.write_step < 5)
"""The last word is half as long."""


@pytest.mark.parametrize("moves", [ROWS, UNEVEN, ROWS[:2]])
def test_words_leave_one_after_the_other(moves: tuple[Move, ...]) -> None:
    shift_out = ShiftOut(moves, 8)
    wrong = []

    async def bench(ctx: Any) -> None:
        for tile in range(2):
            items = {move: (tile * 89 + 17 * at + 3) % 256 for at, move in enumerate(moves)}
            ctx.set(shift_out.write, 1)
            for step in sorted({move.write_step for move in moves}):
                now = [move for move in moves if move.write_step == step]
                ctx.set(shift_out.write_step, step)
                ctx.set(shift_out.values, sum(items[move] << 8 * move.write_port for move in now))
                await ctx.tick()
            ctx.set(shift_out.write, 0)
            ctx.set(shift_out.shift, 1)
            for word in range(max(move.read_step for move in moves) + 1):
                for move in moves:
                    if move.read_step == word and ctx.get(shift_out.result) >> 8 * move.read_port & 255 != items[move]:
                        wrong.append((tile, move))
                await ctx.tick()
            ctx.set(shift_out.shift, 0)

    drive(shift_out, bench)
    assert wrong == []


@cases(
    (ROWS, True),
    (UNEVEN, True),
    ((Move(0, 0, 1, 0), Move(1, 0, 0, 0)), False),  # the second one leaves first
    ((Move(0, 0, 0, 0), Move(1, 1, 1, 0)), False),  # through two ports
    ((Move(0, 0, 0, 0), Move(1, 0, 2, 0)), False),  # with a gap,
)
def test_what_leaves_in_order(moves: tuple[Move, ...], in_order: bool) -> None:
    assert leaves_in_order(moves) == in_order
