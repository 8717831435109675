"""The delay line gives back what it was given, after its time and also after a reset in the middle."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from driving import drive

from hw.primitives.delay import DelayLine


@pytest.mark.parametrize("cycles", [1, 2, 3, 4, 7, 20])
def test_gives_back_what_it_was_given(cycles: int) -> None:
    line, clear, random = DelayLine(8, cycles), Signal(), Random(cycles)
    given, got = [random.randrange(1, 256) for _ in range(100)], []

    async def bench(ctx: Any) -> None:
        for at, value in enumerate(given):
            ctx.set(line.i, value)
            ctx.set(clear, at == 49)  # what comes in up to here is forgotten
            got.append(ctx.get(line.o))
            await ctx.tick()

    drive(ResetInserter(clear)(line), bench)
    before, after = given[:50], given[50:]
    assert got[:50] == ([0] * cycles + before)[:50]
    assert got[50:] == ([0] * cycles + after)[:50]
