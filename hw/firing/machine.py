r"""Units are firing machines: the skeleton around an operator's firing rule.

A rule is a frozen dataclass whose fields are all that matters to the hardware, with a method `FiringRule.fire` that
describes one firing. The skeleton decides *when* it happens: a firing is all or nothing, and needs, in this order,

1. the unit ready: not finished, not stopped by a fault, the initiation interval of the last firing over;
2. the inputs that the rule `Firing.need`\ s, else the unit is starved;
3. no `Firing.fault`, else the unit stops for good;
4. room in every output that the rule `Firing.put`\ s into, else the unit is blocked.

`Firing.take`, `Firing.put`, `Firing.next` and `Firing.finish` say what it then does. All may stand below ``m.If``.

A rule decides on headers. The words of a value pass in the cycles after the firing, one a cycle: `Firing.word` has
those of the token in front of an input, `Firing.send` takes those that go out. `Firing.occupy` keeps the next firing
away for so long.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Signal, Value
from amaranth.hdl._ast import Slice
from amaranth.lib import data

from hw.firing.mechanism import Mechanism
from hw.firing.stamps import Stamps
from hw.verilog.modules import Shared
from step.language.faults import Fault


class Firing(Mechanism):
    """One firing of a `hw.firing.unit.Unit` under description: what a rule may ask and do."""

    # -- asking ---------------------------------------------------------------------------------------------------

    def need(self, port: int) -> data.View[data.StructLayout]:
        """The header of the token in front of input ``port``, which must be there."""
        self.wait(self.visible(port))
        return self.head(port)

    def head(self, port: int) -> data.View[data.StructLayout]:
        """The header in front of input ``port``; only right where a firing needs it."""
        return self._heads[port].header

    def word(self, port: int) -> Value:
        """The words of the token that was in front of input ``port`` at the last firing, taken or not, or held."""
        if self.unit.rule.inputs[port].word_bits:
            return self._heads[port].word
        return self.latched(self.head(port).control)

    def visible(self, port: int) -> Signal:
        """Whether there is a token in front of input ``port``."""
        return self._heads[port].valid

    def beyond(self, port: int, bound: int) -> Value:
        """Whether control in front of input ``port`` is not below ``bound``, which its channel may have found out."""
        return self._heads[port].beyond if self.unit.rule.inputs[port].bound else self.head(port).control >= bound

    def need_aligned(self) -> data.View[data.StructLayout]:
        """Need all inputs, with equal stops; returns the first one's header."""
        first, *_ = (self.need(port) for port in range(len(self._heads)))
        for port in range(1, len(self._heads)):
            with self._m.If(self.differ(0, port)):
                self.fault(Fault.STOPS_DISAGREE)
        return first

    def differ(self, one: int, other: int) -> Value:
        """Whether the tokens in front of two inputs do not have the same stop and rank, or not both are Done.

        The rows of tiles of dynamic size have to be the same, too: those of ``other`` and of the first such input.
        """
        first, each = self.head(one), self.head(other)
        found = (each.stop != first.stop) | (each.rank != first.rank) | (each.done != first.done)
        tiled = [port for port, format in enumerate(self.unit.rule.inputs) if "rows" in format.header.members]
        if other in tiled[1:]:
            found |= each.value & (each.rows != self.head(tiled[0]).rows)
        return found

    # -- doing ----------------------------------------------------------------------------------------------------

    def fault(self, fault: Fault | Value) -> None:
        """Stop for good, unless it is 0."""
        self._m.d.comb += self._code.eq(fault)

    def take(self, port: int) -> None:
        """Consume the token in front of input ``port``; from a held one, without its words."""
        self._m.d.comb += self._takes[port].eq(1)

    def drop(self, port: int, when: Any = 1) -> None:
        """Let the oldest value of the held input ``port`` go out with its words, if ``when``."""
        self._m.d.comb += self._drops[port].eq(when)

    def read_from(self, port: int, offset: Any) -> None:
        """The words of input ``port`` are read from word ``offset`` on."""
        self._offsets[port] = Value.cast(offset)

    def read_after(self, port: int, cycles: Value) -> None:
        """The words of a value in front of input ``port`` are read, and dropped, so many ``cycles`` behind the firing
        that takes it, which are `FiringRule.offsets` at most, and no more than it occupies the unit."""
        self._later[port] = cycles

    def put(self, port: int, token: Any = None, *, when: Any = 1, **parts: Any) -> None:
        """Send on output ``port`` a header with the fields in ``parts``; the others are those of ``token``, or zero.

        Below ``m.If`` every bit of the header is gated with its condition; ``when`` gates the sending alone.

        Raises `FiringError` for fields that the output does not have, for control of another width than the output's,
        and for other fields of signals that are wider. Arithmetic is as wide as Amaranth makes it: stops may be
        computed. Constants only have to fit.
        """
        full = Signal(name=f"full{len(self._full)}")
        self._full.append(full)
        channel = getattr(self.unit, f"output{port}")
        self._m.d.comb += [self._puts[port].eq(when), full.eq(when & ~channel.space)]
        fields = self.unit.rule.outputs[port].header.members
        given = parts if token is None else {name: token[name] for name in token.shape().members} | parts
        for name in parts:
            if name not in fields:
                raise self._error(f"output {port} has no field {name!r}; it has {', '.join(fields)}")
        for name in fields:
            if name in given:
                self._check_width(port, name, given[name])
                self._m.d.comb += self._headers[port][name].eq(given[name])

    def width(self, port: int, field: str) -> int:
        """Bits of a ``field`` of the header of output ``port``."""
        return len(Value.cast(self._headers[port][field]))

    def finish(self, when: Any = 1) -> None:
        """This firing, if ``when``, is the last one: it handles Done."""
        self._m.d.comb += self._ends.eq(when)

    def rest(self, when: Any) -> None:
        """This firing, if ``when``, does nothing: the unit counts as starved."""
        self._m.d.comb += self._rests.eq(when)

    def stamp(self, port: int, cycles: Any, words: Any) -> Value:
        """Let what is put on output ``port`` enter ``cycles`` (>= 1) later, and not before the ``words`` (>= 1) of what
        was put there before have passed. Returns whether a value with words enters now.

        Its header must be known with the firing. No firing may put anything there before words that it put have passed.
        """
        rule = self.unit.rule
        format = rule.outputs[port]
        stamps = Stamps(format.header.size, min(self.unit.depth, rule.latency + 1), rule.latency, max(1, format.words))
        self._m.submodules[f"stamps{port}"] = self._stamps[port] = waiting = Shared(stamps)
        entering = Signal(format.header, name=f"entering{port}")
        self._m.d.comb += [
            waiting.cycles.eq(cycles),
            waiting.words.eq(words),
            entering.as_value().eq(waiting.entering),
        ]
        some = entering.rows != 0 if "rows" in format.header.members else Const(1, 1)
        return waiting.enters & entering.value & some

    def send(self, port: int, word: Any) -> None:
        """``word`` has the words of the token whose header entered output ``port`` last, from the cycle after it on.

        Raises `FiringError` for words of another width than the output's, or where it has none.
        """
        self._check_width(port, "data", word)
        self._words[port] = word

    def pass_data(self, source: int, port: int) -> None:
        """Send the words of the token in front of input ``source`` on output ``port``, if it wants any."""
        if self.unit.rule.outputs[port].word_bits:
            self.send(port, self.word(source))

    def complete(self, port: int, **fields: Any) -> None:
        """These ``fields`` of the header that enters output ``port`` now are only known now; it must have a latency.

        Raises `FiringError` for fields that the output does not have, and for other widths.
        """
        for name, value in fields.items():
            self._check_width(port, name, value)
        self._late[port] |= fields

    def _check_width(self, port: int, field: str, value: Any) -> None:
        """Raise `FiringError` unless ``value`` has room in a field of output ``port``, or is as wide as its data."""
        format, given = self.unit.rule.outputs[port], Value.cast(value)
        width = self.width(port, field) if field in format.header.members else format.word_bits
        exact = field in ("data", "control")
        if isinstance(given, Const):
            if given.value < 0 or given.value >> width:
                raise self._error(f"{field} of output {port} has width {width}, too small for the number {given.value}")
        elif len(given) != width if exact else isinstance(given, Signal | Slice) and len(given) > width:
            raise self._error(f"{field} of output {port} has width {width}, but is given width {len(given)}")
