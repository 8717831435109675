"""Operators: the base class, and what an operator says about itself.

An operator is a frozen dataclass in a file of its own in `step.ops`; its fields are its parameters. It states its shape
rule (`infer`) and metrics, and its meaning (`process`) where its rule in ``step/rules`` is not that, or there is none.
``hw/units`` has its RTL, ``sim_approx/units`` its times, where the rule is not all of them.
"""

from __future__ import annotations

import abc
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol

import sympy

from step.errors import expect
from step.host.extensions import register, registered
from step.language.arguments import CheckedABC
from step.language.dims import Shape, element_count, format_shape, if_equal
from step.language.faults import Fault
from step.language.function import Function
from step.language.names import Names
from step.language.padding import UNKNOWN, Padding, has_padding
from step.language.parameters import settle_parameters
from step.language.surroundings import Surroundings
from step.language.tokens import Token
from step.language.types import ElementType, Tile

OPERATORS: dict[str, type[Operator]] = {}

Accounting = Literal["paper", "artifact"]
"""Which on-chip accounting: the paper's equations, or that of the published figures."""

Process = Generator[int | tuple[int, ...], Token, None]
"""Meaning of an operator: yields the port it wants a token of, or several (`Surroundings.port`); is sent the token."""


@dataclass(frozen=True)
class StreamType:
    """Element type and shape (outermost dimension first) of a stream."""

    element: ElementType
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape) - 1

    @property
    def count(self) -> sympy.Expr:
        """||x||: number of elements."""
        return element_count(self.shape)

    @property
    def bytes(self) -> sympy.Expr:
        """||x|| * |element|."""
        return self.count * self.element.bytes

    def __str__(self) -> str:
        return f"{format_shape(self.shape)} of {self.element}"


class Placed(Protocol):
    """The place of an operator in a graph."""

    @property
    def input_types(self) -> tuple[StreamType, ...]:
        """Types of the streams that it reads."""

    @property
    def output_types(self) -> tuple[StreamType, ...]:
        """Types of the streams that it writes."""


@dataclass(frozen=True)
class Access:
    """The off-chip memory of an operator: a region of ``tiles`` times ``tile``, through a port of its own.

    ``tiles`` is None where only the run tells how many. ``tensor`` is the declared tensor that is there before the run;
    one that is written has one region, for all that read or write it. ``port`` is the input whose values are written;
    ``acknowledged``: the operator is told when a write is visible.
    """

    tile: Tile
    tiles: int | None
    tensor: str | None = None
    port: int = 0
    acknowledged: bool = False


class Operator(metaclass=CheckedABC):
    """Base of all operators; subclasses register themselves under the name of their file.

    A name with an underscore in front is that of a base of several operators.
    What back ends have to know of an operator it says here, so that none of them asks for it by name.
    """

    name: ClassVar[str]
    ends_run: ClassVar[bool] = False
    """Tokens of the operator leave the program (see `Surroundings.collect`): a run goes on until it handled Done."""

    hands_out: ClassVar[bool] = False
    """Input 0 leaves the fabric through a port that carries the stream itself."""

    fills_buffers: ClassVar[bool] = False
    """Input 0 fills buffers in on-chip memory, and output 0 refers to them."""

    reads_buffers: ClassVar[bool] = False
    """Input 0 refers to buffers in on-chip memory, which are read."""

    inserted: ClassVar[bool] = False
    """The compiler places it; no program has it."""

    function: Function | None = None
    """Function that the operator applies; one that needs it declares ``function: MapFunction = field()``."""

    reduces: ClassVar[bool] = False
    """The operator keeps a state for its function, which is a reduction."""

    control: ClassVar[tuple[int, ...]] = ()
    """Inputs whose values decide what the operator does, unless `decides_on` says it."""

    data: ClassVar[tuple[int, ...] | None] = None
    """Inputs of whose values those of all outputs are made, unless `passes_on` says it; None: all of them."""

    output_names: ClassVar[tuple[str, ...]] = ("",)
    """Suffix of each output's name; operators with a varying number of outputs override `outputs`."""

    optional_outputs: ClassVar[tuple[str, ...]] = ()
    """Outputs that may stay unread without a warning."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            cls.name = cls.__module__.rpartition(".")[2]
            register(OPERATORS, cls.name, cls, "the operator")

    def __post_init__(self) -> None:
        settle_parameters(self)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Suffixes of the outputs' names."""
        return self.output_names

    @property
    def below(self) -> Mapping[int, int]:
        """Inputs with numbers that are out of range unless they are below a bound, and this, by port."""
        return {}

    @abc.abstractmethod
    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        """Types of the outputs; raises `TypeMismatch` where the inputs do not fit."""

    def process(self, node: Any, around: Surroundings) -> Process:
        """The meaning: a sequential process over tokens, ending after Done; by default the rule, without its time."""
        return import_module("step.firing.untimed").process(node, around)  # of a later room

    def fault_ports(self, fault: Fault, inputs: int) -> tuple[int, ...]:
        """Ports among ``inputs`` that have a say in ``fault``; their tokens stand in the error."""
        return tuple(self.decides_on(inputs) if fault is Fault.OUT_OF_RANGE else range(inputs))

    def fault_text(self, fault: Fault) -> str:
        """Meaning of ``fault`` here."""
        return self.function.out_of_range() if self.function and fault is Fault.OUT_OF_RANGE else fault.meaning

    def given(self) -> StreamType | None:
        """Type of the stream that a run is given under the node's name, and the operator plays; None: it plays none."""
        return None

    def makes_rows(self, node: Placed) -> bool:
        """Whether tiles of dynamic size begin here; all others that leave have the rows of one that came in."""
        return False

    def reads(self, node: Placed) -> Access | None:
        """The off-chip memory that the operator reads."""
        return None

    def writes(self, node: Placed) -> Access | None:
        """The off-chip memory that the operator writes; without a tensor, tile by tile from the region's begin on."""
        return None

    def arrival_ports(self, inputs: int) -> Sequence[int]:
        """Ports among ``inputs`` that are taken in the order in which their tokens arrive."""
        return ()

    def decides_on(self, inputs: int) -> Sequence[int]:
        """Ports among ``inputs`` whose values decide what the operator does."""
        return self.function.indices if self.function else self.control

    def counts_rows(self, node: Placed) -> Sequence[int]:
        """Inputs whose tiles have a dynamic number of rows, which say how much leaves."""
        return ()

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        """Ports among ``inputs`` of whose values the values of ``output`` are made."""
        return range(inputs) if self.data is None else self.data

    def off_chip_bytes(self, node: Placed) -> sympy.Expr:
        """Off-chip traffic in bytes: of all tiles that come out of what it reads, and that go into what it writes."""
        read, written = self.reads(node), self.writes(node)
        streams = [] if read is None else [node.output_types[0]]
        streams += [] if written is None else [node.input_types[written.port]]
        return sympy.Add(*(each.bytes for each in streams))

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        """On-chip memory in bytes, channels not counted.

        Of what reads or writes off-chip memory one tile is on its way while the other one is used; the published
        figures count one.
        """
        access = self.reads(node) or self.writes(node)
        return sympy.Integer(0) if access is None else (2 if accounting == "paper" else 1) * access.tile.bytes

    def flops(self, node: Placed) -> sympy.Expr:
        """Floating-point operations."""
        return sympy.Integer(0)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        """Padding of each output, for ``inputs`` with padding; by default nobody knows."""
        sources = (self.passes_on(len(inputs), output) for output in range(len(node.output_types)))
        return tuple(
            UNKNOWN if self.reads(node) is None and any(has_padding(inputs[port]) for port in ports) else None
            for ports in sources
        )

    def useful_flops(self, node: Placed, inputs: Sequence[Padding]) -> sympy.Expr | None:
        """Operations on rows that are data, of ``inputs`` with padding; None where nobody knows."""
        return None


def each_input(node: Placed) -> Generator[int, Token, list[Token]]:
    """Part of a process: one token of every input, in the order of the ports."""
    tokens = []
    for port in range(len(node.input_types)):
        tokens.append((yield port))
    return tokens


def operator_named(name: str) -> type[Operator]:
    """The operator class called ``name``; raises `FormatError` for any other text."""
    return registered(OPERATORS, name, "step.ops", "op")


def expect_rank(value: int, least: int, most: int, what: str = "rank") -> None:
    """Raise `TypeMismatch` unless ``least <= value <= most``."""
    expect(least <= most, f"{what} must be at least {least}, but this stream allows at most {most}")
    expect(least <= value <= most, f"{what} must be {least} to {most} here, not {value}")


def expect_same_shape(inputs: tuple[StreamType, ...]) -> Shape:
    """The common shape of ``inputs``; raises `TypeMismatch` where they differ."""
    for position, each in enumerate(inputs[1:], start=1):
        expect(
            each.shape == inputs[0].shape,
            f"inputs must have the same shape, but input 0 is {format_shape(inputs[0].shape)} "
            f"and input {position} is {format_shape(each.shape)}{if_equal(inputs[0].shape, each.shape)}",
        )
    return inputs[0].shape
