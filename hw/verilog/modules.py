"""Modules that are converted once and instantiated many times.

Amaranth emits one Verilog module per *instance*. `Shared` wraps a component so that, when Verilog is written
through a `hw.verilog.convert.ModuleLibrary`, every distinct component becomes one module however often it is used;
elaborated without a library (Amaranth's own simulator) it is an ordinary submodule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from amaranth.hdl import ClockSignal, Elaboratable, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.verilog.naming import Spelling, named, spelled


class Parametric(wiring.Component):
    """A component that is determined by its class and `parameters`, and so can be shared.

    ``clocked`` is False for purely combinational components, which have no clock and reset.
    """

    clocked = True

    _MustUse__silence = (
        True  # made to be asked for its name and ports, and often not elaborated: Amaranth need not warn
    )

    parameters: Mapping[str, Any]
    """All that distinguishes this component from others of its class, by name; reprs must be stable.

    A name ends in ``_bits``, ``_bytes`` or ``_cycles`` where that is the unit. They are in the module's comment.
    """

    @property
    def key(self) -> str:
        """The parameters as a text: what has equal ones, and one class, is equal."""
        return repr({name: _stable(value) for name, value in self.parameters.items()})

    verilog_name: ClassVar[str] = ""
    """Name of the component in Verilog, in camel case, where that is not the name of its class."""
    verilog_folder: ClassVar[str] = ""
    """Folder of its module, where that is not the room of its class."""

    @property
    def stem(self) -> str:
        """Name of what the component is, in camel case."""
        return self.verilog_name or type(self).__name__

    @property
    def spelling(self) -> Spelling:
        """Words of the name of the module besides the stem."""
        return self.spell(self.parameters)

    def spell(self, parameters: Mapping[str, Any]) -> Spelling:
        """Words of a name about ``parameters``, which are all or some."""
        return spelled(parameters)

    @property
    def samples(self) -> tuple[Parametric, ...]:
        """Components from which this differs in numbers only; those that have the same samples are one module.

        These numbers, among `parameters`, are the parameters of that. None: this has a module of its own. Samples do
        not depend on its numbers, and differ so much that no formula holds for all of them by chance.
        """
        return ()

    @property
    def module_name(self) -> str:
        """Name of the Verilog module."""
        return named(self.stem, self.spelling, self.key)

    @property
    def kind(self) -> type:
        """The class whose docstring says what the component is."""
        return type(self)

    @property
    def folder(self) -> str:
        """Folder of the module: the room of its class."""
        floor, _, rest = type(self).__module__.partition(".")
        room = rest.partition(".")[0]
        return self.verilog_folder or (_FOLDERS.get(room, room) if floor == "hw" else "units")


def _stable(value: Any) -> Any:
    """A parameter, with components replaced by what identifies them."""
    return value.module_name if isinstance(value, Parametric) else value


_FOLDERS = {"links": "channels", "primitives": "firing"}
"""Folders that are not called as the room is."""


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
