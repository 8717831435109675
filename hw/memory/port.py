"""Ports of off-chip memory, which knows nothing of the fabric's reset, and so goes on through it."""

from __future__ import annotations

from functools import cache
from typing import Any

from amaranth.hdl import Elaboratable, Module, ResetSignal, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.links.channel import ProducerSignature, count, has_room, has_some, place
from hw.links.layout import AddressFormat, WriteFormat
from hw.primitives.memories import Ram
from hw.verilog.modules import Parametric
from hw.verilog.structure import MEMORY_RESET


class OffChipPort(Parametric):
    """A channel of ``depth`` slots in front of memory, each token of which memory answers ``answers`` times.

    A reset in the midst of a run takes back nothing that memory may have seen: what stands in the channel stays on
    offer until it is taken, and what was asked for comes. So all this outlasts the reset, but nothing new enters before
    the last answer is there, and the unit sees (``answered``) only those to what it asked for itself. What a fabric
    does whose reset finds nothing on its way has no cycle more. ``most``: answers that may be due at a time.

    Only ``memory_rst`` clears what outlasts the reset: where memory is reset too it has nothing to answer any more.
    What comes without being due is not looked at, nor is an input that is unknown before the reset.
    """

    verilog_name = "MemoryPort"

    def __init__(self, format: AddressFormat | WriteFormat, depth: int, answers: int = 0, most: int = 0) -> None:
        self._format, self._depth, self._answers, self._most = format, depth, answers, most
        members: dict[str, Any] = {"answer": In(1), "answered": Out(1)} if answers else {}
        ends = {"i": In(ProducerSignature(format)), "o": Out(stream.Signature(format.header))}
        super().__init__({**ends, MEMORY_RESET: In(1), **members})
        sizes = {"token_bits": format.header.size, "depth_tokens": depth}
        self.parameters = {**sizes, "answers": answers, "most": most or None}

    @property
    def generic(self) -> OffChipPort | None:
        return None if self.far else _generic(self._depth, min(self._answers, 2))

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        enters, leaves = Signal(name="enters"), Signal(name="leaves")
        draining = Signal(reset_less=True)  # from a reset on, until nothing is due
        # slots that are occupied or spoken for since the reset
        claimed = count(m, "claimed", self._depth, up=self.i.claim, down=leaves & ~draining)
        occupied = count(m, "occupied", self._depth, up=enters, down=leaves, reset_less=True)
        write_place = place(m, "write_place", self._depth, enters, reset_less=True)
        read_place = place(m, "read_place", self._depth, leaves, reset_less=True)
        lasting = [draining, occupied, write_place, read_place]
        headers = Ram(m, "headers", self._format.header.size, self._depth)
        # Whether something enters is known late, and what is written into a free slot in vain is not read.
        headers.write(occupied != self._depth if self.far else enters, write_place, Value.cast(self.i.header))
        space, some = claimed != self._depth, occupied != 0
        if self.far:
            space = has_room(m, "has_space", claimed, self._depth, up=self.i.claim, down=leaves & ~draining)
            some = has_some(m, "has_token", occupied, up=enters, down=leaves, reset_less=True)
            lasting.append(some)
        m.d.comb += [
            self.i.space.eq(space & ~draining),
            enters.eq(self.i.valid & ~ResetSignal()),
            self.o.valid.eq(some),
            Value.cast(self.o.payload).eq(headers.read(read_place)),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        due = occupied
        if self._answers:
            expected = Signal()
            due = count(m, "due", self._most, up=enters, down=expected, by=self._answers, reset_less=True)
            is_due: Value = due != 0
            answered: Value = expected & ~draining
            if self.far:
                is_due = has_some(m, "is_due", due, up=enters, down=expected, reset_less=True)
                is_own = has_some(m, "is_own", due, up=enters, down=expected)  # not what a reset left
                answered = self.answer & is_own
                lasting += [is_due, is_own]
            m.d.comb += [expected.eq(self.answer & is_due), self.answered.eq(answered)]
            lasting.append(due)
        m.d.sync += draining.eq((draining | ResetSignal()) & (due != 0))
        with m.If(getattr(self, MEMORY_RESET)):
            m.d.sync += [each.eq(0) for each in lasting]
        return m


@cache
def _generic(depth: int, answers: int) -> OffChipPort:
    """Ports as deep, and with no answers, one, or (2) more."""
    sample = OffChipPort(WriteFormat(100), depth, 60 if answers == 2 else answers, 1000 if answers else 0)
    variables = ["token_bits", *["answers"] * (answers == 2), *["most"] * (answers > 0)]
    numbers = "ANSWERS", "ANSWERS - 1", "$clog2(MOST + 1) - 1", "$clog2(MOST + 1)"
    return sample.as_generic(variables, ["TOKEN_BITS - 1", *numbers[2 * (answers < 2) : 4 * (answers > 0)]])


def outside(m: Module, port: Any, unit: Any, external: Any) -> None:
    """Connect ``port`` with the stream ``external``, which is as wide, and the memory's reset of the ``unit``."""
    m.d.comb += [Value.cast(external.payload).eq(Value.cast(port.o.payload)), external.valid.eq(port.o.valid)]
    m.d.comb += [port.o.ready.eq(external.ready), getattr(port, MEMORY_RESET).eq(getattr(unit, MEMORY_RESET))]
