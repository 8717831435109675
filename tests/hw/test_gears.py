"""Channels whose words are read in another width: what comes out, when, and that nothing is overwritten."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any, NamedTuple

from driving import drive
from grids import grid

from hw.links.channel import ChannelFifo
from hw.links.layout import TokenFormat
from step.lowering.links import Span

ITEMS = [(64,), (8, 64), (20, 64, 4, 33), (24,)]
"""Bits of the items of a value; a row has 8 bits where they are rows."""


Word = tuple[int, int]
"""A word, and how many of its bits mean something."""


class Sent(NamedTuple):
    """A token whose header enters in ``cycle``, and ``waits`` then; its words as they are written, and as read."""

    cycle: int
    header: int
    waits: int
    written: list[Word]
    read: list[Word]


def format_of(items: tuple[int, ...], link: int, *, dynamic: bool) -> TokenFormat:
    if dynamic:
        return TokenFormat(1, items[:1], link, most_rows=items[0] // 8, span=Span(0, (8,), link))
    return TokenFormat(1, items, link)


def cut(value: int, items: tuple[int, ...], link: int) -> list[Word]:
    """The words of ``value`` on a link of so many bits."""
    found = []
    for bits in items:
        for at in range(0, bits, link):
            size = min(link, bits - at)
            found.append((value >> at & (1 << size) - 1, size))
        value >>= bits
    return found


@grid(
    depth=[1, 2, 3, 5],
    items=ITEMS,
    links=[(8, 16), (16, 8), (8, 32), (32, 8), (64, 8), (8, 64), (16, 64), (64, 16)],
    latency=[0, 3],
    deep=[False, True],
    dynamic=[False, True],
)
def test_words_of_another_width(
    depth: int, items: tuple[int, ...], links: tuple[int, int], latency: int, deep: bool, dynamic: bool
) -> None:
    """A writer sends words without gaps, and a reader that takes a header reads all words without a gap.

    A header is seen as soon as no word can be late for such a reader, and not before.
    """
    items = items[:1] if dynamic else items
    written, read = (format_of(items, link, dynamic=dynamic) for link in links)
    channel = ChannelFifo(written, depth, deep=deep, read_as=read)
    random = Random(f"{depth} {items} {links}")
    flying, queue = deque[Sent](), deque[Sent]()
    writing: list[Word] = []
    due: list[Word] = []
    taken = free_to_write = free_to_read = values = 0

    async def bench(context: Any) -> None:
        nonlocal writing, due, taken, free_to_write, free_to_read, values
        busy = eager = 0.5
        for cycle in range(800):
            if cycle % 100 == 0:
                busy, eager = random.choice([(0.2, 1), (1, 0.2), (1, 1), (0.5, 0.5)])
            shown = bool(queue) and queue[0].cycle + 1 + queue[0].waits <= cycle
            assert context.get(channel.i.space) == (taken < depth)
            assert context.get(channel.o.valid) == shown
            if shown:
                assert context.get(channel.o.header.as_value()) == queue[0].header
            if due:
                word, size = due.pop(0)
                assert context.get(channel.o.word) & (1 << size) - 1 == word

            claim = taken < depth and cycle >= free_to_write and random.random() < busy
            if claim:
                count = random.randint(0, items[0] // 8) if dynamic else 0
                own = (8 * count,) if dynamic else items
                has_value = random.random() < 0.7
                value = random.getrandbits(sum(own)) if has_value and sum(own) else 0
                sent = cut(value, own, links[0]) if has_value else []
                expected = cut(value, own, links[1]) if has_value else []
                header = random.randrange(4) << 2 | has_value << 1 | (count << 4 if dynamic else 0)
                waits = len(sent) - len(expected) if dynamic else written.words - read.words
                flying.append(Sent(cycle + latency, header, max(0, waits) + deep, sent, expected))
                free_to_write = cycle + max(1, len(sent))
            context.set(channel.i.claim, claim)
            writes = bool(flying) and flying[0].cycle == cycle
            context.set(channel.i.valid, writes)
            context.set(channel.i.word, writing.pop(0)[0] if writing else random.getrandbits(written.word_bits))
            if writes:
                queue.append(flying.popleft())
                context.set(channel.i.header.as_value(), queue[-1].header)
                writing = list(queue[-1].written)
            takes = shown and cycle >= free_to_read and random.random() < eager
            context.set(channel.o.ready, takes)
            has_value = takes and bool(queue[0].header >> 1 & 1)
            if takes:
                due = list(queue.popleft().read)
                free_to_read = cycle + max(1, len(due))
            values += has_value
            context.set(channel.o.drop, has_value)
            if read.words > 1:
                context.set(channel.o.open, has_value)
            taken += claim - takes
            await context.tick()

    drive(channel, bench)
    assert values > 15


@grid(items=ITEMS, links=[(64, 8), (32, 8), (16, 8), (64, 16)])
def test_a_reader_may_begin_anywhere(items: tuple[int, ...], links: tuple[int, int]) -> None:
    """Narrow words of a wide value, from any of them on, again and again."""
    written, read = (TokenFormat(1, items, link) for link in links)
    channel, random = ChannelFifo(written, 2, read_as=read), Random(1)

    async def bench(context: Any) -> None:
        for _ in range(5):
            value = random.getrandbits(sum(items))
            context.set(channel.i.claim, 1)
            context.set(channel.i.valid, 1)
            context.set(channel.i.header.value, 1)
            await context.tick()
            context.set(channel.i.claim, 0)
            context.set(channel.i.valid, 0)
            for word, _ in cut(value, items, links[0]):
                context.set(channel.i.word, word)
                await context.tick()
            expected = cut(value, items, links[1])
            for _ in range(8):
                offset = random.randrange(len(expected))
                context.set(channel.o.open, 1)
                context.set(channel.o.offset, offset)
                await context.tick()
                context.set(channel.o.open, 0)
                for word, size in expected[offset:]:
                    assert context.get(channel.o.word) & (1 << size) - 1 == word
                    await context.tick()
            context.set(channel.o.ready, 1)
            context.set(channel.o.drop, 1)
            await context.tick()
            context.set(channel.o.ready, 0)
            context.set(channel.o.drop, 0)

    drive(channel, bench)
