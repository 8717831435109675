"""Datapaths of functions of single scalars."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from amaranth.hdl import Module, Value

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import Convert, as_fp32
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.model import DatapathModel
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.vector import Lane, VectorDatapath, vector_datapath
from hw.layout import pack_element
from hw.shared import Parametric, Shared
from step.functions.elementwise import Add, Cast, Mul
from step.language.dtypes import BF16, FP32, DType
from step.language.function import AccumFunction, Function
from step.language.types import Tile
from step.lowering.application import Application


def datapath(function: Function, application: Application) -> Datapath:
    """The datapath for tiles, on `vector_lanes` lanes of the kind that `LANES` has for ``function``."""
    if type(function) not in LANES:
        raise no_datapath(function)
    identity = None
    if application.reduce:
        assert isinstance(function, AccumFunction) and isinstance(application.result, Tile)
        scalar = Tile(application.result.dtype)
        identity = pack_element(function.initial(scalar), scalar)
    rtl = vector_datapath(LANES[type(function)], application, identity)
    lane = rtl.lane
    modelled = application.fabric.arithmetic == "model" and not application.reduce
    return BinaryModel(rtl, lane.model) if modelled and isinstance(lane, BinaryLane) and lane.model else rtl


@dataclass(frozen=True)
class ConvertLane(Lane):
    """A scalar in another format."""

    source: DType
    out: DType

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

    model: ClassVar[str | None] = None
    """Its name among the lanes of ``model.cpp``; without one, ``arithmetic="model"`` simulates the RTL."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        result = self.compute(m, name, *operands)
        return result if self.out is FP32 else ConvertLane(FP32, self.out).connect(m, f"{name}_round", [result])

    @abc.abstractmethod
    def compute(self, m: Module, name: str, first: Value, second: Value) -> Value:
        """Place what is called ``name``; returns its result in FP32."""


def _leaf(m: Module, name: str, component: Parametric, first: Value, second: Value) -> Value:
    """The result of a component with two operands."""
    m.submodules[name] = unit = Shared(component)
    m.d.comb += [unit.first.eq(first), unit.second.eq(second)]
    result: Value = unit.result
    return result


class AddLane(BinaryLane):
    """The sum."""

    model = "add"

    def compute(self, m: Module, name: str, first: Value, second: Value) -> Value:
        return _leaf(m, name, Fp32Add(), as_fp32(first, self.first), as_fp32(second, self.second))


class MulLane(BinaryLane):
    """The product; of two BF16 numbers it is exact, and takes a smaller multiplier."""

    model = "multiply"

    def compute(self, m: Module, name: str, first: Value, second: Value) -> Value:
        if self.first is BF16 and self.second is BF16:
            return _leaf(m, name, Bf16Multiply(), first, second)
        return _leaf(m, name, Fp32Multiply(), as_fp32(first, self.first), as_fp32(second, self.second))


LANES: dict[type[Function], type[Lane]] = {Add: AddLane, Cast: ConvertLane, Mul: MulLane}
"""A lane is made for the formats of its operands, and that of the result."""


class BinaryModel(DatapathModel):
    """The simulation-only function of two tiles that is called ``lane`` in ``model.cpp``."""

    imported = (
        "step_vector(input string lane, input int rows, input int cols,"
        " input int first_rows, input int first_cols, input int first_width,"
        " input int second_rows, input int second_cols, input int second_width, input int width,"
        " input bit [31:0] first[], input bit [31:0] second[], inout bit [31:0] result[])"
    )

    def __init__(self, rtl: VectorDatapath, lane: str) -> None:
        super().__init__(rtl)
        self.rtl: VectorDatapath = rtl
        self.lane = lane

    @property
    def call(self) -> str:
        shape = self.rtl.shape
        operands = "".join(f"{each.rows}, {each.cols}, {each.dtype.bits}, " for each in self.rtl.operands)
        return (
            f'step_vector("{self.lane}", {shape.rows}, {shape.cols}, {operands}{shape.dtype.bits},'
            " operand0_words, operand1_words, result_words)"
        )
