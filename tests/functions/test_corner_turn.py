"""Memories that are read in another order than they are written in."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from driving import drive

from hw.functions.corner_turn import CornerTurn, Move


def any_moves(random: Random) -> tuple[Move, ...]:
    """Items that come a few in a step, in order, and are wanted in any steps and at any ports."""
    ports, count, read_ports = random.randint(1, 4), random.randint(1, 20), random.randint(1, 4)
    wanted = random.sample(range(-(-count // read_ports) * read_ports), count)
    return tuple(Move(at // ports, at % ports, *divmod(to, read_ports)) for at, to in enumerate(wanted))


@pytest.mark.parametrize("seed", range(12))
def test_every_item_arrives(seed: int) -> None:
    random = Random(seed)
    moves, parts = any_moves(random), random.randint(1, 3)
    turn = CornerTurn(moves, 8, parts)
    tiles = [[random.randrange(256) for _ in moves] for _ in range(parts)]
    wrong = []

    async def bench(ctx: Any) -> None:
        ctx.set(turn.write, 1)
        for part, items in enumerate(tiles):
            if parts > 1:
                ctx.set(turn.write_part, part)
            for step in sorted({move.write_step for move in moves}):
                word = sum(
                    item << 8 * move.write_port
                    for move, item in zip(moves, items, strict=True)
                    if move.write_step == step
                )
                ctx.set(turn.write_step, step)
                ctx.set(turn.values, word)
                await ctx.tick()
        ctx.set(turn.write, 0)
        for part, items in enumerate(tiles):
            if parts > 1:
                ctx.set(turn.read_part, part)
            for move, item in zip(moves, items, strict=True):
                ctx.set(turn.read_step, move.read_step)
                if ctx.get(turn.result) >> 8 * move.read_port & 255 != item:
                    wrong.append((part, move))

    drive(turn, bench)
    assert wrong == []
