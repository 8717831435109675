"""The hardware of an operator that declares its rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.links.layout import TokenFormat, input_formats, output_formats
from hw.rules.execution import Execution, executed
from hw.rules.values import Arriving, Literal
from hw.rules.writing import Writing
from step.firing.declared import Declared, declared_rule
from step.firing.item import Item, SideBySide
from step.firing.machine import Machine
from step.firing.words import side_by_side
from step.language.graph import Node
from step.lowering.netlist import Netlist


@dataclass(frozen=True)
class Translated(FiringRule):
    """The rule of ``machine`` with ``parameters``, between inputs that it ``reads`` and outputs that it ``writes``."""

    machine: type[Machine]
    parameters: tuple[tuple[str, Any], ...]
    reads: tuple[TokenFormat, ...]
    writes: tuple[TokenFormat, ...]
    delay: int = 0

    name = property(lambda self: self.machine.__name__)
    kind = property(lambda self: self.machine)
    latency = property(lambda self: self.delay)
    inputs = property(lambda self: self.reads)
    outputs = property(lambda self: self.writes)

    @property
    def numbers(self) -> dict[str, Any]:
        streams = {"inputs": self.reads, "outputs": self.writes}
        return {**streams, **dict(self.parameters), "delay_cycles": self.delay or None}

    @classmethod
    def of(cls, declared: Declared, reads: tuple[TokenFormat, ...], writes: tuple[TokenFormat, ...]) -> Translated:
        """The rule that is ``declared``, with values as their bits, and functions as hardware knows them."""
        link = (*reads, *writes)[0].link_bits // 8
        parameters = tuple((name, _plain(value, link)) for name, value in sorted(declared.parameters.items()))
        rows = max(each.most_rows for each in reads)
        latency = declared.cycles(link, rows, carries=any(each.items for each in writes))
        return cls(declared.machine, parameters, reads, writes, latency)

    @property
    def execution(self) -> Execution:
        """The rule executed."""
        return executed(self.machine, self.parameters, self.reads, self.writes)  # type: ignore[arg-type]

    held = property(lambda self: tuple(sorted(self.execution.held())))

    @property
    def offsets(self) -> tuple[int, ...]:
        rows = max(each.most_rows for each in self.reads)
        return tuple(each.at(rows) for each in self.execution.offsets)

    @property
    def is_stamped(self) -> bool:
        """Whether the latency of what goes out follows from the rows of tiles of dynamic size."""
        return any(each.rows for each in self.execution.offsets) and self.latency > 0

    def fire(self, m: Module, firing: Firing) -> None:
        Writing(self.execution, m, firing).write()


def translated(node: Node, netlist: Netlist) -> Unit:
    """The hardware of ``node``, whose operator declares its rule; raises `HardwareError` where there is none."""
    declared = declared_rule(node)
    assert declared is not None
    rule = Translated.of(declared, input_formats(node, netlist), output_formats(node, netlist))
    depths = [behind.depth for behind in netlist.outputs(node) if behind is not None]
    return Unit(rule, max(depths) if rule.is_stamped else 0)


def _plain(value: Any, link_bytes: int) -> Any:
    """A parameter as hardware has it: an item is where it begins in a tuple, other functions are names."""
    if isinstance(value, SideBySide):
        return side_by_side.__name__
    if isinstance(value, Item):
        return Arriving((), value.first(link_bytes))
    plain = isinstance(value, int) or (isinstance(value, tuple) and all(isinstance(each, int) for each in value))
    return value if plain else value.__name__ if callable(value) else Literal.of(value)
