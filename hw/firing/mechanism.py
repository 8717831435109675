"""The machine around a firing rule: when a firing happens, and what becomes of it (`hw.firing.machine`)."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from hw.primitives.delay import DelayLine
from hw.primitives.timing import becomes, countdown, held, registered
from hw.verilog.modules import Shared
from step.running.result import Activity


class FiringError(Exception):
    """A rule of which no hardware can be made: a mistake in its own code, found when it is elaborated."""


class Mechanism:
    """All or nothing of a firing: conditions, time, and the ports of the unit."""

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
        self._stays = Signal(name="stays_busy")
        self._frees = Signal(name="frees")
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

    def next(self, register: Any, value: Any) -> None:
        """Set ``register`` when the firing happens."""
        with self._m.If(self.fires):
            self._m.d.sync += Value.cast(register).eq(value)

    # -- time -----------------------------------------------------------------------------------------------------

    def latched(self, value: Any) -> Signal:
        """``value`` as it was at the last firing, from the cycle after it on: that of the words which pass."""
        return held(self._m, Value.cast(value), self.fires, "latched")

    def phase(self) -> Signal:
        """Number of the word of the last firing that passes in this cycle; stays at the last one."""
        last = self.unit.rule.initiation_interval - 1
        phase = Signal(range(last + 1), name="phase")
        becomes(self._m, phase, (self.fires, 0), (phase != last, phase + 1))
        return phase

    def fired(self, when: Any = 1) -> Signal:
        """Whether there was a firing a cycle ago, and ``when`` was so; not where that is before the reset."""
        register = Signal(name="fired")
        self._m.d.sync += register.eq(self.fires & when)
        return register

    def registered(self, value: Any) -> Signal:
        """``value`` as it was a cycle ago, which is the time of the data; it is data, so a reset does not clear it."""
        return registered(self._m, Value.cast(value), "lagging")

    def delayed(self, value: Any) -> Value:
        """``value`` as it was when the tokens fired that enter the outputs now; zero where that is before the reset."""
        value = Value.cast(value)
        if not self._latency:
            return value
        delayed = Signal(value.shape(), name=f"delayed{len(self._delayed)}")
        self._delayed.append((value, delayed))
        return delayed

    def occupy(self, when: Value, cycles: Any = None) -> None:
        """The next firing is ``cycles`` (>= 1; an initiation interval) after this one at the earliest, if ``when``."""
        if (most := self.unit.rule.initiation_interval) > 1:
            left, runs = self._runs(most, when, cycles)
            self._m.d.comb += self._busy.eq(runs)
            if self.unit.far:
                more = 1 if cycles is None else cycles != 1
                self._m.d.comb += [self._stays.eq(when & more), self._frees.eq(left == 1)]

    def reserve(self, port: int, when: Value, cycles: Any = None) -> None:
        """The next token leaves on output ``port`` ``cycles`` (>= 1; `FiringRule.burst`) behind this one or later, if
        ``when``."""
        if (most := self.unit.rule.burst) > 1:
            self.room(~self._runs(most, when, cycles)[1] | ~self._puts[port])

    def _runs(self, most: int, when: Value, cycles: Any) -> tuple[Signal, Signal]:
        """Cycles for which a firing with ``when`` will be less than ``cycles`` ago, ``most`` where they are not given;
        and whether it is."""
        return countdown(self._m, "left", most - 1, self.fires & when, (most if cycles is None else cycles) - 1)

    # -- the machine ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Add the machine, when the rule is complete."""
        m, unit = self._m, self.unit
        starved = Signal()
        blocked = Signal()
        stopped = Signal(4)  # code of the fault that was met
        ready: Value = ~unit.finished & (stopped == 0) & ~self._busy
        if unit.far:  # the same, in a register
            ready = Signal(name="is_ready", init=1)
            fails = ready & ~starved & (self._code != 0)
            becomes(m, ready, (self.fires, ~(self._ends | self._stays)), (fails, 0), (self._frees & ~unit.finished, 1))
        m.d.comb += [
            starved.eq(Cat(*self._missing).any() if self._missing else 0),
            blocked.eq(Cat(*self._full).any() if self._full else 0),
            self.ready.eq(ready),
            self.fires.eq(self.ready & ~starved & (self._code == 0) & ~blocked),
            unit.fault.eq(stopped),
        ]
        fault: Value = self.ready & ~starved & (self._code != 0)
        with m.If(fault):
            m.d.sync += stopped.eq(self._code)
            m.d.comb += [] if unit.far else unit.fault.eq(self._code)
        ended = Signal()
        m.d.comb += unit.finished.eq(ended)
        with m.If(self.fires & self._ends):
            m.d.sync += ended.eq(1)
        with m.If(unit.finished):
            m.d.comb += unit.activity.eq(Activity.FINISHED)
        with m.Elif(self._busy | (self.fires & ~self._rests)):
            m.d.comb += unit.activity.eq(Activity.BUSY)
        with m.Elif(starved | self._rests | (unit.fault != 0) | (fault if unit.far else 0)):
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
        cycles = self._later[port]
        left, _ = countdown(self._m, f"later{port}", self.unit.rule.offsets[port], taken, cycles)
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

    def _error(self, what: str) -> FiringError:
        return FiringError(f"rule {type(self.unit.rule).__name__}: {what}")
