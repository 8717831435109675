"""Banks: what a tile was written with is what is read of it, whoever else comes, and nobody meets anybody in a bank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal, Value
from proving import Bench, refuted
from refuting import check, proofs

from hw.memory import scratchpad
from hw.memory.share import ShareFormat

pytestmark = pytest.mark.large


class Access:
    """Who writes or reads tiles of ``size`` words, anywhere in a memory of ``words``, one behind the other.

    Its words are in the banks in the cycles in which some are ``left``, the present one at ``at``.
    """

    def __init__(self, name: str, size: int, words: int) -> None:
        self.size, self.words = size, words
        self.wants, self.place = Signal(name=f"{name}_wants"), Signal(range(words), name=f"{name}_place")
        self.begins, self.left = Signal(name=f"{name}_begins"), Signal(range(size + 1), name=f"{name}_left")
        self.at = Signal(range(words), name=f"{name}_at")

    @property
    def goes_on(self) -> Value:
        return self.left > 1

    def meets(self, other: Access, banks: int) -> Value:
        """Whether it wants the bank in which ``other`` goes on."""
        return other.goes_on & ((other.at + 1 - self.place) % banks == 0)

    def comes_to(self, place: Value) -> Value:
        """Whether it is before ``place``, which is among its words."""
        return (self.left != 0) & (self.at < place) & (place < self.at + self.left)

    def is_beside(self, place: Value, size: int) -> Value:
        """Whether its tile lies beside that at ``place``."""
        return (self.place + self.size <= place) | (place + size <= self.place)

    def connect(self, m: Module, space: Value) -> None:
        m.d.comb += self.begins.eq(self.wants & space)
        m.d.comb += Assume(~self.wants | (~self.goes_on & (self.place <= self.words - self.size)))
        m.d.sync += self.left.eq(Mux(self.begins, self.size, Mux(self.left != 0, self.left - 1, 0)))
        m.d.sync += self.at.eq(Mux(self.begins, self.place, self.at + 1))


class Banks(Bench):
    """Shares with tiles of ``size`` words, which lie anywhere in ``words`` words; those of ``owner`` are followed.

    ``mark`` chooses a tile. From the second cycle on it is read, until ``leaves``; till then nobody else writes there.
    Who begins to write is behind all who are on their way there, as pages are filled from the first word on; unless
    he ``overtakes`` them.
    """

    def __init__(
        self, size: Sequence[int], words: int, banks: int, owner: int, module: Any, overtakes: bool = False
    ) -> None:
        super().__init__()
        last = len(size) - 1
        formats = [ShareFormat(0, 1, each, 1, words, reads_first=last - at) for at, each in enumerate(size)]
        self.fills = [Access(f"fill{at}", each, words) for at, each in enumerate(size)]
        self.reads = [Access(f"read{at}", each, words) for at, each in enumerate(size)]
        self.words = [self.input(f"word{at}") for at, _ in enumerate(size)]
        self.banks, self.owner, self.overtakes = banks, owner, overtakes
        self.module, self.scratchpad = module, module.ScratchpadMemory(formats, 1, banks, 1024)
        self.mark, self.leaves = self.input("mark"), self.input("leaves")
        sides = (each for side in (*self.fills, *self.reads) for each in (side.wants, side.place))
        self.given |= {each.name: each for each in sides}

    def _anywhere(self, m: Module, name: str, share: ShareFormat, filler: Any, reader: Any, deep: int) -> Any:
        """In place of a ring: tiles lie where the bench says."""
        at = int(name.removeprefix("share"))
        fill, read = self.fills[at].place, self.reads[at].place
        pages = {"fill_page": fill, "read_page": read, "fill_slot": Const(0), "read_slot": Const(0)}
        idle = {"next_page": Signal(1), "reuse": Signal(1), "reusable": lambda: Const(0), "free": Const(0)}
        return SimpleNamespace(
            share=share, filler=filler, reader=reader, new=Const(0), may_begin=Const(1), taken=Const(0), **pages, **idle
        )

    def build(self, m: Module) -> None:
        pad = self.scratchpad
        with patch.object(self.module, "Ring", self._anywhere):
            m.submodules.scratchpad = pad.elaborate(None)
        for at, (fill, read, word) in enumerate(zip(self.fills, self.reads, self.words, strict=True)):
            filler, reader = getattr(pad, f"filler{at}"), getattr(pad, f"reader{at}")
            m.d.comb += [filler.value.eq(fill.wants), filler.store.eq(fill.begins), filler.word.eq(word)]
            m.d.comb += reader.read.eq(read.begins)
            fill.connect(m, filler.space)
            read.connect(m, reader.space)
            free = self._free(fill, self.fills, self.fills[:at])
            m.d.comb += Assert(filler.space == (~fill.wants | free))
            m.d.comb += Assert(reader.space == self._free(read, self.reads, self.reads[at + 1 :]))
        for side in (self.fills, self.reads):
            for one, other in combinations(side, 2):
                same = (one.at - other.at) % self.banks == 0
                m.d.comb += Assert((one.left == 0) | (other.left == 0) | ~same)
        self._follow(m)

    def _free(self, side: Access, all_sides: Sequence[Access], first: Sequence[Access]) -> Value:
        """Whether nobody is in the bank that ``side`` wants: who goes on there, or begins there and comes first."""
        there = [side.meets(each, self.banks) for each in all_sides if each is not side]
        there += [each.begins & ((each.place - side.place) % self.banks == 0) for each in first]
        return ~Cat(there).any()

    def _follow(self, m: Module) -> None:
        fill, read, size = self.fills[self.owner], self.reads[self.owner], self.fills[self.owner].size
        followed, there = Signal(), Signal()
        place, arrived = Signal(fill.place.shape()), Signal(range(size + 1), init=size)
        words = Array(Signal(name=f"kept{word}") for word in range(size))
        with m.If(arrived != size):
            m.d.sync += [words[arrived].eq(self.words[self.owner]), arrived.eq(arrived + 1)]
        reading, number, marks = Signal(), Signal(range(size)), Signal()
        m.d.comb += marks.eq(self.mark & fill.begins & ~followed & (arrived == size) & ~reading)
        with m.If(marks):
            m.d.sync += [followed.eq(1), arrived.eq(0), place.eq(fill.place)]
        with m.Elif(self.leaves):
            m.d.sync += followed.eq(0)
        m.d.sync += there.eq(followed & ~self.leaves)
        m.d.comb += Assume(~self.leaves | there)
        for each in self.fills:
            kept = followed if each is fill else followed | marks
            m.d.comb += Assume(~(each.begins & kept) | each.is_beside(Mux(followed, place, fill.place), size))
            others = [side for side in (*self.fills, *self.reads) if side is not each]
            overtakes = Cat(side.comes_to(each.place) for side in others).any()
            m.d.comb += Assume(~each.begins | ~overtakes | self.overtakes)
        opens = read.begins & (read.place == place) & followed
        m.d.comb += Assume(~opens | there)
        m.d.sync += [reading.eq(opens | (reading & read.goes_on)), number.eq(Mux(opens, 0, number + 1))]
        m.d.comb += Assert(~reading | (getattr(self.scratchpad, f"reader{self.owner}").word == words[number]))
        reads_now = Mux(opens, place, read.at + 1)
        for each in self.fills:  # block RAM must not be read where it is written
            meets = (each.left != 0) & (each.at == reads_now)
            m.d.comb += Assert(~(opens | (reading & read.goes_on)) | ~meets)


MUTANTS = [
    ("each.goes_on & (each.next_bank == bank)", "each.goes_on & (each.bank == bank)"),
    ("bursts[each].begins & (bursts[each].first_bank == bank) for each in before", "Const(0)"),
    ("if number != at]", "]"),
    ("return self.left > 1", "return self.left > 2"),
    ("self._at.eq(following)]", "self._at.eq(self._at)]"),
    ("with m.If((burst.left != 0) & (burst.bank == bank)):", "with m.If(burst.left != 0):"),
    ("place.eq(burst.next_row)", "place.eq(burst.row)"),
    ("with m.Switch(burst.bank):", "with m.Switch(burst.next_bank):"),
    ("space & (~ring.filler.value | self._granted(fills, at, before))", "space & self._granted(fills, at, before)"),
    ("reads_first < order]", "reads_first > order]"),
]


@proofs(
    ("size", "words", "banks", "owner", "mutants"),
    [
        ((2, 2), 4, 2, 0, MUTANTS),
        ((3, 2), 4, 2, 1, []),
        pytest.param((1, 2, 1), 4, 2, 1, [], marks=pytest.mark.slow),
        pytest.param((2, 1), 4, 2, 0, [], marks=pytest.mark.slow),
        pytest.param((3, 2), 8, 4, 1, [], marks=pytest.mark.slow),
    ],
)
def test_words_pass_each_other_in_banks(
    size: Sequence[int], words: int, banks: int, owner: int, mutants: list[tuple[str, str]]
) -> None:
    check(scratchpad, lambda module: Banks(size, words, banks, owner, module), mutants)


def test_who_overtakes_a_reader_is_where_it_reads() -> None:
    assert refuted({"": Banks((3, 2), 4, 2, 0, scratchpad, overtakes=True)})
