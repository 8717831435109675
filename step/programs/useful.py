"""Operations on rows that are data, beside those that are executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from step.language.graph import Graph, Node
from step.language.padding import UNKNOWN, Padding, has_padding


@dataclass(frozen=True)
class Useful:
    """Useful operations of each operator, by its name; those of ``unknown`` ones are the executed ones: at most."""

    flops: Mapping[str, sympy.Expr]
    unknown: tuple[str, ...]

    @property
    def total(self) -> sympy.Expr:
        """Those of all operators."""
        return sympy.Add(*self.flops.values())


def useful_of(graph: Graph) -> Useful:
    """The useful operations of ``graph``, in its symbols (docs/language.md, metrics)."""
    found, unknown = dict[str, sympy.Expr](), list[str]()
    inputs = _followed(graph)
    for node in graph:
        executed = useful = node.operator.flops(node)
        if executed != 0 and any(map(has_padding, inputs[node.name])):
            known = node.operator.useful_flops(node, inputs[node.name])
            if known is None:
                unknown.append(node.name)
            else:
                useful = known
        found[node.name] = useful
    return Useful(found, tuple(unknown))


def _followed(graph: Graph) -> dict[str, list[Padding]]:
    """The padding of all inputs of every node; what comes back in a loop as another one is not known."""
    made = dict[tuple[str, int], Padding]()

    def of(node: Node) -> list[Padding]:
        return [made.get((origin.producer, origin.port)) for origin in map(graph.resolve, node.inputs)]

    going = True
    while going:
        going = False
        for node in graph:
            for port, padding in enumerate(node.operator.padding(node, of(node))):
                before = made.get((node.name, port))
                if padding != before:
                    made[node.name, port] = padding if before is None else UNKNOWN
                    going = going or padding != UNKNOWN or before != UNKNOWN
    return {node.name: of(node) for node in graph}
