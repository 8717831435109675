"""Memory behind the port of a DMA in Amaranth's simulator."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

from step.lowering.dma import REQUEST


def memory(request: Any, response: Any, contents: bytes, beat_bytes: int, random: Random, due: deque[int]) -> Any:
    """A process that answers requests in order after a while, a beat in some cycles; ``due`` are the beats to come."""

    async def process(ctx: Any) -> None:
        while True:
            ctx.set(request.ready, random.random() < 0.7)
            beats = bool(due) and random.random() < 0.8
            ctx.set(response.valid, beats)
            if beats:
                at = due.popleft() * beat_bytes
                assert at < len(contents), f"nothing is at {at:#x}"
                ctx.set(response.payload, int.from_bytes(contents[at : at + beat_bytes], "little"))
            _, _, valid, ready, address = await ctx.tick().sample(request.valid, request.ready, request.payload)
            if valid and ready:
                due.extend(range(address, address + REQUEST))

    return process
