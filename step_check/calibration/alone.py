"""A unit of a program alone: the same operator, between sources of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from step.errors import FabricError, TypeMismatch
from step.language.faults import Violation
from step.language.function import AccumFunction, CountedFunction, Function
from step.language.graph import Graph, Node
from step.language.types import ElementType, Selector
from step_check.calibration.bench import EACH, Bench, Build, Fill


def alone(node: Node, function: Function) -> Build:
    """Puts the operator of ``node``, which applies ``function``, behind sources of what it reads there."""
    fills, inner = _fills(node, function), _inner(node)
    if isinstance(function, AccumFunction) and function.indices:  # which differ in a reduction
        inner = [*[1] * (len(inner) - 1), min(EACH, function.bound(0))][: len(inner)]

    def build(bench: Bench) -> Any:
        dims = [max(2, -(-bench.values // prod(inner))), *inner]
        streams = [bench.play(each.element, dims, fill) for each, fill in zip(node.inputs, fills, strict=True)]
        return bench.graph.add(node.operator, streams, name=bench.label)

    return build


def _inner(node: Node) -> list[int]:
    """Inner dimensions, as short as the result remains what it is."""
    shape = node.inputs[0].shape[1:]
    short = [*[2] * (len(shape) - 1), EACH][: len(shape)]
    own = [int(each) if each.is_static else less for each, less in zip(shape, short, strict=True)]
    for dims in (short, own):
        graph = Graph("alone")
        inputs = [graph.source(f"x{n}", each.element, [2, *dims]) for n, each in enumerate(node.inputs)]
        try:
            (result, *_) = graph.add(node.operator, inputs)
        except TypeMismatch:
            continue
        if result.element == node.output_types[0].element:
            return dims
    raise FabricError(f"{node.describe()} can not be measured alone: its result depends on the program around it")


def _fills(node: Node, function: Function) -> Sequence[Fill]:
    """What the scalars of each input are: anything, or where they are control what is legal."""
    controls = [each.element.is_control for each in node.inputs]
    if not isinstance(function, CountedFunction):
        return [_legal(node, function, port) if control else None for port, control in enumerate(controls)]
    return max(product((0, 1, EACH), repeat=len(controls)), key=lambda numbers: _pieces(function, node, numbers))


def _legal(node: Node, function: Function, port: int) -> Fill:
    """What a control input may be."""
    if port not in function.indices:
        return 0
    bound = function.bound(port, *(each.element for each in node.inputs))
    return bound if isinstance(node.inputs[port].element, Selector) else range(min(EACH, bound))


def _pieces(function: CountedFunction, node: Node, numbers: Sequence[int]) -> int:
    """How many pieces the function makes of ``numbers``; of too many, and of what it does not take, none."""
    try:
        count = function.pieces(*(_value(each.element, n) for each, n in zip(node.inputs, numbers, strict=True)))
    except Violation:
        return -1
    return count if count <= EACH else 0


def _value(element: ElementType, number: int) -> Any:
    if isinstance(element, Selector):
        return 1
    return np.full((1, 1), number, np.uint32)
