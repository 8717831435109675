"""Datapaths of arithmetic of single scalars."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from amaranth.hdl import C, Module, Mux, Signal, Value

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import as_fp32, as_integer, converted, is_nan, ordered
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.integer_multiply import IntegerMultiply
from hw.arithmetic.staged import Staged, placed
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.sequence import later
from hw.functions.vector import Lane, vector_datapath
from step.functions.elementwise import Add, Max, Min, Mul, MulAdd, Scale, Sub
from step.language.dtypes import BF16, FP32, DType
from step.language.function import Function
from step.language.numerics import fp32_bits
from step.lowering.plans.plan import Application
from step.lowering.plans.vector import VectorPlan


def datapath(function: Function, application: Application, plan: VectorPlan) -> Datapath:
    """The datapath for tiles, on `vector_lanes` lanes of the kind that `LANES` has for ``function``.

    The same under ``arithmetic="model"``.
    """
    if type(function) not in LANES:
        raise no_datapath(function)
    return vector_datapath(LANES[type(function)], function, application, plan)


class ArithmeticLane(Lane):
    """A function of scalars in FP32, then rounded to ``out``, or of integers, whose lowest bits ``out`` keeps."""

    @property
    def operation_depth(self) -> int:
        """Registers between operands and the result in FP32, or that of integers."""
        return 0

    @property
    def depth(self) -> int:
        return self.operation_depth + (self.out is BF16)

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        """Place what is called ``name``; returns its result."""
        if not self.out.is_float:
            signed = [as_integer(each, dtype) for each, dtype in zip(operands, self.formats, strict=True)]
            lowest = Signal(self.out.bits, name=f"{name}_lowest")
            m.d.comb += lowest.eq(self.integers(m, name, *signed))
            return lowest
        result = self.compute(m, name, *operands)
        if self.out is FP32:
            return result
        return converted(m, f"{name}_round", later(m, result, 1, f"{name}_result"), FP32, self.out)

    @abc.abstractmethod
    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        """Place what is called ``name``; returns its result in FP32, for operands in their formats."""

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        """The same for integers, signed where their format is; of the result the lowest bits count."""
        raise NotImplementedError


class LeafLane(ArithmeticLane):
    """A function of which the FP32 form is one piece of arithmetic."""

    @property
    @abc.abstractmethod
    def leaf(self) -> Staged:
        """It; its inputs are the operands, in FP32 or as narrow as they are."""

    @property
    def operation_depth(self) -> int:
        return self.leaf.depth if self.out.is_float else 0

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        leaf = self.leaf
        widths = [len(getattr(leaf, port)) for port in leaf.operands]
        wide = [
            value if len(value) == width else as_fp32(value, dtype)
            for value, dtype, width in zip(operands, self.formats, widths, strict=True)
        ]
        return placed(m, name, leaf, *wide)


class AddLane(LeafLane):
    """The sum."""

    @property
    def leaf(self) -> Staged:
        return Fp32Add(self.stages)

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = operands
        return first + second


class SubLane(AddLane):
    """The sum with the negated second operand."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = operands
        return super().compute(m, name, first, second ^ (1 << len(second) - 1))

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = operands
        return first - second


class MulLane(LeafLane):
    """The product; of two BF16 numbers it is exact, and takes a smaller multiplier."""

    @property
    def leaf(self) -> Staged:
        return multiplier(self.formats[:2], self.out, self.stages)

    @property
    def operation_depth(self) -> int:
        return self.leaf.depth

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        return placed(m, name, self.leaf, *operands)


def multiplier(formats: tuple[DType, ...], out: DType, stages: int) -> Staged:
    """The multiplier of two scalars of ``formats``: to FP32, or to an integer format ``out``."""
    if not out.is_float:
        first, second = formats
        return IntegerMultiply(first, second, out, stages)
    return (Bf16Multiply if {*formats} == {BF16} else Fp32Multiply)(stages)


class ScaleLane(ArithmeticLane):
    """The product with a constant."""

    @property
    def leaf(self) -> Staged:
        """The multiplier, for two numbers in the operand's format or in FP32."""
        return Fp32Multiply(self.stages) if self.out.is_float else multiplier(2 * self.formats, self.out, self.stages)

    @property
    def operation_depth(self) -> int:
        return self.leaf.depth

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        (value,) = operands
        assert isinstance(self.function, Scale)
        return placed(m, name, self.leaf, as_fp32(value, self.formats[0]), C(fp32_bits(self.function.constant), 32))

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        (value,) = operands
        assert isinstance(self.function, Scale)
        return placed(m, name, self.leaf, value, C(int(self.function.constant), value.shape()))


class MulAddLane(ArithmeticLane):
    """A product, a register, and the sum with the third operand."""

    @property
    def _multiplier(self) -> Staged:
        return multiplier(self.formats[:2], self.out, self.stages)

    @property
    def operation_depth(self) -> int:
        return self._multiplier.depth + 1 + (Fp32Add(self.stages).depth if self.out.is_float else 0)

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        multiply = self._multiplier
        factors = [
            value if len(value) == len(port) else as_fp32(value, dtype)
            for value, dtype, port in zip(operands, self.formats, (multiply.first, multiply.second), strict=False)
        ]
        product = later(m, placed(m, f"{name}_product", multiply, *factors), 1, f"{name}_product_out")
        third = later(m, operands[2], multiply.depth + 1, f"{name}_third")
        return placed(m, name, Fp32Add(self.stages), product, as_fp32(third, self.formats[2]))

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        multiply = self._multiplier
        product = later(m, placed(m, name, multiply, *operands[:2]), 1, f"{name}_product")
        return product + later(m, operands[2], multiply.depth + 1, f"{name}_third")


class MaxLane(ArithmeticLane):
    """The larger one; with the sign turned into an order, flushed numbers compare like integers, NaN above all."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = in_fp32(m, name, operands, self.formats)
        return Mux(ordered(first) > ordered(second), first, second)

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = operands
        return Mux(first > second, first, second)


class MinLane(ArithmeticLane):
    """The smaller one, or NaN."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = in_fp32(m, name, operands, self.formats)
        return Mux(is_nan(first) | ((ordered(first) < ordered(second)) & ~is_nan(second)), first, second)

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = operands
        return Mux(first < second, first, second)


def in_fp32(m: Module, name: str, operands: Sequence[Value], formats: Sequence[DType]) -> list[Value]:
    """Operands in FP32, flushed, and NaN canonical."""
    pairs = enumerate(zip(operands, formats, strict=True))
    return [converted(m, f"{name}_operand{port}", value, dtype, FP32) for port, (value, dtype) in pairs]


LANES: dict[type[Function], type[Lane]] = {
    Add: AddLane,
    Max: MaxLane,
    Min: MinLane,
    Mul: MulLane,
    MulAdd: MulAddLane,
    Scale: ScaleLane,
    Sub: SubLane,
}
