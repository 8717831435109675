"""Datapaths of arithmetic of single scalars."""

from __future__ import annotations

import abc
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.compare import Number, below, flushed
from hw.arithmetic.convert import as_fp32, as_integer, converted
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.integer_multiply import IntegerMultiply
from hw.arithmetic.staged import Staged, placed
from hw.functions.vector import Lane
from hw.primitives.timing import delayed
from step.functions.elementwise import Abs, Add, Clamp, Max, Min, Mul, MulAdd, Relu, Scale, Sub
from step.language.dtypes import BF16, FP32, DType
from step.language.function import Function
from step.language.numerics import fp32_bits


class ArithmeticLane(Lane):
    """A function of scalars in FP32, then rounded to ``out``, or of integers, whose lowest bits ``out`` keeps."""

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
        return converted(m, f"{name}_round", delayed(m, result, 1, f"{name}_result"), FP32, self.out)

    def multiplier(self, first: DType, second: DType) -> Staged:
        """The multiplier of two scalars of these formats: to FP32, or to the integer format ``out``."""
        if not self.out.is_float:
            return IntegerMultiply(first, second, self.out, self.stages)
        return (Bf16Multiply if {first, second} == {BF16} else Fp32Multiply)(self.stages)

    @abc.abstractmethod
    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        """Place what is called ``name``; returns its result in FP32, for operands in their formats."""

    integer: ClassVar[Callable[..., Value]]
    """The same of integers, signed where their format is, in wires; of the result the lowest bits count."""

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        """The same for integers, where it is placed, too."""
        return type(self).integer(*operands)


class LeafLane(ArithmeticLane):
    """A function of which the FP32 form is one piece of ``arithmetic``, made with the stages of the fabric."""

    arithmetic: ClassVar[Any]

    @property
    def leaf(self) -> Staged:
        """It; its inputs are the operands, in FP32 or as narrow as they are."""
        _out, *others = vars(self.function).values()
        return self.arithmetic(self.stages, *others)

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        return _placed(m, name, self.leaf, operands, self.formats)


def on_leaves(units: Mapping[type[Function], type[Staged]]) -> None:
    """Let functions have one piece of arithmetic on every lane."""
    for function, unit in units.items():
        type(f"{unit.__name__}Lane", (LeafLane,), {"arithmetic": unit}, of=function)


def _placed(m: Module, name: str, leaf: Staged, operands: Sequence[Value], formats: Sequence[DType]) -> Value:
    """Place ``leaf``; returns its result for ``operands``, in FP32 or as narrow as its inputs are."""
    wide = [
        value if len(value) == len(getattr(leaf, port)) else as_fp32(value, dtype)
        for value, dtype, port in zip(operands, formats, leaf.operands, strict=False)
    ]
    return placed(m, name, leaf, *wide)


class AddLane(LeafLane, of=Add):
    """The sum."""

    arithmetic = Fp32Add
    integer = staticmethod(operator.add)


class SubLane(AddLane, of=Sub):
    """The sum with the negated second operand."""

    integer = staticmethod(operator.sub)

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = operands
        return super().compute(m, name, first, second ^ (1 << len(second) - 1))


class MulLane(LeafLane, of=Mul):
    """The product; of two BF16 numbers it is exact, and takes a smaller multiplier."""

    @property
    def leaf(self) -> Staged:
        return self.multiplier(*self.formats[:2])

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        return placed(m, name, self.leaf, *operands)


class ScaleLane(ArithmeticLane, of=Scale):
    """The product with a constant."""

    function: Scale

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        constant = C(fp32_bits(self.function.constant), 32)
        return placed(m, name, Fp32Multiply(self.stages), as_fp32(operands[0], self.formats[0]), constant)

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        constant = C(int(self.function.constant), operands[0].shape())
        return placed(m, name, self.multiplier(*2 * self.formats), operands[0], constant)


class MulAddLane(ArithmeticLane, of=MulAdd):
    """A product, a register, and the sum with the third operand."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        multiply = self.multiplier(*self.formats[:2])
        product = _placed(m, f"{name}_product", multiply, operands[:2], self.formats)
        product = delayed(m, product, 1, f"{name}_product_out")
        third = delayed(m, operands[2], multiply.depth + 1, f"{name}_third")
        return placed(m, name, Fp32Add(self.stages), product, as_fp32(third, self.formats[2]))

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        multiply = self.multiplier(*self.formats[:2])
        product = delayed(m, placed(m, name, multiply, *operands[:2]), 1, f"{name}_product")
        return product + delayed(m, operands[2], multiply.depth + 1, f"{name}_third")


class MaxLane(ArithmeticLane, of=Max):
    """The larger one, +0 above -0, or NaN."""

    integer = staticmethod(lambda first, second: Mux(first > second, first, second))

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        first, second = numbers(m, name, operands, self.formats)
        at: Value = second.nan | (~first.nan & self.second(first, second))
        if self.stages > 4:
            at, *later = (delayed(m, each, 1, f"{name}_{what}") for what, each in enumerate((at, *operands)))
            first, second = numbers(m, f"{name}_later", later, self.formats)
        return flushed(m, name, at, first, second)

    def second(self, first: Number, second: Number) -> Value:
        """Whether it is the second one."""
        return below(first, second, same=C(0, 1), zeros=first.sign)


class MinLane(MaxLane, of=Min):
    """The smaller one, -0 below +0, or NaN."""

    integer = staticmethod(lambda first, second: Mux(first < second, first, second))

    def second(self, first: Number, second: Number) -> Value:
        return ~super().second(first, second)


class ChosenLane(ArithmeticLane):
    """The number or another one, that its own bits choose; what is subnormal is a zero, and NaN canonical."""

    def compute(self, m: Module, name: str, *operands: Value) -> Value:
        (value,) = numbers(m, name, operands, self.formats)
        return converted(m, f"{name}_flushed", Mux(value.nan, value.bits, self.chosen(m, name, value)), FP32, FP32)

    @abc.abstractmethod
    def chosen(self, m: Module, name: str, value: Number) -> Value:
        """The bits that leave for those of ``value``, which is no NaN."""


class ReluLane(ChosenLane, of=Relu):
    """The number, or +0 if it is below zero."""

    integer = staticmethod(lambda value: Mux(value < 0, 0, value))

    def chosen(self, m: Module, name: str, value: Number) -> Value:
        return Mux(value.sign & ~value.zero, 0, value.bits)


class AbsLane(ChosenLane, of=Abs):
    """The number without its sign."""

    integer = staticmethod(lambda value: Mux(value < 0, -value, value))

    def chosen(self, m: Module, name: str, value: Number) -> Value:
        return Cat(value.bits[:31], C(0, 1))


class ClampLane(ChosenLane, of=Clamp):
    """The number, or the limit that it is beyond."""

    function: Clamp

    def chosen(self, m: Module, name: str, value: Number) -> Value:
        bits = [C(int(each.view(np.uint32)), 32) for each in self.function.limits]
        low, high = (Number.of(m, f"{name}_limit{at}", each) for at, each in enumerate(bits))
        under, inside = (below(value, each, same=C(0, 1), zeros=value.sign) for each in (low, high))
        return Mux(under, low.bits, Mux(inside, value.bits, high.bits))

    def integers(self, m: Module, name: str, *operands: Value) -> Value:
        (value,), low, high = operands, int(self.function.low), int(self.function.high)
        return Mux(value >= high, high, Mux(value < low, min(low, high), value))


def numbers(m: Module, name: str, operands: Sequence[Value], formats: Sequence[DType]) -> list[Number]:
    """The operands as numbers in FP32."""
    wide = [as_fp32(value, dtype) for value, dtype in zip(operands, formats, strict=True)]
    return [Number.of(m, f"{name}_operand{port}", value) for port, value in enumerate(wide)]
