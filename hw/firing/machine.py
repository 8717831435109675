"""Units are firing machines: the skeleton around an operator's firing rule.

A rule is a frozen dataclass whose fields are all that matters to the hardware, with a method `Rule.fire` that
describes one firing. The skeleton decides *when* it happens: a firing is all or nothing, and needs, in this order,

1. the unit ready: not finished, not stopped by a fault, the initiation interval of the last firing over;
2. the inputs that the rule `Firing.need`\\ s, else the unit is starved;
3. no `Firing.fault`, else the unit stops for good;
4. room in every output that the rule `Firing.put`\\ s into, else the unit is blocked.

`Firing.take`, `Firing.put`, `Firing.next` and `Firing.finish` say what it then does. All may stand below ``m.If``.

A rule decides on headers. The words of a value pass in the cycles after the firing, one a cycle: `Firing.word` has
those of the token in front of an input, `Firing.send` takes those that go out. `Firing.occupy` keeps the next firing
away for so long.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.hdl._ast import Slice
from amaranth.lib import data

from hw.firing.delay import DelayLine
from hw.firing.stamps import Stamps
from hw.verilog.modules import Shared
from step.language.faults import Fault
from step.running.result import Activity


class FiringError(Exception):
    """A rule of which no hardware can be made: a mistake in its own code, found when it is elaborated."""


class Firing:
    """One firing of a `hw.firing.unit.Unit` under description: what a rule may ask and do."""

    def __init__(self, m: Module, unit: Any) -> None:
        self.unit = unit
        self.ready = Signal()
        """The unit may fire as far as its own state is concerned."""
        self.fires = Signal()
        """The firing happens in this cycle."""
        self._m = m
        self._latency = unit.rule.latency
        self._missing: list[Signal] = []
        self._full: list[Signal] = []
        self._code = Signal(4, name="code")
        self._ends = Signal(name="ends")
        self._rests = Signal(name="rests")
        self._busy = Signal(name="busy")
        self._heads = [getattr(unit, f"input{port}") for port in range(len(unit.rule.inputs))]
        self._takes = [Signal(name=f"take{port}") for port in range(len(unit.rule.inputs))]
        self._drops = {port: Signal(name=f"drop{port}") for port in unit.rule.held}
        self._offsets: dict[int, Value] = {}
        self._later: dict[int, Value] = {}
        self._puts = [Signal(name=f"put{port}") for port in range(len(unit.rule.outputs))]
        self._headers = [Signal(each.header, name=f"header{port}") for port, each in enumerate(unit.rule.outputs)]
        self._late: dict[int, dict[str, Any]] = {port: {} for port in range(len(unit.rule.outputs))}
        self._words: dict[int, Value] = {}
        self._delayed: list[tuple[Value, Signal]] = []
        self._stamps: dict[int, Shared] = {}

    # -- asking -------------------------------------------------------------------------------------------------

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

    def latched(self, value: Any) -> Signal:
        """``value`` as it was at the last firing, from the cycle after it on: that of the words which pass."""
        value = Value.cast(value)
        register = Signal(value.shape(), name="latched", reset_less=True)
        with self._m.If(self.fires):
            self._m.d.sync += register.eq(value)
        return register

    def phase(self) -> Signal:
        """Which of the words that the last firing sent on its way passes in this cycle; stays at the last one."""
        last = self.unit.rule.initiation_interval - 1
        phase = Signal(range(last + 1), name="phase")
        with self._m.If(self.fires):
            self._m.d.sync += phase.eq(0)
        with self._m.Elif(phase != last):
            self._m.d.sync += phase.eq(phase + 1)
        return phase

    def fired(self, when: Any = 1) -> Signal:
        """Whether there was a firing a cycle ago, and ``when`` was so; not where that is before the reset."""
        register = Signal(name="fired")
        self._m.d.sync += register.eq(self.fires & when)
        return register

    def lagging(self, value: Any) -> Signal:
        """``value`` as it was a cycle ago, which is the time of the data; it is data, so a reset does not clear it."""
        value = Value.cast(value)
        register = Signal(value.shape(), name="lagging", reset_less=True)
        self._m.d.sync += register.eq(value)
        return register

    def visible(self, port: int) -> Signal:
        """Whether there is a token in front of input ``port``."""
        return self._heads[port].valid

    def wait(self, there: Value) -> None:
        """Starve unless ``there``."""
        missing = Signal(name=f"missing{len(self._missing)}")
        self._m.d.comb += missing.eq(~there)
        self._missing.append(missing)

    def room(self, there: Value) -> None:
        """Block unless ``there``."""
        full = Signal(name=f"full{len(self._full)}")
        self._m.d.comb += full.eq(~there)
        self._full.append(full)

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

    # -- doing --------------------------------------------------------------------------------------------------

    def fault(self, fault: Fault | Value) -> None:
        """Stop for good, unless it is 0."""
        self._m.d.comb += self._code.eq(fault)

    def take(self, port: int) -> None:
        """Consume the token in front of input ``port``; from a held one, without its words."""
        self._m.d.comb += self._takes[port].eq(1)

    def drop(self, port: int, when: Any = 1) -> None:
        """What goes out is the oldest value of the held input ``port``, if ``when``; its words go with it."""
        self._m.d.comb += self._drops[port].eq(when)

    def read_from(self, port: int, offset: Any) -> None:
        """The words of input ``port`` are read from word ``offset`` on."""
        self._offsets[port] = Value.cast(offset)

    def later(self, port: int, cycles: Value) -> None:
        """The words of a value in front of input ``port`` are read, and dropped, so many ``cycles`` behind the firing
        that takes it, which are `Rule.offsets` at most, and no more than it occupies the unit."""
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

    def next(self, register: Any, value: Any) -> None:
        """Set ``register`` when the firing happens."""
        with self._m.If(self.fires):
            self._m.d.sync += Value.cast(register).eq(value)

    def finish(self, when: Any = 1) -> None:
        """This firing, if ``when``, is the last one: it handles Done."""
        self._m.d.comb += self._ends.eq(when)

    def rest(self, when: Any) -> None:
        """This firing, if ``when``, does nothing: the unit counts as starved."""
        self._m.d.comb += self._rests.eq(when)

    # -- taking time (not below ``m.If``) -----------------------------------------------------------------------

    def occupy(self, when: Value, cycles: Any = None) -> None:
        """The next firing is ``cycles`` (>= 1; an initiation interval) after this one at the earliest, if ``when``."""
        most = self.unit.rule.initiation_interval
        if most == 1:
            return
        cycles = most if cycles is None else cycles
        left = Signal(range(most))
        self._m.d.comb += self._busy.eq(left != 0)
        with self._m.If(self.fires & when):
            self._m.d.sync += left.eq(cycles - 1)
        with self._m.Elif(self._busy):
            self._m.d.sync += left.eq(left - 1)

    def reserve(self, port: int, when: Value, cycles: Any = None) -> None:
        """The next token leaves on output ``port`` ``cycles`` (>= 1; `Rule.burst`) after this one at the earliest, if
        ``when``."""
        most = self.unit.rule.burst
        if most == 1:
            return
        cycles = most if cycles is None else cycles
        left = Signal(range(most))
        self.room((left == 0) | ~self._puts[port])
        with self._m.If(self.fires & when):
            self._m.d.sync += left.eq(cycles - 1)
        with self._m.Elif(left != 0):
            self._m.d.sync += left.eq(left - 1)

    def stamp(self, port: int, cycles: Any, words: Any) -> Value:
        """What is put on output ``port`` enters it ``cycles`` (>= 1) later, and not before the ``words`` (>= 1) of what
        was put there before have passed. Returns whether a value with words enters now.

        Its header must be known with the firing. No firing may put anything there before words that it put have passed.
        """
        rule = self.unit.rule
        format = rule.outputs[port]
        stamps = Stamps(format.header.size, min(self.unit.depth, rule.latency + 1), rule.latency, max(1, format.beats))
        self._m.submodules[f"stamps{port}"] = self._stamps[port] = waiting = Shared(stamps)
        entering = Signal(format.header, name=f"entering{port}")
        self._m.d.comb += [
            *(waiting.cycles.eq(cycles), waiting.words.eq(words), entering.as_value().eq(waiting.entering)),
        ]
        some = entering.rows != 0 if "rows" in format.header.members else Const(1, 1)
        return waiting.enters & entering.value & some

    def delayed(self, value: Any) -> Value:
        """``value`` as it was when the tokens fired that enter the outputs now; zero where that is before the reset."""
        value = Value.cast(value)
        if not self._latency:
            return value
        delayed = Signal(value.shape(), name=f"delayed{len(self._delayed)}")
        self._delayed.append((value, delayed))
        return delayed

    def send(self, port: int, word: Any) -> None:
        """``word`` has the words of the token whose header entered output ``port`` last, from the cycle after it on.

        Raises `FiringError` for words of another width than the output's, or where it has none.
        """
        self._check_width(port, "data", word)
        self._words[port] = word

    def pass_data(self, source: int, port: int) -> None:
        """What goes out on output ``port`` are the words of the token in front of input ``source``, if it wants any."""
        if self.unit.rule.outputs[port].word_bits:
            self.send(port, self.word(source))

    def late(self, port: int, **fields: Any) -> None:
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

    def _error(self, what: str) -> FiringError:
        return FiringError(f"rule {type(self.unit.rule).__name__}: {what}")

    # -- the machine --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Add the machine, when the rule is complete."""
        m, unit = self._m, self.unit
        starved = Signal()
        blocked = Signal()
        stopped = Signal(4)  # code of the fault that was met
        m.d.comb += [
            starved.eq(Cat(*self._missing).any() if self._missing else 0),
            blocked.eq(Cat(*self._full).any() if self._full else 0),
            self.ready.eq(~unit.finished & (stopped == 0) & ~self._busy),
            self.fires.eq(self.ready & ~starved & (self._code == 0) & ~blocked),
            unit.fault.eq(stopped),
        ]
        with m.If(self.ready & ~starved & (self._code != 0)):
            m.d.comb += unit.fault.eq(self._code)
            m.d.sync += stopped.eq(self._code)
        ended = Signal()
        m.d.comb += unit.finished.eq(ended)
        with m.If(self.fires & self._ends):
            m.d.sync += ended.eq(1)
        with m.If(unit.finished):
            m.d.comb += unit.activity.eq(Activity.FINISHED)
        with m.Elif(self._busy | (self.fires & ~self._rests)):
            m.d.comb += unit.activity.eq(Activity.BUSY)
        with m.Elif(starved | self._rests | (unit.fault != 0)):
            m.d.comb += unit.activity.eq(Activity.STARVED)
        with m.Else():
            m.d.comb += unit.activity.eq(Activity.BLOCKED)
        for port in range(len(self._heads)):
            self._consume(port)
        for port in range(len(self._puts)):
            self._connect(port)
        if self._delayed:
            values, delayed = zip(*self._delayed, strict=True)
            m.submodules.delay = delay = Shared(DelayLine(sum(map(len, values)), self._latency))
            m.d.comb += [delay.i.eq(Cat(*values)), Cat(*delayed).eq(delay.o)]

    def _consume(self, port: int) -> None:
        m, head, offset = self._m, self._heads[port], self.unit.rule.offsets[port]
        m.d.comb += head.ready.eq(self.fires & self._takes[port])
        if not hasattr(head, "drop"):
            return
        value = head.header.value if hasattr(head, "header") else 1
        drops = self._drops[port] if port in self._drops else self._takes[port] & value
        pulses = Cat(self.fires & drops, self.fires)
        if port in self._later:
            pulses = self._after(port, self.fires & self._takes[port] & value).replicate(2)
        elif offset:
            m.submodules[f"later{port}"] = delay = Shared(DelayLine(len(pulses), offset))
            m.d.comb += delay.i.eq(pulses)
            pulses = delay.o
        m.d.comb += head.drop.eq(pulses[0])
        if hasattr(head, "open"):
            m.d.comb += head.open.eq(pulses[1])
            if port in self._offsets:
                m.d.comb += head.offset.eq(self._offsets[port])

    def _after(self, port: int, taken: Value) -> Value:
        """When the words of what was ``taken`` from input ``port`` are read."""
        m, cycles = self._m, self._later[port]
        left = Signal(range(self.unit.rule.offsets[port] + 1), name=f"later{port}")
        with m.If(taken):
            m.d.sync += left.eq(cycles)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return (taken & (cycles == 0)) | (left == 1)

    def _connect(self, port: int) -> None:
        channel, format = getattr(self.unit, f"output{port}"), self.unit.rule.outputs[port]
        late = self._late[port]
        if late and not self._latency:
            raise self._error(f"{', '.join(late)} of output {port} is late, but it has no latency")
        claim = Signal(name=f"claim{port}")
        self._m.d.comb += [claim.eq(self.fires & self._puts[port]), channel.claim.eq(claim)]
        if port in self._stamps:
            stamps = self._stamps[port]
            self._m.d.comb += [
                *(stamps.claim.eq(claim), stamps.header.eq(self._headers[port].as_value())),
                *(channel.valid.eq(stamps.enters), channel.header.as_value().eq(stamps.entering)),
                *(channel.header[name].eq(value) for name, value in late.items()),
            ]
        else:
            self._m.d.comb += channel.valid.eq(self.delayed(claim))
            for name in format.header.members:
                value = late[name] if name in late else self.delayed(self._headers[port][name])
                self._m.d.comb += channel.header[name].eq(value)
        if format.word_bits:
            if port not in self._words:
                raise self._error(f"it does not send the data of output {port}")
            self._m.d.comb += channel.word.eq(self._words[port])
