"""Channels: order, capacity, and the cycles in which headers and words become visible."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

import pytest
from driving import drive
from formats import rows, words
from grids import grid

from hw.links.channel import ChannelFifo


class Model:
    """What a channel with room for ``depth`` tokens has to show, cycle by cycle; values are lists of words, or None."""

    def __init__(self, depth: int, spare: int) -> None:
        self.depth, self.spare = depth, spare
        self.taken = 0  # slots
        self.queue: deque[tuple[int, list[int] | None]] = deque()
        self.values: deque[tuple[int, list[int]]] = deque()  # not dropped yet, and when they entered
        self.kept = 0  # of them, those whose headers are taken
        self.read: list[int] = []  # words that are due

    @property
    def may_take(self) -> bool:
        """A reader keeps ``spare`` values at most."""
        return bool(self.queue) and (self.queue[0][1] is None or self.kept <= self.spare)


@grid(
    depth=[1, 2, 3, 5, 8],
    values=[(1, 0), (1, 1), (2, 0), (3, 1), (4, 0)],
    latency=[0, 1, 3],
    deep=[False, True],
    dynamic=[False, True],
    hops=[0, 2],
)
def test_behaves_like_a_queue(
    depth: int,
    values: tuple[int, int],
    latency: int,
    deep: bool,
    dynamic: bool,
    hops: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader takes headers, opens values anew or drops them, and reads its words at its own pace.

    ``values``: their words, of tiles of dynamic size the most, and how many of them a reader keeps. With ``hops`` both
    halves of a word have registers of their own for its place.
    """
    size, spare = values
    format = rows(1, size) if dynamic else words(1, size)
    monkeypatch.setattr("hw.links.channel.DRIVEN", 4)
    channel, model = ChannelFifo(format, depth, spare, deep=deep, hops=hops), Model(depth, spare)
    arriving = deque[tuple[int, list[int] | None] | None]([None] * (hops + deep))
    freed = deque([False] * hops)
    random = Random(depth * 100 + size * 10 + latency)
    flying: deque[tuple[int, int, list[int] | None]] = deque()  # cycle of the write, header and words
    writing: list[int] = []
    free_to_write = free_to_read = 0

    async def bench(context: Any) -> None:
        nonlocal writing, free_to_write, free_to_read
        busy = eager = 0.5
        for cycle in range(600):
            if cycle % 100 == 0:
                busy, eager = random.choice([(0.2, 1), (1, 0.2), (1, 1), (0.5, 0.5)])
            assert context.get(channel.i.space) == (model.taken < depth)
            assert context.get(channel.o.valid) == bool(model.queue)
            if model.queue:
                assert context.get(channel.o.header.as_value()) == model.queue[0][0]
            if model.read:
                assert context.get(channel.o.word) == model.read.pop(0)

            claim = model.taken < depth and cycle >= free_to_write and random.random() < busy
            if claim:
                count = random.randint(0, size) if dynamic else size
                sent = [random.randrange(256) for _ in range(count)] if random.random() < 0.7 else None
                header = random.randrange(4) << 2 | (sent is not None) << 1 | (count << 4 if dynamic else 0)
                flying.append((cycle + latency, header, sent))
                free_to_write = cycle + max(1, len(sent or []))
            context.set(channel.i.claim, claim)
            writes = bool(flying) and flying[0][0] == cycle
            context.set(channel.i.valid, writes)
            context.set(channel.i.word, writing.pop(0) if writing else random.randrange(256))
            arriving.append(None)
            if writes:
                _, header, sent = flying.popleft()
                context.set(channel.i.header.as_value(), header)
                writing, arriving[-1] = list(sent or []), (header, None if sent is None else list(sent))

            fires = cycle >= free_to_read and random.random() < eager
            takes = fires and model.may_take
            drops = fires and bool(model.values) and (model.kept > 0 or (takes and model.queue[0][1] is not None))
            if takes and model.queue[0][1] is not None and model.kept == model.spare:
                drops = True  # there is no room to keep it
            since, reads = model.values[0] if fires and model.values else (0, None)
            context.set(channel.o.ready, takes)
            context.set(channel.o.drop, drops)
            if size > 1:
                offset = random.randrange(min(len(reads), cycle - since)) if reads and not drops else 0
                context.set(channel.o.open, reads is not None)
                context.set(channel.o.offset, offset)
            else:
                offset = 0
            if reads is not None:
                model.read = reads[offset:]
                free_to_read = cycle + len(model.read)
            if takes:
                model.kept += model.queue.popleft()[1] is not None
            if drops:
                model.values.popleft()
                model.kept -= 1
            freed.append(takes)
            model.taken += claim - freed.popleft()
            shown = arriving.popleft()
            if shown is not None:
                model.queue.append(shown)
                if shown[1] is not None:
                    model.values.append((cycle, shown[1]))
            await context.tick()

    drive(channel, bench)


@pytest.mark.parametrize("size", [1, 3])
def test_full_throughput_at_depth_two(size: int) -> None:
    """A word every cycle, written and read; a header is read in the cycle after it was written."""
    channel = ChannelFifo(words(1, size), 2)
    seen: list[int] = []

    async def bench(context: Any) -> None:
        for cycle in range(10 * size):
            begins = cycle % size == 0
            if begins:
                assert context.get(channel.i.space)
            context.set(channel.i.claim, begins)
            context.set(channel.i.valid, begins)
            context.set(channel.i.header.value, 1)
            context.set(channel.i.word, cycle + 99)  # the header came a cycle before
            reads = cycle % size == (1 if size > 1 else 0) and cycle > 0
            context.set(channel.o.ready, reads)
            context.set(channel.o.drop, reads)
            if size > 1:
                context.set(channel.o.open, reads)
            if cycle > 1:
                seen.append(context.get(channel.o.word))
            await context.tick()

    drive(channel, bench)
    assert seen == [cycle + 100 for cycle in range(10 * size - 2)]
