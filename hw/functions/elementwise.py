"""Datapaths of functions of single scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from amaranth.hdl import Module, Value

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import Convert, as_fp32
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.model import DatapathModel
from hw.functions.datapath import Datapath
from hw.functions.vector import Lane, Operand, VectorDatapath
from hw.shared import Shared
from step.functions.elementwise import Add, Cast, Mul
from step.language.dtypes import BF16, FP32, DType
from step.language.function import Function
from step.language.types import ElementType
from step.lowering.fabric import FabricConfig


@singledispatch
def datapath(
    function: Function, inputs: tuple[ElementType, ...], result: ElementType, fabric: FabricConfig, *, reduce: bool
) -> Datapath:
    """The datapath for tiles of ``inputs``, on `vector_lanes` lanes."""
    raise NotImplementedError(function.name)


@datapath.register
def _(
    function: Cast, inputs: tuple[ElementType, ...], result: ElementType, fabric: FabricConfig, *, reduce: bool
) -> Datapath:
    operand, out = Operand.of(inputs[0]), Operand.of(result)
    return VectorDatapath(ConvertLane(operand.dtype, out.dtype), (operand,), out, fabric.vector_lanes, None)


@datapath.register(Add)
@datapath.register(Mul)
def _(
    function: Add | Mul, inputs: tuple[ElementType, ...], result: ElementType, fabric: FabricConfig, *, reduce: bool
) -> Datapath:
    operands, out = tuple(Operand.of(each) for each in inputs), Operand.of(result)
    formats = (out.dtype, operands[0].dtype) if reduce else (operands[0].dtype, operands[1].dtype)
    identity = None
    if reduce:
        identity = int.from_bytes(np.array(function.identity, out.dtype.numpy).tobytes(), "little")
    rtl = VectorDatapath(
        BinaryLane(isinstance(function, Mul), *formats, out.dtype), operands, out, fabric.vector_lanes, identity
    )
    return BinaryModel(rtl) if fabric.arithmetic == "model" and not reduce else rtl


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
    """Sum or product of two scalars in FP32, then rounded to ``out``."""

    product: bool
    first: DType
    second: DType
    out: DType

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        unit = Shared(Fp32Multiply() if self.product else Fp32Add())
        first, second = as_fp32(operands[0], self.first), as_fp32(operands[1], self.second)
        if self.product and self.first is BF16 and self.second is BF16:
            unit, first, second = Shared(Bf16Multiply()), operands[0], operands[1]
        m.submodules[name] = unit
        m.d.comb += [unit.first.eq(first), unit.second.eq(second)]
        if self.out is FP32:
            return unit.result
        return ConvertLane(FP32, self.out).connect(m, f"{name}_round", [unit.result])


class BinaryModel(DatapathModel):
    """The simulation-only sum or product of two tiles."""

    imported = (
        "step_vector(input int product, input int rows, input int cols,"
        " input int first_rows, input int first_cols, input int first_width,"
        " input int second_rows, input int second_cols, input int second_width, input int width,"
        " input bit [31:0] first[], input bit [31:0] second[], inout bit [31:0] result[])"
    )

    def __init__(self, rtl: VectorDatapath) -> None:
        super().__init__(rtl)
        self.rtl: VectorDatapath = rtl

    @property
    def call(self) -> str:
        lane, shape = self.rtl.lane, self.rtl.shape
        assert isinstance(lane, BinaryLane)
        operands = "".join(f"{each.rows}, {each.cols}, {each.dtype.bits}, " for each in self.rtl.operands)
        return (
            f"step_vector({int(lane.product)}, {shape.rows}, {shape.cols}, {operands}{shape.dtype.bits},"
            " operand0_words, operand1_words, result_words)"
        )
