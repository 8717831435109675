"""Modules that are converted once and instantiated many times.

Amaranth emits one Verilog module per *instance*. `Shared` wraps a component so that, when Verilog is written
through a `ModuleLibrary`, every distinct component becomes one module however often it is used; elaborated
without a library (Amaranth's own simulator) it is an ordinary submodule.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Protocol

from amaranth.hdl import ClockSignal, Elaboratable, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In


class ModuleLibrary(Protocol):
    """Collects the distinct components that a design needs."""

    def require(self, component: Parametric) -> str:
        """Note that ``component`` is needed; returns the name of its Verilog module."""
        ...


class Parametric(wiring.Component):
    """A component that is determined by its class and `parameters`, and so can be shared.

    ``clocked`` is False for purely combinational components, which have no clock and reset.
    """

    clocked = True

    _MustUse__silence = (
        True  # made to be asked for its name and ports, and often not elaborated: Amaranth need not warn
    )

    @property
    def parameters(self) -> tuple[Any, ...]:
        """All that distinguishes this component from others of its class; reprs must be stable."""
        raise NotImplementedError

    @property
    def stem(self) -> str:
        """What the component is, in camel case."""
        return type(self).__name__

    @property
    def module_name(self) -> str:
        """Name of the Verilog module: the stem, and a digest of the parameters."""
        stem = re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", self.stem).lower()
        digest = hashlib.sha256(repr(self.parameters).encode()).hexdigest()[:8]
        return f"{stem}_{digest}"


class Shared(wiring.Component):
    """One use of a `Parametric` component, with the same ports."""

    _MustUse__silence = True  # may be made for the latency of what is inside

    def __init__(self, component: Parametric) -> None:
        self._component = component
        super().__init__(component.signature)

    def elaborate(self, platform: Any) -> Elaboratable:
        if not hasattr(platform, "require"):
            m = Module()
            m.submodules.shared = component = self._component
            for path, member, value in self.signature.flatten(self):
                inner: Any = component
                for step in path:
                    inner = inner[step] if isinstance(step, int) else getattr(inner, step)
                m.d.comb += inner.eq(value) if member.flow is In else value.eq(inner)
            return m
        ports: dict[str, Any] = {}
        for path, member, value in self.signature.flatten(self):
            direction = "i" if member.flow is In else "o"
            if len(Value.cast(value)) > 0:
                ports[f"{direction}_{'__'.join(str(step) for step in path)}"] = value
        if self._component.clocked:
            ports |= {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        return Instance(platform.require(self._component), **ports)
