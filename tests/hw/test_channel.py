"""Channels: order, capacity, and the cycle in which headers and data become visible."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.channel import Channel
from hw.layout import TokenFormat

FORMAT = TokenFormat(1, 8)


@pytest.mark.parametrize("latency", [0, 1, 3])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 8, 11])
def test_behaves_like_a_queue(depth: int, latency: int) -> None:
    channel, random = Channel(FORMAT, depth), Random(depth * 10 + latency)
    queue: deque[tuple[int, int]] = deque()
    flying: deque[tuple[int, tuple[int, int]]] = deque()  # cycle of the write, header and word
    taken = 0
    front: tuple[int, int] | None = None  # what was in front in the cycle before
    written: tuple[int, int] | None = None  # what was written in the cycle before

    async def bench(context: Any) -> None:
        nonlocal taken, front, written
        busy, eager = 0.5, 0.5
        for cycle in range(600):
            if cycle % 100 == 0:
                busy, eager = random.choice([(0.2, 1), (1, 0.2), (1, 1), (0.5, 0.5)])
            assert context.get(channel.i.space) == (taken < depth)
            assert context.get(channel.o.valid) == bool(queue)
            if queue:
                assert context.get(channel.o.header.as_value()) == queue[0][0]
            if front is not None:
                assert context.get(channel.o.word) == front[1]

            claim = taken < depth and random.random() < busy
            if claim:
                flying.append((cycle + latency, (random.randrange(16), random.randrange(256))))
            context.set(channel.i.claim, claim)
            writes = bool(flying) and flying[0][0] == cycle
            context.set(channel.i.valid, writes)
            if writes:
                context.set(channel.i.header.as_value(), flying[0][1][0])
            context.set(channel.i.word, random.randrange(256) if written is None else written[1])
            ready = random.random() < eager
            context.set(channel.o.ready, ready)

            leaves = ready and bool(queue)
            taken += claim - leaves
            front = queue[0] if queue else None
            if leaves:
                queue.popleft()
            written = flying.popleft()[1] if writes else None
            if written is not None:
                queue.append(written)
            await context.tick()

    simulator = Simulator(channel)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_full_throughput_at_depth_two() -> None:
    channel = Channel(FORMAT, 2)
    seen: list[tuple[int, int]] = []
    header = 0

    async def bench(context: Any) -> None:
        nonlocal header
        context.set(channel.o.ready, 1)
        for cycle in range(20):
            assert context.get(channel.i.space)
            context.set(channel.i.claim, 1)
            context.set(channel.i.valid, 1)
            context.set(channel.i.header.as_value(), cycle % 16)
            context.set(channel.i.word, cycle + 99)  # of the header before
            if cycle > 1:
                seen.append((header, context.get(channel.o.word)))
            header = context.get(channel.o.header.as_value())
            await context.tick()

    simulator = Simulator(channel)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [(cycle % 16, cycle + 100) for cycle in range(18)]
