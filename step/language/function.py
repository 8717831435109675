"""Functions: what Map, Accum and FlatMap apply to elements.

A function is a frozen dataclass; its fields are its parameters and travel through JSON as they are. It has one
meaning, the NumPy code here in `step.functions`; the RTL of the same name in ``hw/functions`` equals it bit for
bit, and a plan in ``step/lowering/plans`` says how long it takes.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sympy

from step.errors import TypeMismatch
from step.host.extensions import register, registered
from step.language.arguments import CheckedABC
from step.language.dims import DimKind, Shape, dim, symbol
from step.language.dtypes import BF16, FP16, FP32, UINT32, DType
from step.language.faults import Fault
from step.language.parameters import settle_parameters
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Tile

FUNCTIONS: dict[str, type[Function]] = {}


class Sample(NamedTuple):
    """A use of a function: the function, and the types of its operands.

    Operands of which not every value is legal have one that makes such, by their port, in ``values``.
    """

    function: Function
    elements: tuple[ElementType, ...]
    values: Mapping[int, Callable[[Random], Any]] = MappingProxyType({})


TILES = "a sample takes tiles"
"""Said of other elements, which is no harm: the function is not used with them."""

NUMBER = Tile(UINT32)
"""The type of operands that count, or are an address."""


def below(count: int) -> Callable[[Random], Any]:
    """Makes a `NUMBER` from 0 to ``count`` - 1."""
    return lambda random: np.array([[random.randrange(count)]], np.uint32)


@dataclass(frozen=True)
class Function(metaclass=CheckedABC):
    """Base of all functions; subclasses register themselves under their name in snake case."""

    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith(f"{__package__}.") or cls.__name__.startswith("_"):
            return
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        register(FUNCTIONS, cls.name, cls, "the function")

    def __post_init__(self) -> None:
        settle_parameters(self)

    reads_operands: ClassVar[bool] = True
    """The result depends on the values of the operands, not only on their being there."""

    keeps_data: ClassVar[bool] = False
    """The result selects what is data, where the operand is the flag of padding that Reshape makes."""

    indices: ClassVar[tuple[int, ...]] = ()
    """Operands that are control, and are checked by their `bound`: else it is a fault.

    A number has to be below it, a selector has to have so many targets. The indices of a reduction differ as well.
    """

    def out_of_range(self) -> str:
        """The text for an operand of `indices` that is out of range."""
        raise NotImplementedError

    def bound(self, port: int, *inputs: ElementType) -> int:
        """The bound of the index at operand ``port``, for elements of these types."""
        raise NotImplementedError

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample | None:
        """A use by ``random``, of operands of which one is of ``element`` if the function takes that.

        By default without parameters, of one operand. What `result_type` does not take is no use, and no harm. It is
        a reduction (``reduce``) or not. Fuzzer and calibration read it, so each of the parameters should show.
        """
        return Sample(cls(), (element,))

    @property
    def family(self) -> str:
        """The file that holds this function, the same on every floor: ``matmul``, ``elementwise``, ..."""
        return type(self).__module__.rpartition(".")[2]

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        """Floating-point operations of one application to elements of these types; by default none."""
        return sympy.Integer(0)

    def operand_bytes(self, *inputs: ElementType) -> sympy.Expr:
        """On-chip bytes of the operands that one application holds, as the paper counts them."""
        return sympy.Integer(0)


def one_tile(
    function: Function, inputs: tuple[ElementType, ...], wanted: str, fits: Callable[[Tile], Any] = bool
) -> Tile:
    """The one tile among ``inputs``, if it ``fits``; raises `TypeMismatch` where it is not what is ``wanted``."""
    match inputs:
        case (Tile() as tile,) if fits(tile):
            return tile
    raise mismatch(function, wanted, inputs)


class MapFunction(Function):
    """A function of one or more elements that returns one element."""

    cost: ClassVar[int] = 0
    """FLOPs per scalar of the result."""

    def flops(self, *inputs: ElementType) -> sympy.Expr:
        result: Any = self.result_type(*inputs)
        return self.cost * result.elements if self.cost else super().flops(*inputs)

    @abc.abstractmethod
    def result_type(self, *inputs: ElementType) -> ElementType:
        """Type of the result; raises `TypeMismatch` where the inputs do not fit."""

    @abc.abstractmethod
    def apply(self, *values: Any) -> Any:
        """The result for these values: the definition that all back ends meet."""


class AccumFunction(Function):
    """A reduction: a state that every element updates, and that is the result."""

    @abc.abstractmethod
    def state_type(self, reduced: Shape, *inputs: ElementType) -> ElementType:
        """Type of the state; ``reduced`` are the dimensions that one reduction runs over (see `per_tensor`).

        Raises `TypeMismatch` where the inputs do not fit.
        """

    @abc.abstractmethod
    def initial(self, state: Any) -> Any:
        """The state before the first element, and the result of an empty reduction."""

    @abc.abstractmethod
    def update(self, state: Any, *values: Any) -> Any:
        """The state after one more element; does not change ``state`` in place."""


class FlatMapFunction(Function):
    """A function that turns an element, or several side by side, into a stream of rank `rank`."""

    rank: int

    @abc.abstractmethod
    def result_type(self, *inputs: ElementType) -> ElementType:
        """Type of the elements produced; raises `TypeMismatch` where the inputs do not fit."""

    @abc.abstractmethod
    def result_shape(self, *inputs: ElementType) -> Shape:
        """Shape of the stream that one element becomes (rank + 1 dimensions); `RUN_TIME` where only values say it."""

    @abc.abstractmethod
    def expand(self, *values: Any) -> Iterator[Token]:
        """The stream for one element, without Done; its last token carries a stop of level `rank`.

        No token at all is an empty stream.
        """


RUN_TIME = symbol("pieces", DimKind.RAGGED)
"""An extent that values say: every FlatMap that has it gets a symbol of its own for it."""


class CountedFunction(FlatMapFunction):
    """A function that becomes ``[1, pieces]``, the number of which its operands say.

    Operands and pieces are control (selectors, and tiles of one UINT32), so in hardware a counter makes them, one a
    cycle: see `hw.functions.wires`.
    """

    rank = 1

    fault: ClassVar[Fault | None] = None
    """Fault of impossible operands, which `pieces` raises as a `step.language.faults.Violation`."""

    @abc.abstractmethod
    def pieces(self, *values: Any) -> int:
        """Number of pieces; none is an empty row."""

    @abc.abstractmethod
    def piece(self, index: int, *values: Any) -> Any:
        """Piece ``index``."""

    def result_shape(self, *inputs: ElementType) -> Shape:
        return dim(1), RUN_TIME

    def expand(self, *values: Any) -> Iterator[Token]:
        pieces = [self.piece(index, *values) for index in range(self.pieces(*values))]
        yield from from_nested([pieces], 1)[:-1]


def function_named(name: str) -> type[Function]:
    """The function class called ``name``; raises `FormatError` for any other text."""
    return registered(FUNCTIONS, name, "step.functions", "function")


def mismatch(function: Function, wanted: str, inputs: tuple[ElementType, ...]) -> TypeMismatch:
    """The error of a function whose inputs do not fit: what it needs, and what it got."""
    got = ", ".join(str(each) for each in inputs) or "nothing"
    return TypeMismatch(f"{function.name} needs {wanted}, not {got}{_casting(function, inputs)}")


def _casting(function: Function, inputs: tuple[ElementType, ...]) -> str:
    """The advice to cast formats, where that is all that is wrong with ``inputs``."""
    formats = [each.dtype for each in inputs if isinstance(each, Tile)]
    stored = [each for each in formats if each.is_stored]
    for wide in (FP32, BF16) if FP16 in stored else (BF16, FP32) if stored else ():
        if _takes(function, _cast(inputs, stored, wide)):
            return f"; {stored[0]} is only stored: widen it, by .map(Cast({wide}))"
    if FP32 in formats and _takes(function, _cast(inputs, [FP32], BF16)):
        return "; FP32 becomes BF16 by .map(Cast(BF16)), or by out=BF16 where it is made"
    return ""


def _cast(inputs: Sequence[ElementType], old: Sequence[DType], new: DType) -> list[ElementType]:
    """``inputs`` with tiles of ``new`` for those of the formats ``old``."""
    return [
        Tile(new, each.rows, each.cols) if isinstance(each, Tile) and each.dtype in old else each for each in inputs
    ]


def _takes(function: Function, inputs: Sequence[ElementType]) -> bool:
    """Whether ``function`` takes elements of these types, in a reduction or not."""
    kinds: list[Callable[..., ElementType]] = []
    if isinstance(function, MapFunction | FlatMapFunction):
        kinds.append(function.result_type)
    if isinstance(function, AccumFunction):
        kinds.append(partial(function.state_type, ()))
    for type_of in kinds:
        with suppress(TypeMismatch):
            type_of(*inputs)
            return True
    return False


def wrong_parameter(function: Function, name: str, wanted: str, inputs: tuple[ElementType, ...]) -> TypeMismatch:
    """The error of a function whose parameter ``name`` does not fit its inputs: what it has to be for these."""
    of = ", ".join(str(each) for each in inputs)
    return TypeMismatch(f"{function.name} of {of} needs {name} to be {wanted}, not {getattr(function, name)!r}")
