"""Units are firing machines: the skeleton around an operator's firing rule.

A rule is a frozen dataclass whose fields are all that matters to the hardware, with a method `Rule.fire` that
describes one firing. The skeleton decides *when* it happens: a firing is all or nothing, and needs, in this order,

1. the unit ready: not finished, not stopped by a fault, the initiation interval of the last firing over;
2. the inputs that the rule `Firing.need`\\ s, else the unit is starved;
3. no `Firing.fault`, else the unit stops for good;
4. room in every output that the rule `Firing.put`\\ s into, else the unit is blocked.

`Firing.take`, `Firing.put`, `Firing.next` and `Firing.finish` say what it then does. All may stand below ``m.If``.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.hdl._ast import Slice
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hw.channel import ProducerSignature
from hw.delay import DelayLine
from hw.layout import Format
from hw.shared import Parametric, Shared
from step.language.faults import Fault
from step.running.result import Activity

STATUS: Mapping[str, Any] = {"activity": Out(2), "fault": Out(4), "finished": Out(1)}
"""Ports that every unit has, besides ``input0`` ... (streams), ``output0`` ... (`ProducerSignature`)."""


def pass_status(m: Module, machine: Any, unit: Any) -> None:
    """``unit`` is as busy, faulty and finished as the ``machine`` inside of it."""
    m.d.comb += [getattr(unit, name).eq(getattr(machine, name)) for name in STATUS]


def join(m: Module, writer: Any, reader: Any) -> None:
    """Connect two stream or two channel interfaces of equal width, whatever their payloads are made of."""
    m.d.comb += Value.cast(reader.payload).eq(Value.cast(writer.payload))
    m.d.comb += reader.valid.eq(writer.valid)
    if hasattr(writer, "claim"):
        m.d.comb += [reader.claim.eq(writer.claim), writer.space.eq(reader.space)]
    else:
        m.d.comb += writer.ready.eq(reader.ready)


class RuleError(Exception):
    """A rule of which no hardware can be made: a mistake in its own code, found when it is elaborated."""


class Rule(abc.ABC):
    """The firing rule of an operator; a frozen dataclass."""

    latency = 0
    """Cycles from a firing to its tokens entering the output channels."""

    initiation_interval = 1
    """Cycles from a firing with a value to the next one, at least."""

    @property
    def inputs(self) -> tuple[Format, ...]:
        return ()

    @property
    def outputs(self) -> tuple[Format, ...]:
        return ()

    @property
    def ports(self) -> Mapping[str, Any]:
        """Ports beside inputs, outputs and status."""
        return {}

    @abc.abstractmethod
    def fire(self, m: Module, firing: Firing) -> None:
        """Describe one firing."""


class Unit(Parametric):
    """A rule made hardware."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        members = {f"input{port}": In(stream.Signature(each.layout)) for port, each in enumerate(rule.inputs)}
        members |= {f"output{port}": Out(ProducerSignature(each.layout)) for port, each in enumerate(rule.outputs)}
        super().__init__({**members, **rule.ports, **STATUS})

    @property
    def parameters(self) -> tuple[Any, ...]:
        values = tuple((each.name, _stable(getattr(self.rule, each.name))) for each in fields(self.rule))  # type: ignore[arg-type]
        return type(self.rule).__module__, *values

    @property
    def stem(self) -> str:
        return type(self.rule).__name__

    @property
    def in_flight(self) -> int:
        """Tokens that can be on their way from a firing to the output channel."""
        return -(-self.rule.latency // self.rule.initiation_interval)

    @property
    def longest_pause(self) -> int:
        """Cycles from a firing after which its tokens have entered their channels, and the next one may happen."""
        return self.rule.latency + self.rule.initiation_interval

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        firing = Firing(m, self)
        self.rule.fire(m, firing)
        firing.close()
        return m


def _stable(value: Any) -> Any:
    """A field of a rule, with components replaced by what identifies them."""
    return value.module_name if isinstance(value, Parametric) else value


class Firing:
    """One firing of a unit under description: what a rule may ask and do."""

    def __init__(self, m: Module, unit: Unit) -> None:
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
        self._busy = Signal(name="busy")
        self._heads = [getattr(unit, f"input{port}") for port in range(len(unit.rule.inputs))]
        self._takes = [Signal(name=f"take{port}") for port in range(len(unit.rule.inputs))]
        self._puts = [Signal(name=f"put{port}") for port in range(len(unit.rule.outputs))]
        self._tokens = [Signal(each.layout, name=f"token{port}") for port, each in enumerate(unit.rule.outputs)]
        self._late: dict[int, Value] = {}
        self._delayed: list[tuple[Value, Signal]] = []

    # -- asking -------------------------------------------------------------------------------------------------

    def need(self, port: int) -> data.View[data.StructLayout]:
        """The token in front of input ``port``, which must be there."""
        self.wait(self.visible(port))
        return self.head(port)

    def head(self, port: int) -> data.View[data.StructLayout]:
        """What is in front of input ``port``; only right where a firing needs it."""
        return self._heads[port].payload

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
        """Need all inputs, with equal control; returns the first one's token."""
        first, *others = (self.need(port) for port in range(len(self._heads)))
        for each in others:
            with self._m.If((each.stop != first.stop) | (each.rank != first.rank) | (each.done != first.done)):
                self.fault(Fault.STOPS_DISAGREE)
        return first

    # -- doing --------------------------------------------------------------------------------------------------

    def fault(self, fault: Fault) -> None:
        """Stop for good."""
        self._m.d.comb += self._code.eq(fault)

    def take(self, port: int) -> None:
        """Consume the token in front of input ``port``."""
        self._m.d.comb += self._takes[port].eq(1)

    def put(self, port: int, token: Any = None, *, when: Any = 1, **parts: Any) -> None:
        """Send on output ``port`` the fields in ``parts``; the others are those of ``token``, or zero.

        Below ``m.If`` every bit of the token is gated with its condition; ``when`` gates the sending alone.

        Raises `RuleError` for fields that the output does not have, for data of another width than the output's, and
        for other fields of signals that are wider. Arithmetic is as wide as Amaranth makes it: stops may be computed.
        Constants only have to fit.
        """
        full = Signal(name=f"full{len(self._full)}")
        self._full.append(full)
        channel = getattr(self.unit, f"output{port}")
        self._m.d.comb += [self._puts[port].eq(when), full.eq(when & ~channel.space)]
        fields = self.unit.rule.outputs[port].layout.members
        for name in parts:
            if name not in fields:
                raise self._error(f"output {port} has no field {name!r}; it has {', '.join(fields)}")
        for name in fields:
            if name in parts or token is not None:
                value = parts[name] if name in parts else token[name]
                self._check_width(port, name, value)
                self._m.d.comb += self._tokens[port][name].eq(value)

    def next(self, register: Any, value: Any) -> None:
        """Set ``register`` when the firing happens."""
        with self._m.If(self.fires):
            self._m.d.sync += Value.cast(register).eq(value)

    def finish(self, when: Any = 1) -> None:
        """This firing, if ``when``, is the last one: it handles Done."""
        self._m.d.comb += self._ends.eq(when)

    def takes(self, port: int) -> Value:
        """Whether the token in front of input ``port`` goes in this cycle."""
        return self.fires & self._takes[port]

    # -- taking time (not below ``m.If``) -----------------------------------------------------------------------

    def occupy(self, when: Value) -> None:
        """The next firing is an initiation interval after this one at the earliest, if ``when``."""
        cycles = self.unit.rule.initiation_interval
        if cycles == 1:
            return
        left = Signal(range(cycles))
        self._m.d.comb += self._busy.eq(left != 0)
        with self._m.If(self.fires & when):
            self._m.d.sync += left.eq(cycles - 1)
        with self._m.Elif(self._busy):
            self._m.d.sync += left.eq(left - 1)

    def delayed(self, value: Any) -> Value:
        """``value`` as it was when the tokens fired that enter the outputs now; zero where that is before the reset."""
        value = Value.cast(value)
        if not self._latency:
            return value
        delayed = Signal(value.shape(), name=f"delayed{len(self._delayed)}")
        self._delayed.append((value, delayed))
        return delayed

    def late_data(self, port: int, result: Any) -> None:
        """``result`` is the data of the value that enters output ``port`` now; rules with latency need it.

        Raises `RuleError` for a result of another width than the output's data.
        """
        self._check_width(port, "data", result)
        self._late[port] = result

    def _check_width(self, port: int, field: str, value: Any) -> None:
        """Raise `RuleError` unless ``value`` has room in a field of output ``port``."""
        width, given = len(Value.cast(self._tokens[port][field])), Value.cast(value)
        if isinstance(given, Const):
            if given.value < 0 or given.value >> width:
                raise self._error(f"{field} of output {port} has width {width}, too small for the number {given.value}")
        elif len(given) != width if field == "data" else isinstance(given, Signal | Slice) and len(given) > width:
            raise self._error(f"{field} of output {port} has width {width}, but is given width {len(given)}")

    def _error(self, what: str) -> RuleError:
        return RuleError(f"rule {type(self.unit.rule).__name__}: {what}")

    # -- the machine --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Add the machine, when the rule is complete."""
        m, unit = self._m, self.unit
        starved, blocked = Signal(), Signal()
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
        with m.Elif(self._busy | self.fires):
            m.d.comb += unit.activity.eq(Activity.BUSY)
        with m.Elif(starved | (unit.fault != 0)):
            m.d.comb += unit.activity.eq(Activity.STARVED)
        with m.Else():
            m.d.comb += unit.activity.eq(Activity.BLOCKED)
        for head, take in zip(self._heads, self._takes, strict=True):
            m.d.comb += head.ready.eq(self.fires & take)
        for port, (put, token) in enumerate(zip(self._puts, self._tokens, strict=True)):
            self._connect(port, put, token)
        if self._delayed:
            values, delayed = zip(*self._delayed, strict=True)
            m.submodules.delay = delay = Shared(DelayLine(sum(map(len, values)), self._latency))
            m.d.comb += [delay.i.eq(Cat(*values)), Cat(*delayed).eq(delay.o)]

    def _connect(self, port: int, put: Signal, token: Any) -> None:
        channel = getattr(self.unit, f"output{port}")
        claim = Signal(name=f"claim{port}")
        self._m.d.comb += [claim.eq(self.fires & put), channel.claim.eq(claim)]
        if port not in self._late:
            if self._latency:
                raise self._error(f"it has a latency of {self._latency}, but no late_data for output {port}")
            self._m.d.comb += [channel.valid.eq(claim), channel.payload.eq(token)]
            return
        self._m.d.comb += [token.data.eq(0), channel.valid.eq(self.delayed(claim))]
        for name in ("done", "value", "stop", "rank"):
            self._m.d.comb += channel.payload[name].eq(self.delayed(token[name]))
        self._m.d.comb += channel.payload.data.eq(Mux(channel.payload.value, self._late[port], Const(0)))
