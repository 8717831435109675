"""Channels: the FIFOs between units, which cut every combinational path, with headers and data apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.links.gears import Gears, gathering
from hw.links.gears import shown as shown_later
from hw.links.layout import Format, TokenFormat
from hw.primitives.memories import Ram
from hw.primitives.timing import DRIVEN, becomes, countdown, delayed, held, kept
from hw.verilog.modules import Parametric
from hw.verilog.spelling import Spelling, spelled


class ProducerSignature(wiring.Signature):
    """The writing side of a channel, as seen by the writer.

    ``space``: a slot is neither occupied nor claimed. ``claim`` takes a slot; ``valid`` writes ``header`` into the
    oldest claimed one, in the same cycle or any later one. The words of a value follow on ``word`` from the cycle
    after that on, one a cycle.
    """

    def __init__(self, format: Format) -> None:
        super().__init__({"space": In(1), "claim": Out(1), "valid": Out(1)} | _fields(format))


class ConsumerSignature(wiring.Signature):
    r"""The reading side of a channel, as seen by the channel.

    A stream of ``header``\ s. The words of a value stay until ``drop``, in the cycle in which its header is taken or in
    a later one. ``open``: from the next cycle on ``word`` has the words of the oldest value that is not dropped, one a
    cycle, beginning with word ``offset``; values of one word need not be opened. ``beyond``: control is not below the
    format's bound.
    """

    def __init__(self, format: Format) -> None:
        members: dict[str, Any] = {"valid": Out(1), "ready": In(1)} | _fields(format)
        if format.word_bits:
            members["drop"] = In(1)
        if format.words > 1:
            members |= {"open": In(1), "offset": In(range(format.words))}
        if format.bound:
            members["beyond"] = Out(1)
        super().__init__(members)


def _fields(format: Format) -> dict[str, Any]:
    """The ports of headers and words, both away from the writer."""
    members: dict[str, Any] = {"header": Out(format.header)} if format.header.size else {}
    return members | ({"word": Out(format.word_bits)} if format.word_bits else {})


class ChannelFifo(Parametric):
    """A FIFO of ``depth`` slots for tokens of ``format``.

    A header written in cycle t can be read in t+1; a slot freed in t can be claimed in t+1. Headers are a ring in a
    memory that is read without a clock, so all that its outputs depend on are registers. Words lie in a ring of their
    own, with ``places`` for a value in every slot (those of the format, unless given), and for ``spare`` values more,
    which the reader may take before it drops them. They are written one cycle behind their header, and read one
    cycle behind it, so that either address comes from a register; a word may be overwritten in the cycle in which it is
    read for the last time.

    ``deep``: the words are in block RAM, which has its address a cycle before the word. So that no word is read in the
    cycle in which it is written, a header written in t is only shown in t+2.

    ``read_as``: the format of the tokens where they are read, whose words may be wider or narrower. A header waits
    until wider words can be read without a gap. Narrower ones are read more slowly than others may be written, so there
    is room for the value that is being read.

    ``hops``: registers on the way from the writer to the ring, and on that of a freed slot back. Nothing waits there:
    a token on its way has a slot. Then units see registers alone: the flags of both ends, and the header in front;
    and every `DRIVEN` bits of a word have registers of their own for its place and its coming.
    """

    verilog_name = "Channel"

    def __init__(
        self,
        format: Format,
        depth: int,
        spare: int = 0,
        *,
        deep: bool = False,
        read_as: TokenFormat | None = None,
        places: int | None = None,
        hops: int = 0,
    ) -> None:
        self._format, self._depth, self._spare = format, depth, spare if format.word_bits else 0
        self._deep, self._gears, self._hops = deep, None, hops
        if isinstance(format, TokenFormat) and read_as is not None and format.word_bits != read_as.word_bits:
            self._gears = format, read_as
            self._spare += read_as.words > format.words
        reader = self._gears[1] if self._gears else format
        self._most = min(format.words, reader.words)
        self._places = self._most if places is None or not format.word_bits else places
        super().__init__({"i": In(ProducerSignature(format)), "o": Out(ConsumerSignature(reader))})
        bits = {"word_bits": format.word_bits or None, "header_bits": format.header.size}
        slots = {"depth_tokens": depth, "spare_tokens": self._spare or None, "block_ram": deep, "hops": hops or None}
        span = format.span if isinstance(format, TokenFormat) and format.most_rows else None
        gears = dict(zip(("written", "read"), self._gears or (None, None), strict=True))
        few = self._places if self._places < self._most else None
        own = {"span": span, **gears, "places": few, **({"bound": format.bound} if format.bound else {})}
        self.parameters = {"words": format.words or None, **bits, **slots, **own}

    @property
    def lag(self) -> int:
        """The most cycles that a header is on its way, and waits for words that are gathered."""
        return self._hops + (max(0, self._gears[0].words - self._gears[1].words) if self._gears else 0)

    @property
    def _is_fast(self) -> bool:
        """Whether what its ends see is registers."""
        return self._hops > 0 or self.far

    @property
    def spelling(self) -> Spelling:
        numbers = dict(self.parameters)
        words, bits = numbers.pop("words", ""), numbers.pop("word_bits", "")
        if not self._format.word_bits:
            return Spelling(("headers",)) + spelled(numbers)
        value = f"{words}x{bits}" if bits else "one_word" if words else ""
        return Spelling((value,) if value else ()) + spelled(numbers)

    @property
    def generic(self) -> ChannelFifo | None:
        words, special = self._format.words, self._gears or self._format.most_rows or self._is_fast
        special = special or self._format.bound
        if special or self._places < self._most or not self._format.header.size or self._spare > 1:
            return None
        if self._depth == 1 or (self._depth == 2 and words & (words - 1)):
            return None
        return _generic(min(words, 2), min(self._depth, 3), self._spare, self._deep)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        leaves = Signal()
        freed = delayed(m, leaves, self._hops, "freed")
        claimed = count(m, "claimed", self._depth, up=self.i.claim, down=freed)  # slots that are occupied or spoken for
        arriving: Value = delayed(m, self.i.valid, self._hops, "valid")
        written, header = arriving, None
        if self._format.header.size:
            header = delayed(m, self.i.header, self._hops, "header", reset_less=True)
        if self._gears:
            written = shown_later(m, arriving, header, gathering(*self._gears))
        shown = written
        if self._deep:
            shown = Signal(name="shown")
            m.d.sync += shown.eq(written)
        occupied = count(m, "occupied", self._depth, up=shown, down=leaves)
        space: Value = claimed != self._depth
        valid: Value = occupied != 0
        if self._is_fast:
            space = has_room(m, "has_space", claimed, self._depth, up=self.i.claim, down=freed)
            valid = has_some(m, "has_token", occupied, up=shown, down=leaves)
        m.d.comb += [self.i.space.eq(space), self.o.valid.eq(valid), leaves.eq(self.o.valid & self.o.ready)]
        if self._format.header.size:
            write_place = place(m, "write_place", self._depth, arriving)
            read_place = place(m, "read_place", self._depth, leaves)
            headers = Ram(m, "headers", self._format.header.size, self._depth)
            headers.write(arriving, write_place, Value.cast(header))
            if self._is_fast:
                following = Signal(range(self._depth), name="following_place")
                behind = Mux(read_place == self._depth - 1, 0, read_place + 1)
                m.d.comb += following.eq(Mux(valid, behind, read_place))
                comes = Mux(arriving & (write_place == following), header, headers.read(following))
                front = held(m, self._seen(comes), leaves | ~valid, "front")
            else:
                front = self._seen(headers.read(read_place))
            m.d.comb += Value.cast(self.o.header).eq(front)
            if self._format.bound:
                m.d.comb += self.o.beyond.eq(front[-1])
        if self._format.word_bits:
            self._words(m, arriving, header, delayed(m, self.i.word, self._hops, "word", reset_less=True))
        return m

    def _seen(self, header: Value) -> Value:
        """``header``, and above it what its reader is told of a bound."""
        format = self._format
        return Cat(header, format.header(header).control >= format.bound) if format.bound else header

    def _words(self, m: Module, valid: Value, header: Any, arriving: Value) -> None:
        most, dynamic = self._format.words, self._format.most_rows > 0
        room = (self._depth + self._spare) * self._places
        begins = valid & header.value
        words = self._format.words_of(header.rows) if isinstance(self._format, TokenFormat) and dynamic else most
        tags = self._copies
        arrivals = [self._arrival(m, tag, begins, None if most == 1 and not dynamic else words) for tag in tags]
        arrives = arrivals[0]
        gears = Gears(m, *self._gears, room, deep=self._deep) if self._gears else None
        oldest = place(m, "oldest", room, self.o.drop, self._places)
        if gears or dynamic:  # every slot has room for a whole value with the most rows
            slot = place(m, "slot", room, begins, self._places)
            write_places = [Signal(range(room), name=f"word_place{tag}") for tag in tags]
        if gears is None or gears.widens:
            addresses = [Signal(range(room), name=f"address{tag}") for tag in tags]
            address, following = addresses[0], Signal(range(room), name="following")
            alone = (self._places if gears else most) == 1
            m.d.comb += following.eq(oldest if alone else Mux(self.o.open, oldest + self.o.offset, address + 1))
            m.d.sync += [_kept(each, tags).eq(following) for each in addresses]
            read_at = following if self._deep else address
        if gears is not None and gears.widens:
            m.d.comb += self.o.word.eq(gears.gather(begins, arrives, slot, arriving, read_at))
            return
        if gears or dynamic:
            m.d.sync += [_kept(each, tags).eq(Mux(begins, slot, each + 1)) for each in write_places]
        else:
            moves = zip(tags, arrivals, strict=True)
            write_places = [_kept(place(m, f"word_place{tag}", room, each), tags) for tag, each in moves]
        if gears is not None:
            word: Value = gears.deal(arrives, write_places[0], arriving, self.o.open, oldest, self.o.offset)
        else:
            width = self._format.word_bits if len(tags) == 1 else DRIVEN
            found = []
            for at, tag in enumerate(tags):
                part = arriving[at * width : (at + 1) * width]
                ring = Ram(m, f"words{tag}", len(part), room, deep=self._deep)
                ring.write(arrivals[at], write_places[at], part)
                found.append(ring.read(following if self._deep else addresses[at]))
            word = Cat(found)
        m.d.comb += self.o.word.eq(word)

    @property
    def _copies(self) -> list[str]:
        """Tags of the copies of registers that control words, each for `DRIVEN` bits: one where nothing is far."""
        copies = -(-self._format.word_bits // DRIVEN) if self._hops and not self._gears else 1
        return [""] if copies == 1 else [f"_{at}" for at in range(copies)]

    def _arrival(self, m: Module, tag: str, begins: Value, words: Any) -> Value:
        """Whether a word is being written: one a cycle behind ``begins``, or so many ``words``."""
        if words is None:
            arrives = _kept(Signal(name=f"arrives{tag}"), self._copies)
            m.d.sync += arrives.eq(begins)
            return arrives
        left, arrives = countdown(m, f"left{tag}", self._format.words, begins, words)
        _kept(left, self._copies)
        return arrives


def _kept(register: Signal, copies: Sequence[str]) -> Signal:
    """``register``, which synthesis must not join with its ``copies``."""
    return kept(register) if len(copies) > 1 else register


@cache
def _generic(words: int, depth: int, spare: int, deep: bool) -> ChannelFifo:
    """With no words, one, or (2) more, and two slots, where there are 1, 2, 4, .. words, or (3) more."""
    variables, numbers = ["header_bits"], ["HEADER_BITS - 1"]
    if words:
        variables, numbers = ["word_bits", *variables], ["WORD_BITS - 1", *numbers]
    if depth == 3:
        variables += ["depth_tokens"]
        numbers += ["DEPTH - 1", "DEPTH", "$clog2(DEPTH) - 1", "$clog2(DEPTH + 1) - 1", "$clog2(DEPTH + 1)"]
    if words == 2:
        variables = ["words", *variables]
        slots = ["(DEPTH - 1)", "DEPTH", "(DEPTH + 1)"] if depth == 3 else ["1", "2", "3"]
        room, last = (f"{each} * WORDS" for each in (slots[1 + spare], slots[spare]))
        numbers += ["WORDS", "$clog2(WORDS) - 1", "$clog2(WORDS + 1) - 1", "$clog2(WORDS + 1)"]
        numbers += [f"{room} - 1", last, f"$clog2({room}) - 1", f"$clog2({room})"]
    format = TokenFormat(1 << 19, (104 * 16 ** (words - 1),) if words else (), 104)
    sample = ChannelFifo(format, 256 if depth == 3 else depth, spare, deep=deep)
    return sample.as_generic(variables, numbers)


def count(m: Module, name: str, most: int, *, up: Value, down: Value, by: int = 1, reset_less: bool = False) -> Signal:
    """A count of up to ``most``: ``by`` more with ``up``, one less with ``down``."""
    count = Signal(range(most + 1), name=name, reset_less=reset_less)
    more = [(up & down, count + (by - 1))] if by > 1 else []
    becomes(m, count, (up & ~down, count + by), (~up & down, count - 1), *more)
    return count


def has_some(m: Module, name: str, number: Value, *, up: Value, down: Value, reset_less: bool = False) -> Signal:
    """Whether ``number``, a `count`, is not 0, in a register."""
    some = Signal(name=name, reset_less=reset_less)
    becomes(m, some, (up, 1), (down & (number == 1), 0))
    return some


def has_room(m: Module, name: str, number: Value, most: int, *, up: Value, down: Value) -> Signal:
    """Whether ``number``, a `count` that has not more than ``most``, has less, in a register."""
    room = Signal(name=name, init=1)
    becomes(m, room, (down, 1), (up & (number == most - 1), 0))
    return room


def place(m: Module, name: str, room: int, moves: Value, step: int = 1, *, reset_less: bool = False) -> Signal:
    """A place in a ring of ``room`` that moves on by ``step``."""
    place = Signal(range(room), name=name, reset_less=reset_less)
    with m.If(moves):
        m.d.sync += place.eq(Mux(place == room - step, 0, place + step))
    return place
