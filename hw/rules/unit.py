"""The hardware of an operator that declares its rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In

from hw.firing.machine import Firing
from hw.firing.unit import FiringRule, Unit
from hw.functions import datapath_of
from hw.functions.datapath import Datapath
from hw.links.layout import TokenFormat, input_formats, output_formats
from hw.links.packing import items_of
from hw.rules.applying import Application
from hw.rules.execution import Execution, executed
from hw.rules.expressions import BASE_BITS
from hw.rules.values import Arriving, Beats, Listing, Literal, Stored
from hw.rules.writing import Writing
from step.firing.declared import Applied, Declared, declared_rule
from step.firing.item import Item, Listed, SideBySide
from step.firing.machine import Machine
from step.firing.words import side_by_side
from step.language.graph import Node
from step.language.loops import Stops, Walk
from step.language.reduction import Distinct
from step.lowering.netlist import Netlist
from step.lowering.plans.plan import UnitPlan


@dataclass(frozen=True)
class Translated(FiringRule):
    """The rule of ``machine`` with ``parameters``, between inputs that it ``reads`` and outputs that it ``writes``."""

    machine: type[Machine]
    parameters: tuple[tuple[str, Any], ...]
    reads: tuple[TokenFormat, ...]
    writes: tuple[Any, ...]
    delay: int = 0

    name = property(lambda self: self.machine.__name__)
    kind = property(lambda self: self.machine)
    latency = property(lambda self: self.delay)
    inputs = property(lambda self: self.reads)
    outputs = property(lambda self: self.writes)

    @property
    def ports(self) -> Mapping[str, Any]:
        loads = any(isinstance(each, Beats) for _, each in self.parameters)
        return {"base": In(BASE_BITS)} if loads else {}

    @property
    def numbers(self) -> dict[str, Any]:
        streams = {"inputs": self.reads, "outputs": self.writes}
        given = {name: each for name, each in self.parameters if not isinstance(each, Stored)}
        return {**streams, **given, "delay_cycles": self.delay or None}

    @classmethod
    def of(
        cls, declared: Declared, reads: tuple[TokenFormat, ...], writes: tuple[Any, ...], most_rows: int = 0
    ) -> Self:
        """The rule that is ``declared``, with values as their bits, and functions as hardware knows them; what it loads
        is a walk over beats.

        Tiles of dynamic size that begin here have ``most_rows`` at most.
        """
        link = (*reads, *writes)[-1].link_bits // 8
        tiled = tuple(port for port, each in enumerate(reads) if each.most_rows)
        given = declared.given(tiled, most_rows if any(each.most_rows for each in writes) else 0)
        if declared.loads is not None:
            given = {name: each for name, each in given.items() if not isinstance(each, Walk)}  # of tiles
            given |= {"addresses": Beats(declared.loads), "tiles": Stored()}
        if declared.applied is not None and "initial" in given:
            given["initial"] = Literal(items_of(given["initial"]))
        parameters = tuple((name, _plain(value, link)) for name, value in sorted(given.items()))
        rows = max((each.most_rows for each in reads), default=0)
        latency = declared.cycles(link, rows, carries=any(each.items for each in writes))
        return cls(declared.machine, parameters, reads, writes, latency)

    @property
    def execution(self) -> Execution:
        """The rule executed."""
        return executed(self.machine, self.parameters, self.reads, self.writes)  # type: ignore[arg-type]

    held = property(lambda self: tuple(sorted(self.execution.held)))

    @property
    def offsets(self) -> tuple[int, ...]:
        rows = max((each.most_rows for each in self.reads), default=0)
        return tuple(each.at(rows) for each in self.execution.offsets)

    @property
    def is_stamped(self) -> bool:
        """Whether the latency of what goes out follows from the rows of tiles of dynamic size."""
        return any(each.rows for each in self.execution.offsets) and self.latency > 0

    def fire(self, m: Module, firing: Firing) -> None:
        Writing(self.execution, m, firing).write()


@dataclass(frozen=True)
class Applying(Translated):
    """A rule whose values go through ``datapath``, and that takes as long as this does.

    Unless the datapath takes words as they come, they are gathered; it starts with the last one, and its result goes
    out word by word. A result that is control goes into the header, which waits for it. Where nobody reads it, there
    is no datapath, and only control passes.

    Tiles of dynamic size take as long as their rows do (`pace`); one without rows starts nothing.
    """

    datapath: Datapath | None = None

    result = property(lambda self: self.writes[0])

    @property
    def numbers(self) -> dict[str, Any]:
        """Parameters other than the defaults, with the initial state only where it goes out."""
        defaults, initial = {each.name: each.default for each in fields(self.machine)}, self.execution.initial
        given = {name: each for name, each in super().numbers.items() if each != defaults.get(name)}
        plain = {name: each for name, each in given.items() if not callable(each) and name != "initial"}
        return {**plain, "initial": initial.items or None, "datapath": self.datapath}

    def pace(self, rows: Any) -> UnitPlan:
        """Cycles of a firing with tiles of so many ``rows``, where these are dynamic."""
        dynamic, plan = self.result.most_rows > 0, self.datapath and self.datapath.plan
        *operands, result = (each.words_of(rows) if dynamic else each.cycles for each in (*self.reads, self.result))
        timing = plan.at(rows) if plan and dynamic else plan
        return UnitPlan(timing, tuple(operands), result, self.result.control, self.applied.stored)

    @property
    def plan(self) -> UnitPlan:
        """Cycles of a firing; of tiles of dynamic size those with the most rows."""
        return self.pace(self.result.most_rows)

    @property
    def is_stamped(self) -> bool:
        """Whether the latency of a result follows from its rows."""
        return not isinstance(self.pace(Signal(range(self.result.most_rows + 1))).latency, int)

    initiation_interval = property(lambda self: self.plan.initiation_interval)
    latency = property(lambda self: self.plan.latency)
    burst = property(lambda self: self.plan.burst)

    @property
    def applied(self) -> Applied:
        """The function."""
        return next(each for _, each in self.parameters if isinstance(each, Applied))

    @property
    def execution(self) -> Execution:
        """The rule executed."""
        parameters = (*self.parameters, ("burst", self.burst))
        return executed(self.machine, parameters, self.reads, self.writes)  # type: ignore[arg-type]

    def fire(self, m: Module, firing: Firing) -> None:
        Application(self.execution, m, firing).write()


def translated(node: Node, netlist: Netlist) -> Unit:
    """The hardware of ``node``, whose operator declares its rule; raises `HardwareError` where there is none."""
    declared = declared_rule(node)
    assert declared is not None
    given = declared, input_formats(node, netlist), output_formats(node, netlist), netlist.rows_from(node)
    rule = Translated.of(*given)
    if declared.applied is not None:
        reads = any(each.items for each in rule.writes)
        rule = replace(Applying.of(*given), datapath=datapath_of(node, netlist) if reads else None)
    slots = [netlist.slots(behind) for behind in netlist.outputs(node) if behind is not None]
    return Unit(rule, max(slots) if rule.is_stamped else 0)


def _plain(value: Any, link_bytes: int) -> Any:
    """A parameter as hardware has it: an item is where it begins in a tuple, other functions are names."""
    if isinstance(value, Applied | Distinct | Stops | Beats | Stored):
        return value
    if isinstance(value, Listed):
        if isinstance(value.values, range) and len(value.values) > 1:
            return Listing(value.values)
        return Listing(tuple(Literal(items_of(value(number))) for number in range(len(value.values))))
    if isinstance(value, SideBySide):
        return side_by_side.__name__
    if isinstance(value, Item):
        return Arriving((), value.first(link_bytes))
    plain = _is_plain(value) or isinstance(value, Literal)
    return value if plain else value.__name__ if callable(value) else Literal(items_of(value))


def _is_plain(value: Any) -> bool:
    """Whether ``value`` is an integer, a tuple of integers or of such tuples."""
    return isinstance(value, int) or (isinstance(value, tuple) and all(map(_is_plain, value)))
