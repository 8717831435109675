"""The declaration of an operator's firing rule, and of the function that it applies, for all who read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from step.firing.item import RowsOf
from step.firing.machine import Machine
from step.host.extensions import find_module
from step.language.function import Function
from step.language.graph import Node
from step.language.loops import Walk
from step.language.reduction import _Reduction
from step.language.types import Tile, is_dynamic

TILED, MOST_ROWS = "the inputs with tiles of dynamic size", "the most rows of such a tile that begins here, or 0"
"""Parameters that follow from what passes: nobody may read the values of a stream."""

REQUEST, PENDING = 0, 1
"""Outputs of a machine that loads: the addresses that memory is asked for, and what is to come of each."""


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
        function: Any = self.function
        return function.update(*values) if self.reduces else function.apply(*values)

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


@dataclass(frozen=True)
class Declared:
    """The ``machine`` that is the whole unit of a node, with its ``parameters``, and its ``latency`` in cycles.

    A firing that computes occupies the unit while the words of a value pass. Parameters are integers, tuples of
    integers or of pairs of them, stops of loops, values, functions of values, `TILED` and `MOST_ROWS`. One that is
    `Applied` says how long a firing takes. A ``latency`` that is there for values alone is a function of the bytes of a
    link, and of the rows that tiles of dynamic size have.

    One that ``loads`` tiles along a walk has the places where they begin in memory as ``addresses``, and the ``tiles``.
    It says what is `PENDING` besides each `REQUEST`; that leaves the unit when memory has answered.
    """

    machine: type[Machine]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    latency: int | Callable[[int, int], int] = 0
    loads: Walk | None = None

    def cycles(self, link_bytes: int, rows: int, *, carries: bool) -> int:
        """The latency on links of ``link_bytes``, with so many ``rows``; ``carries``: somebody reads what goes out."""
        if isinstance(self.latency, int):
            return self.latency
        return self.latency(link_bytes, rows) if carries else 0

    @property
    def applied(self) -> Applied | None:
        """The function with a datapath, if there is one."""
        return next((each for each in self.parameters.values() if isinstance(each, Applied)), None)

    def given(self, tiled: tuple[int, ...], most_rows: int) -> dict[str, Any]:
        """The parameters, where `TILED` and `MOST_ROWS` are these."""
        return {
            name: tiled if each is TILED else most_rows if each is MOST_ROWS else each
            for name, each in self.parameters.items()
        }


def declared_rule(node: Node) -> Declared | None:
    """The rule that ``node`` fires by, if its operator declares that in `step.rules`."""
    module = find_module("step.rules", node.operator.name)
    if module is None:
        return None
    return module.rule(node)
