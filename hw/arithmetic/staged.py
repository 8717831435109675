"""Arithmetic that is cut into stages."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric, Shared


def half(step: int) -> int:
    """The number of the middle of ``step`` among `Staged.cuts`."""
    return 100 + step


class Staged(Parametric):
    """A computation in steps, of which some have registers behind them; never the last one.

    ``stages`` says how finely it is cut: as `FabricConfig.stages` wants it, or as finely as it can be. The result is
    there ``depth`` cycles behind the operands.
    """

    cuts: ClassVar[tuple[tuple[int, ...], ...]]
    """The steps with registers behind them: for one stage, for two, .."""

    inputs: ClassVar[Mapping[str, int]] = {"value": 32}
    """Bits of its inputs, where its parameters say no others."""

    def __init__(self, stages: int, inputs: Mapping[str, int] | None = None, *, result: int = 32) -> None:
        self.stages = 1 + self.cuts.index(self.cuts[min(stages, len(self.cuts)) - 1])
        self.depth = len(self.cuts[self.stages - 1])
        self.clocked = self.depth > 0
        ports = self.inputs if inputs is None else inputs
        super().__init__({**{name: In(bits) for name, bits in ports.items()}, "result": Out(result)})
        self.parameters = {"stages": self.stages}

    @abc.abstractmethod
    def compute(self, m: Module) -> Value:
        """The result."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq(self.compute(m))
        return m

    def within(self, m: Module, step: int, **values: Value) -> Values:
        """``values`` as they are in the middle of ``step``: registers if there is a cut at `half` of it."""
        at = half(step)
        return self.behind(m, at, **values) if at in self.cuts[self.stages - 1] else Values(**values)

    def behind(self, m: Module, step: int, **values: Value) -> Values:
        """``values`` as they are behind ``step``: registers if there is a cut, else wires."""
        domain = m.d.sync if step in self.cuts[self.stages - 1] else m.d.comb
        signals = {}
        for name, value in values.items():
            signals[name] = Signal(value.shape(), name=f"{name}_{step}", reset_less=True)
            domain += signals[name].eq(value)
        return Values(**signals)


class Values(SimpleNamespace):
    """Values that a step hands to the next one, by name."""

    def only(self, *names: str) -> dict[str, Any]:
        """Some of it, to be handed on."""
        return {name: getattr(self, name) for name in names}


def placed(m: Module, name: str, leaf: Parametric, *operands: Value) -> Value:
    """Place ``leaf``, which has a result, as ``name``; returns that for ``operands``."""
    m.submodules[name] = unit = Shared(leaf)
    for port, value in zip(leaf.operands, operands, strict=True):
        m.d.comb += getattr(unit, port).eq(value)
    return unit.result
