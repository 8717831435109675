"""Datapaths of functions of single scalars."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, Value

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import Convert, as_fp32
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.staged import Staged
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.sequence import later
from hw.functions.vector import Lane, vector_datapath
from hw.layout import pack_element
from hw.shared import Shared
from step.functions.elementwise import Add, Cast, Mul
from step.language.dtypes import BF16, FP32, DType
from step.language.function import AccumFunction, Function
from step.language.types import Tile
from step.lowering.application import Application


def datapath(function: Function, application: Application) -> Datapath:
    """The datapath for tiles, on `vector_lanes` lanes of the kind that `LANES` has for ``function``.

    The same under ``arithmetic="model"``.
    """
    if type(function) not in LANES:
        raise no_datapath(function)
    identity = None
    if application.reduce:
        assert isinstance(function, AccumFunction) and isinstance(application.result, Tile)
        scalar = Tile(application.result.dtype)
        identity = pack_element(function.initial(scalar), scalar)
    return vector_datapath(LANES[type(function)], application, identity)


@dataclass(frozen=True)
class ConvertLane(Lane):
    """A scalar in another format."""

    source: DType
    out: DType
    stages: int

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        m.submodules[name] = unit = Shared(Convert(self.source, self.out))
        m.d.comb += unit.value.eq(operands[0])
        return unit.result


@dataclass(frozen=True)
class BinaryLane(Lane):
    """A function of two scalars in FP32, then rounded to ``out``."""

    first: DType
    second: DType
    out: DType
    stages: int

    @property
    def operation_depth(self) -> int:
        """Registers between operands and the result in FP32."""
        return 0

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.operation_depth + (self.out is not FP32)

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        result = self.compute(m, name, *operands)
        if self.out is FP32:
            return result
        return ConvertLane(FP32, self.out, self.stages).connect(
            m, f"{name}_round", [later(m, result, 1, f"{name}_result")]
        )

    @abc.abstractmethod
    def compute(self, m: Module, name: str, first: Value, second: Value) -> Value:
        """Place what is called ``name``; returns its result in FP32."""


class LeafLane(BinaryLane):
    """A function that is one piece of arithmetic."""

    @property
    @abc.abstractmethod
    def leaf(self) -> Staged:
        """It, with the ports ``first``, ``second`` and ``result``."""

    @property
    def operation_depth(self) -> int:
        return self.leaf.depth

    def compute(self, m: Module, name: str, first: Value, second: Value) -> Value:
        m.submodules[name] = unit = Shared(self.leaf)
        for port, value, dtype in ((unit.first, first, self.first), (unit.second, second, self.second)):
            m.d.comb += port.eq(value if len(value) == len(port) else as_fp32(value, dtype))
        result: Value = unit.result
        return result


class AddLane(LeafLane):
    """The sum."""

    @property
    def leaf(self) -> Staged:
        return Fp32Add(self.stages)


class MulLane(LeafLane):
    """The product; of two BF16 numbers it is exact, and takes a smaller multiplier."""

    @property
    def leaf(self) -> Staged:
        return (Bf16Multiply if self.first is self.second is BF16 else Fp32Multiply)(self.stages)


LANES: dict[type[Function], type[Lane]] = {Add: AddLane, Cast: ConvertLane, Mul: MulLane}
"""A lane is made for the formats of its operands, that of the result, and `FabricConfig.stages`."""
