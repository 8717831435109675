"""A share of a scratchpad: the slots of its buffers, the entries of their tokens, and the table of its pages.

A buffer is a run of *slots*, each with the entry of a token (what its header says) and room for the words of a tile.
Every share numbers its slots and pages for itself, in a ring, one buffer behind the other; the page table of the share
has the physical page of each. What is behind the oldest buffer that is still read are pages that are free again: the
table is their free list, too. A page is taken when its first slot is filled, and all pages of a buffer are free
when its last read is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from hw.primitives.memories import BLOCK_RAM
from step.lowering.memory import IN_FLIGHT
from step.lowering.plans.rows import parts


@dataclass(frozen=True)
class ShareFormat:
    """Buffers of a share: of ``rank``, in tiles of ``words`` words of ``word_bits``, ``slots`` a page.

    Tiles that are control have ``control`` bits in their entries instead of words. ``reads_first``: how many shares of
    the scratchpad read before this one where both want the same bank. Tiles of dynamic size have rows of ``row`` bits
    on a link of ``link_bits``, and entries ``rows_bits``: a slot has room for the most rows, of which only the words
    that there are pass.
    """

    rank: int
    word_bits: int
    words: int
    slots: int
    pages: int
    reads_first: int = 0
    control: int = 0
    row: int = 0
    link_bits: int = 0
    rows_bits: int = 0

    @property
    def entry(self) -> data.StructLayout:
        """A token inside of a buffer: whether it has a value and is the last one, its stop and rank, and control."""
        level = range(self.rank + 1)
        fields = {"value": 1, "last": 1, "stop": level, "rank": level}
        fields |= {"control": self.control} if self.control else {}
        return data.StructLayout(fields | ({"rows": self.rows_bits} if self.row else {}))

    @property
    def page_bits(self) -> int:
        """Bits of a place in the ring of pages, which is never full."""
        return self.pages.bit_length()

    @property
    def shift(self) -> int:
        """Bits of a page in the number of a slot."""
        return self.slots.bit_length() - 1

    @property
    def slot_bits(self) -> int:
        return self.page_bits + self.shift

    def words_of(self, entry: Any) -> Any:
        """Words of the tile that ``entry`` stands for."""
        return parts(entry.rows, self.row, self.link_bits) if self.row else self.words


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


class Ring:
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
        used = Signal(range(share.pages + 1))
        in_flight = Signal(range(IN_FLIGHT + 1))
        opened = Signal()
        takes = Signal()
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

        table = self._table.write_port()
        entries = self._memory("entries", share.entry.size, 1 << share.slot_bits)
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
        odd = Signal()
        end = Signal(share.page_bits)
        m.d.comb += end.eq(Mux(odd, self.ends[1], self.ends[0]))
        place = self._register("place", share.slot_bits)
        following = Signal(share.slot_bits)
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
