"""Operations on rows that are data, beside those that are executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from step.language.graph import Graph
from step.language.padding import UNKNOWN, Padding, has_padding


@dataclass(frozen=True)
class Useful:
    """Useful operations of each operator, by its name; those of ``unknown`` ones are the executed ones: at most."""

    flops: Mapping[str, sympy.Expr]
    unknown: tuple[str, ...]

    @property
    def total(self) -> sympy.Expr:
        """Operations of all operators."""
        return sympy.Add(*self.flops.values())


def useful_of(graph: Graph) -> Useful:
    """The useful operations of ``graph``, in its symbols (docs/language.md, metrics)."""
    found, unknown = dict[str, sympy.Expr](), list[str]()
    inputs = _followed(graph)
    for node in graph:
        found[node.name] = node.operator.flops(node)
        if found[node.name] != 0 and any(map(has_padding, inputs[node.name])):
            useful = node.operator.useful_flops(node, inputs[node.name])
            if useful is None:
                unknown.append(node.name)
            else:
                found[node.name] = useful
    return Useful(found, tuple(unknown))


def _followed(graph: Graph) -> dict[str, list[Padding]]:
    """The padding of all inputs of every node; what comes back in a loop as another one is not known."""
    origins = {node.name: [graph.resolve(each).key for each in node.inputs] for node in graph}
    made, going = dict[tuple[str, int], Padding](), True
    while going:
        going, read = False, set[tuple[str, int]]()
        for node in graph:
            read.update(origins[node.name])
            inputs = [made.get(key) for key in origins[node.name]]
            for port, padding in enumerate(node.operator.padding(node, inputs)):
                key = node.name, port
                before = made.get(key)
                made[key] = padding if before is None or before == padding else UNKNOWN
                going = going or (key in read and made[key] != before)
    return {name: [made.get(key) for key in keys] for name, keys in origins.items()}
