"""Modules that are converted once and instantiated many times.

Amaranth emits one Verilog module per *instance*. `Shared` wraps a component so that, when Verilog is written
through a `hw.verilog.convert.ModuleLibrary`, every distinct component becomes one module however often it is used;
elaborated without a library (Amaranth's own simulator) it is an ordinary submodule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar, Self

from amaranth.hdl import ClockSignal, Elaboratable, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.verilog.digits import any_length
from hw.verilog.spelling import Spelling, named, spelled


class Parametric(wiring.Component):
    """A component that is determined by its class and `parameters`, and so can be shared.

    ``clocked`` is False for purely combinational components, which have no clock and reset.
    """

    clocked = True

    simulated: ClassVar[bool] = False
    """Whether its Verilog is for simulation only, beside other sources of the design."""

    far = False  # whether wires to and from it are long, so that flags that others see are registers
    _MustUse__silence = True  # made for its name and ports, and often not elaborated: Amaranth need not warn

    def __new__(cls, *args: Any, **others: Any) -> Self:
        component: Self = super().__new__(cls, *args, **others)
        bound = signature(cls.__init__).bind(component, *args, **others)
        bound.apply_defaults()
        component._given = dict([*bound.arguments.items()][1:])
        return component

    def at_distance(self, far: bool) -> Self:
        """This with or without registers for long wires (`far`)."""
        self.far = far
        return self

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """All that distinguishes this component from others of its class, by name: what it was made of.

        Reprs must be stable. A name ends in ``_bits``, ``_bytes`` or ``_cycles`` where that is the unit. They are in
        the module's comment.
        """
        return self._given

    @property
    def key(self) -> str:
        """The parameters as a text: what has equal ones, and one class, is equal."""
        with any_length():
            return repr({name: _stable(value) for name, value in self.parameters.items()}) + " far" * self.far

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
        return spelled(self.parameters)

    @property
    def generic(self) -> Parametric | None:
        """The module with parameters of which this is an instance (`as_generic`); None: it has a module of its own."""
        return None

    variables: Mapping[str, int] = {}
    """The numbers that are parameters of its Verilog, by their names there, and what they are in this sample."""
    expressions: Sequence[str] = ()
    """Numbers in its Verilog that depend on `variables`."""

    def as_generic(self, variables: Sequence[str], expressions: Sequence[str]) -> Self:
        """This as a sample of all that differ from it in ``variables``, which are names of `parameters`.

        Where its Verilog has the value of one of the ``expressions`` of them, that is meant. So values differ, unless
        either expression would do, and no other number is one of them.
        """
        self.variables = {_in_verilog(each): self.parameters[each] for each in variables}
        self.parameters = {name: each for name, each in self.parameters.items() if name not in variables}
        self.expressions = expressions
        return self

    @property
    def arguments(self) -> dict[str, int]:
        """The parameters of an instance of its module."""
        if self.generic is None:
            return {}
        named = {_in_verilog(name): each for name, each in self.parameters.items()}
        return {name: named[name] for name in self.generic.variables}

    @property
    def reference(self) -> str:
        """Start of an instance in Verilog."""
        arguments = ", ".join(f".{name}({value})" for name, value in self.arguments.items())
        return f"{self.generic.module_name} #({arguments})" if self.generic else self.module_name

    @property
    def module_name(self) -> str:
        """Name of the Verilog module."""
        return named(self.stem, self.spelling + spelled({"far": self.far}), self.key)

    @property
    def kind(self) -> type:
        """The class whose docstring says what the component is."""
        return type(self)

    @property
    def operands(self) -> list[str]:
        """The names of its inputs, in order."""
        return [name for name, member in self.signature.members.items() if member.flow is In]

    @property
    def folder(self) -> str:
        """Folder of the module: the room of its class."""
        floor, _, rest = type(self).__module__.partition(".")
        room = rest.partition(".")[0]
        return self.verilog_folder or (_FOLDERS.get(room, room) if floor == "hw" else "units")


def _in_verilog(name: str) -> str:
    return name.removesuffix("_tokens").upper()


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
            m.submodules.shared = self._component
            wiring.connect(m, wiring.flipped(self), self._component)
            return m
        ports: dict[str, Any] = {}
        for name, member, value in flat_ports(self):
            if len(Value.cast(value)) > 0:
                ports[f"{'i' if member.flow is In else 'o'}_{name}"] = value
        if self._component.clocked:
            ports |= {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        if platform.generic:
            ports |= {f"p_{name}": value for name, value in self._component.arguments.items()}
        return Instance(platform.require(self._component), **ports)


def flat_ports(component: wiring.Component) -> Iterator[tuple[str, Any, Any]]:
    """Name (as in Verilog), member and value of every port of ``component``."""
    for path, member, value in component.signature.flatten(component):
        yield "__".join(str(step) for step in path), member, value
