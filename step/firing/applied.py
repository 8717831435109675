"""Functions of values that have a datapath of their own, as every reader of rules knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.firing.item import RowsOf
from step.language.function import AccumFunction, Function, MapFunction
from step.language.graph import Node
from step.language.reduction import _Reduction
from step.language.types import Tile, is_dynamic


@dataclass(frozen=True)
class Applied:
    """A ``function`` with a datapath, whose plan says how long a firing with it takes.

    Its operands are the values of all inputs; where it ``reduces``, behind its state, which the rule keeps, or the
    initial one. A state that the rule hands out may be ``stored`` (`step.lowering.plans.plan.UnitPlan`). ``rows`` are
    those of the result, None where they are static.
    """

    function: Function
    rows: RowsOf | None = None
    reduces: bool = False
    stored: bool = False

    def __call__(self, *values: Any) -> Any:
        function = self.function
        if self.reduces:
            assert isinstance(function, AccumFunction)
            return function.update(*values)
        assert isinstance(function, MapFunction)
        return function.apply(*values)

    @classmethod
    def to_elements(cls, node: Node, function: Function) -> Applied:
        """The ``function`` of the elements that ``node`` reads."""
        result = node.output_types[0].element
        if not is_dynamic(result):
            return cls(function)
        assert isinstance(result, Tile)
        elements = (each.element for each in node.inputs)
        alike = [port for port, each in enumerate(elements) if isinstance(each, Tile) and each.rows == result.rows]
        return cls(function, RowsOf(tuple(alike[:1])))

    @classmethod
    def to_state(cls, node: Node, *, stored: bool = False) -> Applied:
        """The function of the reduction ``node``, whose state has the rows of an operand, or those of all elements."""
        operator, first = node.operator, node.inputs[0].element
        assert isinstance(operator, _Reduction)
        kept, rows = operator.rows_kept(node.input_types), None
        if kept is not None:
            rows = RowsOf((kept + 1,))  # behind the state
        elif is_dynamic(node.output_types[0].element):
            assert isinstance(first, Tile)
            rows = RowsOf((0,), int(first.rows)) if first.rows.is_static else RowsOf((0, 1))
        return cls(operator.function, rows, reduces=True, stored=stored)
