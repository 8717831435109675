"""Datapaths of comparisons and of choices."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Module, Mux, Value

from hw.arithmetic.compare import below
from hw.arithmetic.convert import as_integer
from hw.functions.elementwise import numbers
from hw.functions.vector import Lane
from step.functions.compare import RELATIONS, Compare, Where


class CompareLane(Lane, of=Compare):
    """Whether two scalars have a relation."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        assert isinstance(self.function, Compare)
        relation = self.function.relation
        if not self.formats[0].is_float:
            first, second = (as_integer(each, dtype) for each, dtype in zip(operands, self.formats, strict=True))
            return RELATIONS[relation](first, second)
        one, other = numbers(m, name, operands, self.formats)
        zeros, bits = one.zero & other.zero, one.bits[:31] == other.bits[:31]
        equal = zeros | (bits & (one.sign == other.sign))
        less = below(one, other, same=bits, zeros=C(0, 1))
        found = {"<": less, "<=": less | equal, "==": equal, "!=": ~equal, ">=": ~less, ">": ~less & ~equal}[relation]
        return Mux(one.nan | other.nan, relation == "!=", found)


class WhereLane(Lane, of=Where):
    """One of two scalars, as it is."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        condition, first, second = operands
        return Mux(condition, first, second)
