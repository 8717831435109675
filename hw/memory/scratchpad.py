"""Scratchpads: on-chip memories whose pages and banks several shares draw on.

Consecutive words are in consecutive banks, of which each writes one word and reads one a cycle. So tiles that began in
different banks go on side by side, and one that would begin where another one is has to wait. Of those that want
a bank, or the next page, in the same cycle, the first in the order of the program gets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.memory.share import FillerSignature, ReaderSignature, Ring, ShareFormat
from hw.primitives.memories import BLOCK_RAM
from hw.primitives.timing import DRIVEN, kept
from hw.verilog.modules import Parametric


class _PageBurst:
    """The ``words`` of a tile, ``most`` at most, on their way to or from the banks, one a cycle: the first one is at
    ``place``."""

    def __init__(self, m: Module, name: str, most: int, words: Any, banks: int, begins: Value, place: Value) -> None:
        shift = banks.bit_length() - 1
        self.begins = begins
        self.first_bank, self.first_row = place[:shift], place[shift:]
        self.left = Signal(range(most + 1), name=f"{name}_left")
        self._at = Signal(len(place), name=f"{name}_place")
        following = Signal(len(place), name=f"{name}_following")
        m.d.comb += following.eq(self._at + 1)
        self.bank, self.row = self._at[:shift], self._at[shift:]
        self.next_bank, self.next_row = following[:shift], following[shift:]
        with m.If(begins):
            m.d.sync += [self.left.eq(words), self._at.eq(place)]
        with m.Elif(self.left != 0):
            m.d.sync += [self.left.eq(self.left - 1), self._at.eq(following)]

    @property
    def goes_on(self) -> Value:
        """Whether there is a word behind the present one."""
        return self.left > 1


class ScratchpadMemory(Parametric):
    """The memory of some ``shares``, of ``page_words`` words for each of their pages, in ``banks``.

    Of LUT RAM that is ``far`` the addresses are in registers, with copies for every `DRIVEN` bits, not the words.

    Ports: ``filler0``, ``reader0``, ... for the shares, and what each has ``taken``: the pages that are its.
    """

    verilog_name = "Scratchpad"

    def __init__(
        self, shares: Sequence[ShareFormat], page_words: int, banks: int, block_ram_words: int, *, far: bool = False
    ) -> None:
        self.shares, self.page_words, self.banks = tuple(shares), page_words, banks
        self.block_ram_words, self._far = block_ram_words, far
        numbers = {"page_words": page_words, "banks": banks, "block_ram_words": block_ram_words}
        self.parameters = {"shares": self.shares, **numbers, **({"far": True} if far else {})}
        members: dict[str, Any] = {}
        for number, share in enumerate(self.shares):
            members |= {
                f"filler{number}": In(FillerSignature(share)),
                f"reader{number}": In(ReaderSignature(share)),
                f"taken{number}": Out(share.page_bits),
            }
        super().__init__(members)

    @property
    def _words(self) -> int:
        return self.shares[0].pages * self.page_words

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        rings = [
            Ring(
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

    def _supply(self, m: Module, rings: Sequence[Ring]) -> list[Value]:
        """The page that is taken next: one that never was, else the oldest of the first share that has free ones."""
        fresh = Signal(range(self.shares[0].pages + 1))
        is_fresh = Signal()
        page = Signal(len(rings[0].next_page))
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

    def _bursts(self, m: Module, what: str, rings: Sequence[Ring]) -> dict[int, _PageBurst]:
        """Transfers of each share with words, those that it writes or reads."""
        bursts = {}
        for at, ring in enumerate(rings):
            if not ring.share.word_bits:
                continue
            fills = what == "fill"
            page, slot = (ring.fill_page, ring.fill_slot) if fills else (ring.read_page, ring.read_slot)
            begins = ring.filler.store & ring.filler.value if fills else ring.reader.read
            place = Signal(range(max(2, self._words)), name=f"{what}{at}_first_place")
            m.d.comb += place.eq(page * self.page_words + slot * ring.share.words)
            words = ring.share.words_of(ring.filler.entry if fills else ring.reader.entry)
            bursts[at] = _PageBurst(m, f"{what}{at}", ring.share.words, words, self.banks, begins, place)
        return bursts

    def _granted(self, bursts: dict[int, _PageBurst], at: int, before: Sequence[int]) -> Value:
        """Whether nobody else needs the bank that share ``at`` wants."""
        bank = bursts[at].first_bank
        others = [each for number, each in bursts.items() if number != at]
        clashes = [each.goes_on & (each.next_bank == bank) for each in others]
        clashes += [bursts[each].begins & (bursts[each].first_bank == bank) for each in before]
        return ~Cat(clashes).any() if clashes else Const(1)

    def _memory(
        self, m: Module, rings: Sequence[Ring], fills: dict[int, _PageBurst], reads: dict[int, _PageBurst]
    ) -> None:
        depth = -(-self._words // self.banks)
        bits = max(share.word_bits for share in self.shares)
        deep = depth > self.block_ram_words
        far = self._far and not deep
        width = DRIVEN if far else bits
        words = []
        for bank in range(self.banks):
            parts = []
            for low in range(0, bits, width):
                name, attrs = f"bank{bank}" + (f"_{low // width}" if far else ""), BLOCK_RAM if deep else {}
                memory = Memory(shape=min(width, bits - low), depth=depth, init=[], attrs=attrs)
                m.submodules[name] = memory
                write = memory.write_port()
                read = memory.read_port(domain="comb" if far else "sync")
                for at, burst in fills.items():
                    with m.If((burst.left != 0) & (burst.bank == bank)):
                        word = rings[at].filler.word[low : low + width]
                        m.d.comb += [write.en.eq(1), write.addr.eq(burst.row), write.data.eq(word)]
                place = read.addr
                if far:
                    place, copy = (Signal(range(depth), name=f"{name}_{each}") for each in ("following", "place"))
                    m.d.sync += kept(copy).eq(place)
                    m.d.comb += read.addr.eq(copy)
                else:
                    m.d.comb += read.en.eq(1)
                for burst in reads.values():
                    with m.If(burst.begins & (burst.first_bank == bank)):
                        m.d.comb += place.eq(burst.first_row)
                    with m.Elif(burst.goes_on & (burst.next_bank == bank)):
                        m.d.comb += place.eq(burst.next_row)
                parts.append(read.data)
            words.append(Cat(parts))
        for at, burst in reads.items():
            chosen = Signal(bits, name=f"read{at}_word")
            with m.Switch(burst.bank):
                for bank, word in enumerate(words):
                    with m.Case(bank):
                        m.d.comb += chosen.eq(word)
            m.d.comb += rings[at].reader.word.eq(chosen)
