"""Units: firing rules made hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.firing.rule import FiringRule
from hw.links.channel import ConsumerSignature, ProducerSignature
from hw.verilog.modules import Parametric
from hw.verilog.naming import Spelling, spelled
from step.lowering.links import slots_in_flight

STATUS: Mapping[str, Any] = {"activity": Out(2), "fault": Out(4), "finished": Out(1)}
"""Ports that every unit has, besides ``input0`` ... (streams), ``output0`` ... (`ProducerSignature`)."""


def pass_status(m: Module, machine: Any, unit: Any) -> None:
    """``unit`` is as busy, faulty and finished as the ``machine`` inside of it."""
    m.d.comb += [getattr(unit, name).eq(getattr(machine, name)) for name in STATUS]


def join(m: Module, writer: Any, reader: Any) -> None:
    """Connect two interfaces of a channel, both in front of it or both behind it, of equal widths."""
    for name in ("valid", "header", "word", "claim"):
        if hasattr(writer, name):
            m.d.comb += Value.cast(getattr(reader, name)).eq(Value.cast(getattr(writer, name)))
    for name in ("space", "ready", "drop", "open", "offset"):
        if hasattr(writer, name):
            m.d.comb += getattr(writer, name).eq(getattr(reader, name))


class Unit(Parametric):
    """A rule made hardware; ``depth`` of the channel behind its output matters where tokens have times of their own."""

    firing = Firing
    """Class to which the rule describes its firing."""

    def __init__(self, rule: FiringRule, depth: int = 0) -> None:
        self.rule = rule
        self.depth = depth + self.in_flight if depth else 0
        members = {f"input{port}": In(ConsumerSignature(each)) for port, each in enumerate(rule.inputs)}
        members |= {f"output{port}": Out(ProducerSignature(each)) for port, each in enumerate(rule.outputs)}
        super().__init__({**members, **rule.ports, **STATUS})
        self.parameters = {**self.rule.numbers, "depth": self.depth or None}

    @property
    def key(self) -> str:
        return f"{self.rule.verilog_origin or self.kind.__module__} {super().key}"

    @property
    def spelling(self) -> Spelling:
        return self.rule.spelling + spelled({"depth": self.depth or None})

    @property
    def kind(self) -> type:
        return self.rule.kind

    @property
    def folder(self) -> str:
        return "units"

    @property
    def stem(self) -> str:
        return self.rule.name

    @property
    def in_flight(self) -> int:
        """Slots besides two that tokens on their way to the output channel need so that they do not stop the unit."""
        return slots_in_flight(self.rule.latency, self.rule.initiation_interval)

    def spare(self, port: int) -> int:
        """Values of which the words stay in the channel at input ``port`` when their headers are taken, at most."""
        return int(port in self.rule.held or self.rule.offsets[port] > 0)

    @property
    def longest_pause(self) -> int:
        """Cycles from a firing after which its tokens have entered their channels, and the next one may happen.

        Also those in which a unit takes in or hands out the words of one token, a firing each.
        """
        words = (each.beats for each in (*self.rule.inputs, *self.rule.outputs))
        return self.rule.latency + max(self.rule.initiation_interval, self.rule.burst, *words)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        firing = self.firing(m, self)
        self.rule.fire(m, firing)
        firing.close()
        return m
