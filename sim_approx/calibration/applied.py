"""What timing belongs to: an operator that applies a function to elements of some types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sim_approx.placing.build import build_fabric
from step.language.function import Function
from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import BoundInputs
from step.programs.files.serialize import encode

INSTANT = Timing(1, 0, streams=True)
"""Of a function that takes no time of its own: what is left is the unit's."""


@dataclass(frozen=True)
class Applied:
    """The unit of an operator; ``function``, ``operands`` and ``result`` are plain data, as in a program's file.

    ``function`` is None for a unit that applies none, ``result`` that of the first output, or None.
    """

    operator: str
    function: Any
    operands: Any
    result: Any

    @classmethod
    def at(cls, node: Node, function: Function | None) -> Applied:
        """The unit of ``node``."""
        result = node.output_types[0].element if node.output_types else None
        operands = [encode(each.element) for each in node.inputs]
        return cls(node.operator.name, encode(function), operands, encode(result))

    @property
    def key(self) -> str:
        """The same for the same unit."""
        return json.dumps([self.operator, self.function, self.operands, self.result], sort_keys=True)

    def __str__(self) -> str:
        function = f" {_function(self.function)}" if self.function else ""
        operands = f" of {', '.join(map(_element, self.operands))}" if self.operands else ""
        return f"{self.operator}{function}{operands}" + (f" to {_element(self.result)}" if self.result else "")


def _function(plain: Any) -> str:
    parameters = (f"{name}={_plain(value)}" for name, value in plain["parameters"].items() if value is not None)
    return f"{plain['function']}({', '.join(parameters)})"


def _plain(value: Any) -> Any:
    return value["dtype"] if isinstance(value, dict) and list(value) == ["dtype"] else value


def _element(plain: Any) -> str:
    """``BF16[4, 16]``, ``selector[2]``, ``(BF16[1, 1], selector[2])``, ``buffer of BF16[1, 8]``."""
    match plain:
        case {"tile": [dtype, rows, cols]}:
            return f"{dtype}[{rows}, {cols}]"
        case {"selector": targets}:
            return f"selector[{targets}]"
        case {"tuple": items}:
            return f"({', '.join(map(_element, items))})"
    return f"buffer of {_element(plain['buffer'])}"


def asked(netlist: Netlist, data: BoundInputs) -> list[tuple[Node, Function]]:
    """Every unit of ``netlist`` of whose function the fast model wants to know how long it takes."""
    found: list[tuple[Node, Function]] = []

    def look_up(node: Node, function: Function, reduce: bool) -> Timing:
        found.append((node, function))
        return INSTANT

    build_fabric(netlist, data, (), look_up)
    return found
