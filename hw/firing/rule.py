"""What a firing rule is; `hw.firing.machine` says what one may do."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module

from hw.firing.machine import Firing
from hw.links.layout import Format


class Rule(abc.ABC):
    """The firing rule of an operator; a frozen dataclass."""

    @property
    def name(self) -> str:
        """What the module is called after."""
        return type(self).__name__

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
