"""Tiles that come while others are read."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from driving import drive

from hw.functions.assembly import Assembly
from hw.functions.corner_turn import Move

SCATTERED = tuple(Move(at // 4, at % 4, *divmod(at * 5 % 12, 3)) for at in range(12))
IN_ORDER = tuple(Move(at // 2, at % 2, at, 0) for at in range(10))


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("moves", [SCATTERED, IN_ORDER[:2], IN_ORDER])
def test_a_tile_is_read_while_the_next_one_comes(moves: tuple[Move, ...], last: bool) -> None:
    buffer = Assembly(moves, 8, last=last)
    steps = max(move.write_step for move in moves) + 1
    random = Random(1)
    tiles = [[random.randrange(256) for _ in moves] for _ in range(4)]
    wrong = []

    def check(ctx: Any, items: list[int]) -> None:
        for move, item in zip(moves, items, strict=True):
            ctx.set(buffer.read_step, move.read_step)
            if ctx.get(buffer.result) >> 8 * move.read_port & 255 != item:
                wrong.append(move)

    async def bench(ctx: Any) -> None:
        before: list[int] | None = None
        for items, following in pairwise([*tiles, tiles[0]]):
            for step in range(steps):
                pairs = [(move, item) for move, item in zip(moves, items, strict=True) if move.write_step == step]
                ctx.set(buffer.write, 1)
                ctx.set(buffer.write_step, step)
                ctx.set(buffer.values, sum(item << 8 * move.write_port for move, item in pairs))
                ctx.set(buffer.swap, last and step == steps - 1)
                if before is not None:
                    check(ctx, before)
                await ctx.tick()
            ctx.set(buffer.write, 0)
            ctx.set(buffer.values, following[0])
            if not last:
                ctx.set(buffer.swap, 1)
                await ctx.tick()
            ctx.set(buffer.swap, 0)
            check(ctx, items)
            before = items

    drive(buffer, bench)
    assert wrong == []
