"""Folds: the scalars of a row become one."""

from __future__ import annotations

import abc

from amaranth.hdl import C, Cat, Module, Mux, Value

from hw.arithmetic.convert import as_fp32, converted
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fused_sum import FusedNumbers
from hw.arithmetic.staged import placed
from hw.functions.order import ordered, scalar_of
from hw.primitives.timing import registered
from step.language.dtypes import FP32
from step.lowering.plans.row import RowPlan


class Fold(abc.ABC):
    """A way in which two scalars become one. All are of one format between `enter` and `leave`, of so many ``bits``.

    ``identity`` is the neutral element: it changes no scalar that it is joined with, once that has entered.
    """

    bits = 32
    identity = 0

    def __init__(self, plan: RowPlan) -> None:
        self.plan, self.source, self.out = plan, plan.tile.dtype, plan.result.dtype

    def enter(self, m: Module, name: str, scalar: Value, column: Value) -> Value:
        """A scalar of ``source``, in ``column``, in the format of the fold, without registers."""
        return scalar

    def gather(self, m: Module, name: str, scalars: list[Value]) -> Value:
        """One scalar of several, where so many become one at once."""
        raise NotImplementedError

    @abc.abstractmethod
    def join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        """One scalar of two."""

    def leave(self, m: Module, name: str, scalar: Value) -> Value:
        """A scalar in the format ``out``."""
        return scalar


class FloatSum(Fold):
    """The sum in FP32, which flushes what it takes."""

    identity = 1 << 31

    def enter(self, m: Module, name: str, scalar: Value, column: Value) -> Value:
        return as_fp32(scalar, self.source)

    def join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        return placed(m, name, Fp32Add(self.plan.stages), first, second)

    def leave(self, m: Module, name: str, scalar: Value) -> Value:
        if self.out is FP32:
            return scalar
        return converted(m, name, registered(m, scalar, name), FP32, self.out)


class FusedSum(FloatSum):
    """The sum in FP32, of which several terms are added at once."""

    def gather(self, m: Module, name: str, scalars: list[Value]) -> Value:
        return placed(m, name, FusedNumbers(self.plan.terms, self.plan.stages), Cat(scalars))


class IntegerSum(Fold):
    """The sum, which wraps around."""

    def enter(self, m: Module, name: str, scalar: Value, column: Value) -> Value:
        return Cat(scalar, scalar[-1].replicate(32 - len(scalar)))

    def join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        return (first + second)[:32]


class Largest(Fold):
    """The larger one, compared as unsigned numbers: of those the order is that of the scalars, and NaN is above all."""

    bits = property(lambda self: self.source.bits)

    def enter(self, m: Module, name: str, scalar: Value, column: Value) -> Value:
        return ordered(m, name, scalar, self.source)

    def join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        return Mux(first > second, first, second)

    def leave(self, m: Module, name: str, scalar: Value) -> Value:
        return scalar_of(scalar, self.source)


class LargestColumn(Largest):
    """The column of the larger one, beside it, which is in the upper bits; of equal ones the first."""

    bits = property(lambda self: self._column_bits + self.source.bits)

    @property
    def _column_bits(self) -> int:
        return (self.plan.tile.cols - 1).bit_length()

    def enter(self, m: Module, name: str, scalar: Value, column: Value) -> Value:
        return Cat(column[: self._column_bits], super().enter(m, name, scalar, column))

    def join(self, m: Module, name: str, first: Value, second: Value) -> Value:
        return Mux(second[self._column_bits :] > first[self._column_bits :], second, first)

    def leave(self, m: Module, name: str, scalar: Value) -> Value:
        return Cat(scalar[: self._column_bits], C(0, self.out.bits - self._column_bits))
