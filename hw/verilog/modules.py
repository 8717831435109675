"""Modules that are converted once and instantiated many times, and what they are called.

Amaranth emits one Verilog module per *instance*. `Shared` wraps a component so that, when Verilog is written
through a `hw.verilog.convert.ModuleLibrary`, every distinct component becomes one module however often it is used;
elaborated without a library (Amaranth's own simulator) it is an ordinary submodule.

A name says what a module is, and by which numbers it differs from others. It is a function of the component alone, the
same in every design. Where it can not say all that makes the component, a digest of that follows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property
from inspect import signature
from itertools import groupby
from typing import Any, ClassVar, Self

from amaranth.hdl import ClockSignal, Elaboratable, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.verilog.digits import any_length
from step.language.dtypes import DType
from step.lowering.plans.words import Words

LONGEST = 60
"""Characters of a name."""

USUAL_LINK = 512
"""Bits of a link that need not be said."""

UNITS = {f"_{each}": each for each in ("bits", "bytes", "cycles", "tokens", "tiles")}
"""Ends of the names of parameters, and what these are counted in."""


@dataclass(frozen=True)
class Spelling:
    """The words of a name; ``whole``: of two values of one type that differ, they differ too."""

    pieces: tuple[str, ...] = ()
    whole: bool = True

    def __add__(self, other: Spelling) -> Spelling:
        return Spelling(self.pieces + other.pieces, self.whole and other.whole)

    @classmethod
    def some(cls, *pieces: str) -> Spelling:
        """Words that do not say all; those that are empty are left out."""
        return cls(tuple(filter(None, pieces)), whole=False)


def snake_case(name: str) -> str:
    """``name``, in camel case, as Verilog has it."""
    return re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower()


def named(stem: str, words: Spelling, key: str) -> str:
    """The name of what ``stem`` (in camel case) says, and ``words``; ``key`` is all that makes it."""
    start = snake_case(stem)
    whole = "_".join([start, *words.pieces])
    if words.whole and len(whole) <= LONGEST:
        return whole
    digest = hashlib.sha256(key.encode()).hexdigest()[:8]
    name = start
    for piece in words.pieces:
        if len(name) + len(piece) + len(digest) + 2 <= LONGEST:
            name = f"{name}_{piece}"
    return f"{name}_{digest}"


def spelled(parameters: Mapping[str, Any]) -> Spelling:
    """The words of all ``parameters``; what is False or None is left out."""
    return sum((_parameter(name, value) for name, value in parameters.items()), Spelling())


def _parameter(name: str, value: Any) -> Spelling:
    for end in UNITS:
        name = name.removesuffix(end)
    if value is None or value is False:
        return Spelling()
    if value is True:
        return Spelling((name,))
    if isinstance(value, tuple) and value and all(type(each) is int and each >= 0 for each in value):
        return Spelling((name + "x".join(map(str, value)),))
    if isinstance(value, int) and value >= 0:
        return Spelling((f"{name}{value}",))
    if isinstance(value, DType):
        return Spelling((f"{name}_{str(value).lower()}",))
    if isinstance(value, str) and re.fullmatch("[a-z0-9]+", value):
        return Spelling((f"{name}_{value}",))
    found = words_of(value)
    return Spelling((name, *found.pieces), found.whole) if found.pieces else found


def words_of(value: Any) -> Spelling:
    """The words of a value that has its own: a component, a format, the words of a tile, a function."""
    if isinstance(value, Words):
        return Spelling((f"{value.rows}x{value.cols}", str(value.dtype).lower()), value.link_bits == USUAL_LINK)
    if isinstance(own := getattr(value, "spelling", None), Spelling):
        stem = getattr(value, "stem", None)
        return Spelling((snake_case(stem),)) + own if stem else own
    return Spelling(whole=False)


def stream_words(inputs: Sequence[Any], outputs: Sequence[Any]) -> Spelling:
    """The bits of values that come and go, and the ranks of their streams."""
    formats = [*inputs, *outputs]
    bits = [_runs(map(_bits, side)) for side in (inputs, outputs) if side]
    ranks = [str(getattr(each, "rank", 0)) for each in formats]
    rank = ranks[0] if len({*ranks}) == 1 else _runs(ranks)
    whole = all(getattr(each, "is_plain", False) for each in formats)
    links = {getattr(each, "link_bits", USUAL_LINK) for each in formats} or {USUAL_LINK}
    link = () if links == {USUAL_LINK} else (f"link{max(links)}",)
    return Spelling(("_to_".join(bits), f"rank{rank}", *link) if formats else (), whole and len(links) == 1)


def _runs(words: Iterable[str]) -> str:
    """The words, equal ones behind each other as one with their number."""
    runs = [(word, len(list(same))) for word, same in groupby(words)]
    return "_".join(word if count == 1 else f"{count}of{word}" for word, count in runs)


def _bits(format: Any) -> str:
    """The bits of a value of ``format``, each item's; 0 where there are only headers."""
    items = "x".join(map(str, getattr(format, "items", (format.word_bits,)))) or "0"
    return f"{items}c" if getattr(format, "control", False) else items


def tile_words(*tiles: Words) -> tuple[str, ...]:
    """Formats of scalars and shapes of ``tiles``, each format once."""
    dtypes = dict.fromkeys(str(each.dtype).lower() for each in tiles)
    return *dtypes, "_by_".join(f"{each.rows}x{each.cols}" for each in tiles)


def function_words(function: Any) -> tuple[str, ...]:
    """The name of ``function``, and its parameters that are numbers or words and not what they are by default."""
    found = [snake_case(type(function).__name__)]
    for each in fields(function) if is_dataclass(function) else ():
        value = getattr(function, each.name)
        if each.default is MISSING or value != each.default:
            found += _parameter(each.name, value).pieces
    return tuple(found)


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
