"""A source sends the stream that its lengths and its shape stand for; a sink writes the lengths of its stream.

Either is compared with a count of what a stream has had so far: a list of rank k has as many entries as its length
says when a stop of k or more, or an empty of rank k, ends it. Lengths are short, and there is any number of lists.
Memory is `test_dma_memory_proof`'s: here words are there in any cycle, with any lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal, Value
from proving import Bench
from refuting import check, proofs
from test_axi_proof import Stays
from unit_bench import bare, control, dynamic, is_token, words

from hw.dma import lengths, sink, source
from hw.links.layout import TokenFormat
from step.lowering.dma import LIST, VALUES, StreamPlan

pytestmark = pytest.mark.large

LONGEST = 3
"""Entries of a list at most."""

SOURCE = [
    ("(empty < at) & ~left[at].one", "~left[at].one"),
    ("Mux(all_out, top, goes_on) - 1", "Mux(all_out, top - 1, goes_on) - 1"),
    ("each.one.eq(each.entries == 2)", "each.one.eq(each.entries == 1)"),
    ("m.d.sync += empty.eq(level)", "m.d.sync += empty.eq(level - 1)"),
    ("chosen.eq(reader.valid), word.eq(reader.word)", "chosen.eq(1), word.eq(reader.word)"),
    ("m.If(leaves)", "m.If(self.pop)"),
    ("level.eq(goes_on - 1), empty", "level.eq(goes_on), empty"),
]
LONG = [("counts(m, place, moves, last)", "counts(m, place, moves, last & 0)")]
SINK = [
    ("level >= stop", "level > stop"),
    ("counts[level].eq(0), ", ""),
    ("level.eq(top)\n", "level.eq(0)\n"),
    ("held.eq(held + 1)", "held.eq(held + 2)"),
    ("listed.eq(listed + 1)", "listed.eq(listed + 2)"),
    ("~header.value | (header.stop != 0)", "(header.stop != 0)"),
]
ROWS = [("Mux(level == 0, rows, counts[level])", "counts[level]")]


def plan_of(extents: Sequence[int | None], format: TokenFormat) -> StreamPlan:
    """Words and beats of a byte."""
    return StreamPlan("x", tuple(extents), bool(format.most_rows), int(bool(format.words)), format.words, 1)


class Streamed(Bench):
    """``seen``: entries that the open list of each level has had, where level k is a list of rank k, of ``format``."""

    def __init__(self, module: Any, format: TokenFormat) -> None:
        super().__init__()
        self.module, self.format, self.top = module, format, format.rank + 1
        self.seen = [Signal(range(LONGEST + 1), name=f"seen{at}") for at in range(self.top + 2)]

    def ends(self, m: Module, header: Any, goes: Value) -> tuple[list[Value], list[Value]]:
        """Of every level, whether its list ends with the token ``header``, and how many entries it has then."""
        ended, counts = [Const(0)], [Const(0)]
        for at in range(1, self.top + 1):
            behind = (header.stop >= at) & (header.value | (header.rank <= at))
            counts.append(self.seen[at] + (header.value if at == 1 else ended[at - 1]))
            ended.append(Mux(header.done, at == self.top, behind))
            with m.If(goes):
                m.d.sync += self.seen[at].eq(Mux(ended[at], 0, counts[at]))
        return ended, counts

    def transfers(self, header: Any) -> Value | int:
        """Of the token ``header``."""
        return (
            Mux(header.rows > 1, header.rows, 1) if self.format.most_rows else Mux(header.value, self.format.cycles, 1)
        )

    def words(self, header: Any) -> Value:
        """Whether a transfer of ``header`` has a word."""
        return header.value & (header.rows != 0 if self.format.most_rows else bool(self.format.edge_bits))


class Sourced(Streamed):
    """The stream of ``extents``, whose lengths are given as the list is read."""

    def __init__(self, module: Any, extents: Sequence[int | None], format: TokenFormat) -> None:
        super().__init__(module, format)
        self.plan = plan_of(extents, format)
        for name in ("listed", "valued", "ready"):
            self.input(name)
        self.input("length", LONGEST.bit_length())
        names = {"limit": 32, "word": 32, "valid": 1, "pop": 1, "skip": 1, "ended": 1}
        readers = {
            part: SimpleNamespace(**{name: Signal(width, name=f"{part}_{name}") for name, width in names.items()})
            for part in self.plan.parts
        }

        class Fed(module.SourceDma):
            """Has words from the bench."""

            def _reader(self, m: Module, part: str, word_bytes: int, depth: int) -> Any:
                return readers.get(part)

        self.dma, self.readers = Fed(self.plan, format, 32), readers

    def build(self, m: Module) -> None:
        top, format, plan = self.top, self.format, self.plan
        m.submodules.dma = dma = self.dma
        given, o, header = self.given, self.dma.o, Signal(self.format.header)
        place, goes, moves, over = Signal(range(4)), Signal(), Signal(), Signal()
        m.d.comb += [
            o.tready.eq(given["ready"]),
            header.as_value().eq(o.tuser),
            moves.eq(o.tvalid & o.tready),
            goes.eq(moves & o.tlast),
            Assert(dma.fault == 0),
            Assert(~o.tvalid | (is_token(header, format) & (o.tlast == (place == self.transfers(header) - 1)) & ~over)),
        ]
        m.d.sync += [place.eq(Mux(moves, Mux(o.tlast, 0, place + 1), place)), over.eq(over | (goes & header.done))]
        Stays(m, "o", o.tvalid, o.tready, [o.tuser, o.tlast], Assert)
        values, listed = (self.readers.get(part) for part in (VALUES, LIST))
        if values is not None:
            m.d.comb += [values.valid.eq(given["valued"]), Assert(values.pop == (moves & self.words(header)))]
            m.d.comb += Assert(~values.pop | (values.skip == o.tlast))
            Stays(m, "values", values.valid, values.pop, [], Assume)

        # What is read of the list, and not yet of use: first the limits, then lengths, outer ones first.
        queue, held, begun = (
            Signal(3 * LONGEST.bit_length()),
            Signal(range(4)),
            Signal(range(3), init=0 if listed else 2),
        )
        bits, comes, uses, front = LONGEST.bit_length(), Signal(), Signal(), Signal(LONGEST.bit_length())
        if listed is not None:
            m.d.comb += [listed.valid.eq(given["listed"]), listed.word.eq(given["length"]), comes.eq(listed.pop)]
            m.d.comb += Assert(~listed.pop | (listed.valid & (held - uses < 3)))
            Stays(m, "list", listed.valid, listed.pop, [listed.word], Assume)
        m.d.comb += front.eq(queue)
        kept = Mux(uses, queue >> bits, queue)
        m.d.sync += queue.eq(kept | Mux(comes, given["length"] << ((held - uses)[:2] * bits), 0))
        m.d.sync += held.eq(held - uses + comes)

        # Lists from level ``lowest`` on are open, with ``wanted`` entries; ``none``: the lowest one of them has none.
        extents = [None if plan.rows else 0, *reversed(plan.extents)]
        wanted = [Signal(bits, name=f"wanted{at}", init=each or 0) for at, each in enumerate(extents)]
        lowest, none, level, needs = Signal(range(top + 2), init=top + 1), Signal(), Signal(range(top + 1)), Signal()
        known, complete = Signal(init=extents[top] is not None), Signal()
        for at, extent in enumerate(extents):
            if extent is None:
                with m.If((lowest > at) & ~none & ~complete):
                    m.d.comb += [level.eq(at), needs.eq(1)]
        m.d.comb += [
            complete.eq(known & (self.seen[top] == wanted[top])),
            uses.eq((held != 0) & ((begun != 2) | needs)),
        ]
        ended, counts = self.ends(m, header, goes)
        m.d.comb += [
            Assert(~o.tvalid | ~header.value | (~needs & ~none & ~complete & (begun == 2))),
            Assert(~o.tvalid | (header.rank == 0) | (none & (lowest == header.rank))),
            Assert(~o.tvalid | (header.done == complete)),
        ]
        for at in range(1, top + 1):
            as_said = Mux(ended[at], counts[at] == wanted[at], counts[at] < wanted[at] + (at == top))
            m.d.comb += Assert(~o.tvalid | header.done | (header.rank > at) | as_said)
        if plan.rows:
            m.d.comb += Assert(~o.tvalid | ~header.value | (header.rows == wanted[0]))
        with m.If(uses & (begun != 2)):
            m.d.sync += begun.eq(begun + 1)
        with m.Elif(uses):
            m.d.sync += [lowest.eq(level), none.eq((level != 0) & (front == 0))]
            m.d.comb += Assume((level != 0) | (front <= format.most_rows))
            for at in range(top + 1):
                with m.If(level == at):
                    m.d.sync += wanted[at].eq(front)
            with m.If(level == top):
                m.d.sync += known.eq(1)
        with m.If(goes):
            m.d.sync += [lowest.eq(header.stop + 1), none.eq(0)]
        # Something moves, with words and a reader there, and no later than all levels are open.
        idle, stays = Signal(range(top + 5)), Signal()
        m.d.comb += stays.eq(given["listed"] & given["valued"] & given["ready"] & ~over & ~moves & ~comes)
        m.d.sync += idle.eq(Mux(stays, idle + 1, 0))
        m.d.comb += Assert(idle < top + 4)


class Sunk(Streamed):
    """Any stream of ``format``; writers take words in any cycle."""

    def __init__(self, module: Any, format: TokenFormat) -> None:
        super().__init__(module, format)
        for name in ("valid", "listed", "valued", "closed", "empty"):
            self.input(name)
        self.front = self.input("front", format.header)
        names = {"limit": 32, "word": 32, "full": 1}
        names |= dict.fromkeys(("valid", "ready", "skip", "close", "closed", "empty", "rewind"), 1)
        writers = {
            part: SimpleNamespace(**{name: Signal(width, name=f"{part}_{name}") for name, width in names.items()})
            for part in (VALUES, LIST)
        }

        class Taken(module.SinkDma):
            """Hands words to the bench."""

            def _writer(self, m: Module, part: str, word_bytes: int, first: int = 0) -> Any:
                return writers[part]

        self.dma, self.writers = Taken(plan_of([None] * self.top, format), format), writers

    def build(self, m: Module) -> None:
        top, format = self.top, self.format
        m.submodules.dma = dma = self.dma
        given, i, header = self.given, self.dma.i, self.front
        values, listed = self.writers[VALUES], self.writers[LIST]
        place, goes, moves, over = Signal(range(4)), Signal(), Signal(), Signal()
        m.d.comb += [
            i.tvalid.eq(given["valid"]),
            i.tuser.eq(header),
            i.tlast.eq(place == self.transfers(header) - 1),
            moves.eq(i.tvalid & i.tready),
            goes.eq(moves & i.tlast),
            values.ready.eq(given["valued"]),
            listed.ready.eq(given["listed"]),
            *(each.closed.eq(given["closed"]) for each in (values, listed)),
            *(each.empty.eq(given["empty"]) for each in (values, listed)),
        ]
        m.d.sync += [place.eq(Mux(moves, Mux(i.tlast, 0, place + 1), place)), over.eq(over | (goes & header.done))]
        Stays(m, "i", i.tvalid, i.tready, [i.tuser], Assume)
        last = Signal(range(format.rank + 1), init=format.rank)
        with m.If(goes):
            m.d.sync += last.eq(header.stop)
        m.d.comb += [
            Assume(is_token(header, format) & (header.rank <= last) & (~header.done | (last == format.rank))),
            Assume(~over | ~i.tvalid),
        ]
        ended, counts = self.ends(m, header, goes)
        m.d.comb += [Assume(~i.tvalid | (each <= LONGEST)) for each in counts]

        m.d.comb += [
            Assert((values.valid & values.ready) == (moves & self.words(header))),
            Assert(~values.valid | (values.skip == i.tlast)),
        ]
        # Lengths that are still to be written, from level 0 on: rows.
        todo, known = Signal(top + 1), Array(Signal(4, name=f"known{at}") for at in range(top + 1))
        puts, level, own = Signal(), Signal(range(top + 1)), Cat(header.value & bool(format.most_rows), *ended[1:])
        for at in reversed(range(top + 1)):
            with m.If(todo[at]):
                m.d.comb += level.eq(at)
        lengths, held = Signal(3), Signal(3)  # in all, of which the lowest bits are enough
        closing, rest = Signal(), Signal(range(4))  # the words of the first request that are written
        m.d.comb += [
            puts.eq(listed.valid & listed.ready),
            Assert(~moves | (todo == 0)),
            Assert(~listed.valid | (todo != 0) | (closing & (rest != 2))),
            Assert(~listed.valid | (todo == 0) | ((listed.word == known[level]) & (listed.skip == (level == top)))),
            Assert(~listed.valid | (rest != 0) | (todo != 0) | (listed.word[:3] == lengths)),
            Assert(~listed.valid | (rest != 1) | (listed.word[:3] == held)),
            Assert(~listed.valid | (todo != 0) | (listed.skip == (rest == 1))),
            Assert(listed.rewind == 0 | (over & (todo == 0) & ~closing & given["closed"] & given["empty"])),
            Assert(~listed.close | (over & (todo == 0) & (~closing | (rest == 2)))),
            Assert(~dma.done | ((rest == 2) & given["closed"] & given["empty"])),
            Assert(dma.fault == 0),
        ]
        m.d.sync += [closing.eq(closing | listed.rewind), held.eq(held + (goes & header.value))]
        with m.If(goes):
            m.d.sync += todo.eq(own)
            m.d.sync += [known[0].eq(header.rows if format.most_rows else 0)]
            m.d.sync += [known[at].eq(counts[at]) for at in range(1, top + 1)]
        with m.If(puts):
            m.d.sync += [todo.eq(todo & (todo - 1)), rest.eq(rest + (todo == 0)), lengths.eq(lengths + (todo != 0))]
        # Something moves, with room for all, and a token there until the last one.
        idle, stays = Signal(range(5)), Signal()
        free = Cat(given[name] for name in ("listed", "valued", "closed", "empty")).all()
        m.d.comb += stays.eq(free & (given["valid"] | over))
        m.d.sync += idle.eq(Mux(stays & ~moves & ~puts & ~dma.done, idle + 1, 0))
        m.d.comb += Assert(idle < 4)


def slow(*given: Any) -> Any:
    return pytest.param(*given, marks=pytest.mark.slow)


@proofs(
    ("extents", "format", "mutants"),
    [
        slow([None], words(0, 1), []), ([None, None], words(1, 1), SOURCE), slow([2, None], words(1, 2), LONG),
        slow([None, 2], words(1, 1), []), slow([None, None], dynamic(1, 2), []), slow([3, 2], bare(1), []),
    ],
)  # fmt: skip
def test_source(extents: Sequence[int | None], format: TokenFormat, mutants: list[tuple[str, str]]) -> None:
    check(source, lambda module: Sourced(module, extents, format), mutants, [lengths])


@proofs(
    ("format", "mutants"), [slow(words(0, 1), []), (words(1, 1), SINK), slow(dynamic(1, 2), ROWS), slow(control(2), [])]
)
def test_sink(format: TokenFormat, mutants: list[tuple[str, str]]) -> None:
    check(sink, lambda module: Sunk(module, format), mutants)
