"""Firing rules; `hw.firing.machine` says what these may do."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar

from amaranth.hdl import Module

from hw.firing.machine import Firing
from hw.links.layout import Format, TokenFormat
from hw.verilog.modules import Parametric
from hw.verilog.naming import Spelling, joined, spelled, stream_words, words_of


class FiringRule(abc.ABC):
    """The firing rule of an operator; a frozen dataclass."""

    verilog_name: ClassVar[str] = ""
    """Name of the rule in Verilog, where that is not the name of its class."""
    verilog_origin: ClassVar[str] = ""
    """The module by which digests in names know the rule, where that is not the one of its class."""

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
        functions = joined(words_of(each) for each in numbers.values() if isinstance(each, Parametric))
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
        return max(1, *(each.beats for each in (*self.inputs, *self.outputs)))

    @property
    def burst(self) -> int:
        """Cycles from a firing that `Firing.reserve`\\ s an output to the next token there."""
        return self.initiation_interval

    @property
    def offsets(self) -> tuple[int, ...]:
        """Per input, how many cycles behind the firing the channel is opened."""
        return (0,) * len(self.inputs)

    @property
    def held(self) -> tuple[int, ...]:
        """Inputs of which the words of a token may stay, when its header is taken, until `Firing.drop`."""
        return ()

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


def _is_format(value: Any) -> bool:
    """Whether a value is the format of a stream, or those of several."""
    return bool(_listed(value)) and all(isinstance(each, TokenFormat) for each in _listed(value))


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
