"""Channels: order, capacity, and the cycle in which everything becomes visible."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.channel import Channel


@pytest.mark.parametrize("latency", [0, 1, 3])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 8, 11])
def test_behaves_like_a_queue(depth: int, latency: int) -> None:
    channel, random = Channel(8, depth), Random(depth * 10 + latency)
    queue: deque[int] = deque()
    flying: deque[tuple[int, int]] = deque()  # cycle of the write, value
    taken = 0

    async def bench(context: Any) -> None:
        nonlocal taken
        busy, eager = 0.5, 0.5
        for cycle in range(600):
            if cycle % 100 == 0:
                busy, eager = random.choice([(0.2, 1), (1, 0.2), (1, 1), (0.5, 0.5)])
            assert context.get(channel.i.space) == (taken < depth)
            assert context.get(channel.o.valid) == bool(queue)
            if queue:
                assert context.get(channel.o.payload) == queue[0]

            claim = taken < depth and random.random() < busy
            if claim:
                flying.append((cycle + latency, random.randrange(256)))
            context.set(channel.i.claim, claim)
            writes = bool(flying) and flying[0][0] == cycle
            context.set(channel.i.valid, writes)
            if writes:
                context.set(channel.i.payload, flying[0][1])
            ready = random.random() < eager
            context.set(channel.o.ready, ready)

            leaves = ready and bool(queue)
            taken += claim - leaves
            if leaves:
                queue.popleft()
            if writes:
                queue.append(flying.popleft()[1])
            await context.tick()

    simulator = Simulator(channel)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_full_throughput_at_depth_two() -> None:
    channel = Channel(8, 2)
    seen: list[int] = []

    async def bench(context: Any) -> None:
        context.set(channel.o.ready, 1)
        for cycle in range(20):
            assert context.get(channel.i.space)
            context.set(channel.i.claim, 1)
            context.set(channel.i.valid, 1)
            context.set(channel.i.payload, cycle)
            if context.get(channel.o.valid):
                seen.append(context.get(channel.o.payload))
            await context.tick()

    simulator = Simulator(channel)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == list(range(19))
