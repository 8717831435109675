"""Units: firing rules, which say what `hw.firing.machine` allows, made hardware."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar

from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib.wiring import In, Out

from hw.firing.machine import Firing
from hw.links.channel import ConsumerSignature, ProducerSignature
from hw.links.layout import Format, TokenFormat
from hw.verilog.modules import Parametric
from hw.verilog.spelling import Spelling, spelled, stream_words, words_of
from step.lowering.links import slots_in_flight

STATUS: Mapping[str, Any] = {"activity": Out(2), "fault": Out(4), "finished": Out(1)}
"""Ports that every unit has, besides ``input0`` ... (streams), ``output0`` ... (`ProducerSignature`)."""


def pass_status(m: Module, machine: Any, unit: Any) -> None:
    """``unit`` is as busy, faulty and finished as the ``machine`` inside of it."""
    m.d.comb += [getattr(unit, name).eq(getattr(machine, name)) for name in STATUS]


def join(m: Module, writer: Any, reader: Any) -> None:
    """Connect two interfaces of a channel, both in front of it or both behind it, of equal widths."""
    for name in ("valid", "header", "beyond", "word", "claim"):
        if hasattr(writer, name):
            m.d.comb += Value.cast(getattr(reader, name)).eq(Value.cast(getattr(writer, name)))
    for name in ("space", "ready", "drop", "open", "offset"):
        if hasattr(writer, name):
            m.d.comb += getattr(writer, name).eq(getattr(reader, name))


class FiringRule(abc.ABC):
    """The firing rule of an operator; a frozen dataclass."""

    verilog_name: ClassVar[str] = ""
    """Name of the rule in Verilog, where that is not the name of its class."""

    @property
    def name(self) -> str:
        """Name that the module is called after."""
        return self.verilog_name or type(self).__name__

    @property
    def kind(self) -> type:
        """The class whose docstring says what the rule does."""
        return type(self)

    @property
    def numbers(self) -> dict[str, Any]:
        """All that makes the rule, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @property
    def spelling(self) -> Spelling:
        """Words for what it does with values, for these, and its numbers that are not the default ones."""
        numbers = self.numbers
        functions = sum((words_of(each) for each in numbers.values() if isinstance(each, Parametric)), Spelling())
        others = {
            name: value
            for name, value in numbers.items()
            if not (isinstance(value, Parametric) or _is_format(value) or value == self._default(name))
        }
        formats = {each for value in numbers.values() if _is_format(value) for each in _listed(value)}
        said = Spelling(whole=formats <= {*self.inputs, *self.outputs})
        return functions + stream_words(self.inputs, self.outputs) + said + spelled(others)

    def _default(self, name: str) -> Any:
        return next((each.default for each in fields(self) if each.name == name), MISSING)  # type: ignore[arg-type]

    latency = 0
    """Cycles from a firing to its tokens entering the output channels."""

    @property
    def initiation_interval(self) -> int:
        """Cycles from a firing that `Firing.occupy`\\ s to the next one, at least: the words that it reads or puts."""
        return max(1, *(each.words for each in (*self.inputs, *self.outputs)))

    @property
    def burst(self) -> int:
        """Cycles from a firing that `Firing.reserve`\\ s an output to the next token there."""
        return self.initiation_interval

    @property
    def offsets(self) -> tuple[int, ...]:
        """Per input, how many cycles behind the firing the channel is opened."""
        return (0,) * len(self.inputs)

    held: tuple[int, ...] = ()
    """Inputs of which the words of a token may stay, when its header is taken, until `Firing.drop`."""
    inputs: tuple[Format, ...] = ()
    outputs: tuple[Format, ...] = ()

    @property
    def ports(self) -> Mapping[str, Any]:
        """Ports beside inputs, outputs and status."""
        return {}

    @abc.abstractmethod
    def fire(self, m: Module, firing: Firing) -> None:
        """Describe one firing."""


class Unit(Parametric):
    """A rule made hardware; ``depth``, where tokens have times of their own: slots of the channel behind its output."""

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
        return f"{self.kind.__module__} {super().key}"

    @property
    def spelling(self) -> Spelling:
        return self.rule.spelling + spelled({"depth": self.depth or None})

    verilog_folder = "units"
    kind = property(lambda self: self.rule.kind)
    stem = property(lambda self: self.rule.name)

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
        words = (each.words for each in (*self.rule.inputs, *self.rule.outputs))
        return self.rule.latency + max(self.rule.initiation_interval, self.rule.burst, *words)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        firing = self.firing(m, self)
        self.rule.fire(m, firing)
        firing.close()
        return m


def _is_format(value: Any) -> bool:
    """Whether a value is the format of a stream, or those of several."""
    return bool(_listed(value)) and all(isinstance(each, TokenFormat) for each in _listed(value))


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
