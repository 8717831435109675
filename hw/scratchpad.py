"""Scratchpads: on-chip memories in which buffers grow by pages.

A buffer is a run of *slots*, each with the entry of a token (what its header says) and room for the words of a tile.
Every share numbers its slots and pages for itself, in a ring, one buffer behind the other; the page table of the share
has the physical page of each. What is behind the oldest buffer that is still read are pages that are free again: the
table is their free list, too. A page is taken when its first slot is filled, and all pages of a buffer are free
when its last read is over.

Consecutive words are in consecutive banks, of which each writes one word and reads one a cycle. So tiles that began in
different banks go on side by side, and one that would begin where another one is has to wait. Of those that want
a bank, or the next page, in the same cycle, the first in the order of the program gets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from hw.channel import BLOCK_RAM
from hw.shared import Parametric
from step.lowering.scratchpads import IN_FLIGHT


@dataclass(frozen=True)
class ShareFormat:
    """What the buffers of a share are: of ``rank``, in tiles of ``beats`` words of ``word_bits``, ``slots`` a page.

    ``reads_first``: how many shares of the scratchpad read before this one where both want the same bank.
    """

    rank: int
    word_bits: int
    beats: int
    slots: int
    pages: int
    reads_first: int = 0

    @property
    def entry(self) -> data.StructLayout:
        """A token inside of a buffer: whether it has a value, whether it is the last one, its stop and rank."""
        level = range(self.rank + 1)
        return data.StructLayout({"value": 1, "last": 1, "stop": level, "rank": level})

    @property
    def page_bits(self) -> int:
        """Of a place in the ring of pages, which is never full."""
        return self.pages.bit_length()

    @property
    def shift(self) -> int:
        """Of a page in the number of a slot."""
        return self.slots.bit_length() - 1

    @property
    def slot_bits(self) -> int:
        return self.page_bits + self.shift


class FillerSignature(wiring.Signature):
    """The side that fills buffers, as it sees it.

    ``value``: the token in front has words. ``space``: there is room for it; ``too_large``: there never will be.
    ``store`` adds it to the buffer, with its ``entry``; its words follow on ``word``, from the next cycle on.
    """

    def __init__(self, share: ShareFormat) -> None:
        members: dict[str, Any] = {"value": Out(1), "space": In(1), "too_large": In(1), "store": Out(1)}
        members["entry"] = Out(share.entry)
        super().__init__(members | ({"word": Out(share.word_bits)} if share.word_bits else {}))


class ReaderSignature(wiring.Signature):
    """The side that reads buffers, as it sees it.

    ``entry`` is the token at the present slot. ``space``: the port of its bank is free; ``read`` takes it, and the
    words follow on ``word``, from the next cycle on. ``move`` goes on to slot ``at`` of this buffer, ``leave`` to the
    first one of the next; all pages of this one are free then.
    """

    def __init__(self, share: ShareFormat) -> None:
        members: dict[str, Any] = {"entry": In(share.entry), "space": In(1), "read": Out(1)}
        members |= {"move": Out(1), "at": Out(share.slot_bits), "leave": Out(1)}
        super().__init__(members | ({"word": In(share.word_bits)} if share.word_bits else {}))


class _Ring:
    """The slots of a share: which are filled, which one is read, and where their words lie."""

    def __init__(self, m: Module, name: str, share: ShareFormat, filler: Any, reader: Any, deep: int) -> None:
        self.share, self.filler, self.reader = share, filler, reader
        self._m, self._name, self._deep = m, name, deep
        self.next_page = Signal(range(max(2, share.pages)), name=f"{name}_next_page")
        self.reuse = self._register("reuse", share.page_bits)  # the oldest page of the table that is free again
        self.begin = self._register("begin", share.page_bits)  # the first page of the buffer that is read
        self._tail = self._register("tail", share.page_bits)  # behind the last page that was taken
        self._slot = self._register("slot", max(1, share.shift))
        self._page = self._register("page", len(self.next_page))
        self.new = Signal(name=f"{name}_new")
        m.d.comb += self.new.eq(self._slot == 0)
        self._table = self._memory("table", len(self.next_page), 1 << share.page_bits)
        self._fill()
        self._read()

    def _register(self, name: str, bits: int) -> Signal:
        return Signal(bits, name=f"{self._name}_{name}")

    def _memory(self, name: str, bits: int, depth: int) -> Memory:
        attrs = BLOCK_RAM if depth > self._deep else {}
        memory = Memory(shape=bits, depth=depth, init=[], attrs=attrs if name == "entries" else {})
        self._m.submodules[f"{self._name}_{name}"] = memory
        return memory

    @property
    def taken(self) -> Value:
        """Pages that the share has."""
        return (self._tail - self.begin)[: self.share.page_bits]

    @property
    def free(self) -> Value:
        """Whether pages of the table are free again."""
        return self.reuse != self.begin

    @property
    def fill_page(self) -> Value:
        """The page of the token that is stored next."""
        return Mux(self.new, self.next_page, self._page)

    def reusable(self) -> Value:
        """The oldest page that is free again."""
        port = self._table.read_port(domain="comb")
        self._m.d.comb += port.addr.eq(self.reuse)
        return port.data

    def _fill(self) -> None:
        m, share, filler = self._m, self.share, self.filler
        used, in_flight = Signal(range(share.pages + 1)), Signal(range(IN_FLIGHT + 1))
        opened, takes = Signal(), Signal()
        self.may_begin = opened | (in_flight != IN_FLIGHT)
        m.d.comb += [takes.eq(filler.store & self.new), filler.too_large.eq(self.new & (used == share.pages))]
        page = Signal(share.page_bits)  # in the ring
        m.d.comb += page.eq(Mux(self.new, self._tail, self._tail - 1))
        self.ends = [self._register(f"end{number}", share.page_bits) for number in range(2)]
        odd = Signal()
        with m.If(filler.store):
            m.d.sync += [opened.eq(~filler.entry.last), used.eq(Mux(filler.entry.last, 0, used + self.new))]
            last_slot = filler.entry.last | (self._slot == share.slots - 1)
            m.d.sync += [self._slot.eq(Mux(last_slot, 0, self._slot + 1)), self._page.eq(self.fill_page)]
            with m.If(filler.entry.last):
                m.d.sync += odd.eq(~odd)
                for number, end in enumerate(self.ends):
                    with m.If(odd == number):
                        m.d.sync += end.eq(page + 1)
        with m.If(takes):
            m.d.sync += self._tail.eq(self._tail + 1)
        m.d.sync += in_flight.eq(in_flight + (filler.store & ~opened) - self.reader.leave)

        table, entries = self._table.write_port(), self._memory("entries", share.entry.size, 1 << share.slot_bits)
        m.d.comb += [table.addr.eq(self._tail), table.data.eq(self.next_page), table.en.eq(takes)]
        entry = entries.write_port()
        m.d.comb += [
            entry.addr.eq(Cat(self._slot[: share.shift], page)),
            entry.data.eq(filler.entry),
            entry.en.eq(filler.store),
        ]
        self._entries: ReadPort = entries.read_port()

    def _read(self) -> None:
        m, share, reader = self._m, self.share, self.reader
        odd, end = Signal(), Signal(share.page_bits)
        m.d.comb += end.eq(Mux(odd, self.ends[1], self.ends[0]))
        place, following = self._register("place", share.slot_bits), Signal(share.slot_bits)
        first = Cat(Const(0, share.shift), self.begin)
        m.d.comb += following.eq(Mux(reader.move, first + reader.at, place))
        with m.If(reader.leave):
            m.d.comb += following.eq(Cat(Const(0, share.shift), end))
            m.d.sync += [self.begin.eq(end), odd.eq(~odd)]
        m.d.sync += place.eq(following)
        pages = self._table.read_port()
        m.d.comb += [pages.addr.eq(following >> share.shift), pages.en.eq(1)]
        m.d.comb += [self._entries.addr.eq(following), self._entries.en.eq(1), reader.entry.eq(self._entries.data)]
        self.read_page = Signal(len(self.next_page), name=f"{self._name}_read_page")
        self.read_slot = place[: share.shift]
        m.d.comb += self.read_page.eq(pages.data)

    @property
    def fill_slot(self) -> Value:
        return self._slot[: self.share.shift]


class _Burst:
    """The words of a tile on their way to or from the banks, one a cycle: the first one is at ``place``."""

    def __init__(self, m: Module, name: str, beats: int, banks: int, begins: Value, place: Value) -> None:
        shift = banks.bit_length() - 1
        self.begins = begins
        self.first_bank, self.first_row = place[:shift], place[shift:]
        self.left = Signal(range(beats + 1), name=f"{name}_left")
        self._at = Signal(len(place), name=f"{name}_place")
        following = Signal(len(place), name=f"{name}_following")
        m.d.comb += following.eq(self._at + 1)
        self.bank, self.row = self._at[:shift], self._at[shift:]
        self.next_bank, self.next_row = following[:shift], following[shift:]
        with m.If(begins):
            m.d.sync += [self.left.eq(beats), self._at.eq(place)]
        with m.Elif(self.left != 0):
            m.d.sync += [self.left.eq(self.left - 1), self._at.eq(following)]

    @property
    def goes_on(self) -> Value:
        """Whether there is a word behind the present one."""
        return self.left > 1


class Scratchpad(Parametric):
    """The memory of some ``shares``, of ``page_words`` words for each of their pages, in ``banks``.

    Ports: ``filler0``, ``reader0``, ... for the shares, and what each has ``taken``: the pages that are its.
    """

    def __init__(self, shares: Sequence[ShareFormat], page_words: int, banks: int, block_ram_words: int) -> None:
        self.shares, self.page_words, self.banks = tuple(shares), page_words, banks
        self.block_ram_words = block_ram_words
        members: dict[str, Any] = {}
        for number, share in enumerate(self.shares):
            members |= {
                f"filler{number}": In(FillerSignature(share)),
                f"reader{number}": In(ReaderSignature(share)),
                f"taken{number}": Out(share.page_bits),
            }
        super().__init__(members)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.shares, self.page_words, self.banks, self.block_ram_words

    @property
    def _words(self) -> int:
        return self.shares[0].pages * self.page_words

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        rings = [
            _Ring(
                m, f"share{at}", share, getattr(self, f"filler{at}"), getattr(self, f"reader{at}"), self.block_ram_words
            )
            for at, share in enumerate(self.shares)
        ]
        for at, ring in enumerate(rings):
            m.d.comb += getattr(self, f"taken{at}").eq(ring.taken)
        has_page = self._supply(m, rings)
        fills = self._bursts(m, "fill", rings)
        reads = self._bursts(m, "read", rings)
        for at, ring in enumerate(rings):
            space = ring.may_begin & (~ring.new | has_page[at])
            if at in fills:
                before = [each for each in fills if each < at]
                space = space & (~ring.filler.value | self._granted(fills, at, before))
            m.d.comb += ring.filler.space.eq(space)
            order = self.shares[at].reads_first
            before = [each for each in reads if self.shares[each].reads_first < order]
            m.d.comb += ring.reader.space.eq(self._granted(reads, at, before) if at in reads else 1)
        if fills:
            self._memory(m, rings, fills, reads)
        return m

    def _supply(self, m: Module, rings: Sequence[_Ring]) -> list[Value]:
        """The page that is taken next: one that never was, else the oldest of the first share that has free ones."""
        fresh = Signal(range(self.shares[0].pages + 1))
        is_fresh, page = Signal(), Signal(len(rings[0].next_page))
        m.d.comb += [is_fresh.eq(fresh != self.shares[0].pages), page.eq(fresh)]
        takes = [ring.filler.store & ring.new for ring in rings]
        taken = Signal()
        m.d.comb += taken.eq(Cat(takes).any())
        with m.If(is_fresh):
            m.d.sync += fresh.eq(fresh + taken)
        for ring in rings:
            reusable = ring.reusable()
            before = Cat([each.free for each in rings[: rings.index(ring)]]).any()
            with m.If(~is_fresh & ring.free & ~before):
                m.d.comb += page.eq(reusable)
                m.d.sync += ring.reuse.eq(ring.reuse + taken)
        m.d.comb += [ring.next_page.eq(page) for ring in rings]
        there = is_fresh | Cat([ring.free for ring in rings]).any()
        return [there & ~Cat(takes[:at]).any() for at in range(len(rings))]

    def _bursts(self, m: Module, what: str, rings: Sequence[_Ring]) -> dict[int, _Burst]:
        """Of each share with words, those that it writes or reads."""
        bursts = {}
        for at, ring in enumerate(rings):
            if not ring.share.word_bits:
                continue
            fills = what == "fill"
            page, slot = (ring.fill_page, ring.fill_slot) if fills else (ring.read_page, ring.read_slot)
            begins = ring.filler.store & ring.filler.value if fills else ring.reader.read
            place = Signal(range(max(2, self._words)), name=f"{what}{at}_first_place")
            m.d.comb += place.eq(page * self.page_words + slot * ring.share.beats)
            bursts[at] = _Burst(m, f"{what}{at}", ring.share.beats, self.banks, begins, place)
        return bursts

    def _granted(self, bursts: dict[int, _Burst], at: int, before: Sequence[int]) -> Value:
        """Whether nobody else needs the bank that share ``at`` wants."""
        bank = bursts[at].first_bank
        others = [each for number, each in bursts.items() if number != at]
        clashes = [each.goes_on & (each.next_bank == bank) for each in others]
        clashes += [bursts[each].begins & (bursts[each].first_bank == bank) for each in before]
        return ~Cat(clashes).any() if clashes else Const(1)

    def _memory(self, m: Module, rings: Sequence[_Ring], fills: dict[int, _Burst], reads: dict[int, _Burst]) -> None:
        depth = -(-self._words // self.banks)
        bits = max(share.word_bits for share in self.shares)
        words = []
        for bank in range(self.banks):
            attrs = BLOCK_RAM if depth > self.block_ram_words else {}
            m.submodules[f"bank{bank}"] = memory = Memory(shape=bits, depth=depth, init=[], attrs=attrs)
            write, read = memory.write_port(), memory.read_port()
            for at, burst in fills.items():
                with m.If((burst.left != 0) & (burst.bank == bank)):
                    m.d.comb += [write.en.eq(1), write.addr.eq(burst.row), write.data.eq(rings[at].filler.word)]
            m.d.comb += read.en.eq(1)
            for burst in reads.values():
                with m.If(burst.begins & (burst.first_bank == bank)):
                    m.d.comb += read.addr.eq(burst.first_row)
                with m.Elif(burst.goes_on & (burst.next_bank == bank)):
                    m.d.comb += read.addr.eq(burst.next_row)
            words.append(read.data)
        for at, burst in reads.items():
            chosen = Signal(bits, name=f"read{at}_word")
            with m.Switch(burst.bank):
                for bank, word in enumerate(words):
                    with m.Case(bank):
                        m.d.comb += chosen.eq(word)
            m.d.comb += rings[at].reader.word.eq(chosen)
