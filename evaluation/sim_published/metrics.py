"""Off-chip traffic and on-chip memory as the published figures count them (``count_fifos=False``, ``mode=1``).

Loads count 2 bytes a scalar (4 in the validation) and one tile; all that is computed counts 4 bytes a scalar: the state
of an Accum, what an Expand repeats, and what is stored. Everything else is free. No rounding to requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import sympy

from sim_published.ops import trait
from step.language.graph import Graph, Node
from step.language.symbols import evaluate
from step.language.types import Tile
from step.running.result import RunResult

LOADED, COMPUTED = 2, 4


def off_chip_bytes(graph: Graph, values: Mapping[str, int], loaded: int = LOADED) -> int:
    """Bytes between the fabric and memory, with ``values`` for the symbols of ``graph``, by name; ``loaded``: those of
    a scalar that is loaded. Raises `UnboundSymbol` where a value is missing."""
    return sum(int(evaluate(count, values, graph)) * size for _, count, size in _tiles(graph, loaded))


def moved_bytes(graph: Graph, result: RunResult, loaded: int = LOADED) -> int:
    """The same, with the tiles that went there in a run."""
    return sum((result.operators[node.name].firings or 0) * size for node, _, size in _tiles(graph, loaded))


def on_chip_bytes(graph: Graph, values: Mapping[str, int], unused: Collection[str] = ()) -> int:
    """Bytes that the operators of ``graph`` need but those called in ``unused``.

    The published figures leave out what gets no element for dynamic tiles, and for time-multiplexing.
    """
    return _total([_on_chip(node) for node in graph if node.name not in unused], values, graph)


def equation_bytes(graph: Graph, values: Mapping[str, int], unused: Collection[str] = ()) -> int:
    """The same by the equations of the paper, which its figures do not use: what goes off chip is buffered twice, and
    a matmul counts its operands."""
    return _total(
        [node.operator.on_chip_bytes(node, "paper") for node in graph if node.name not in unused], values, graph
    )


def _tiles(graph: Graph, loaded: int) -> Iterator[tuple[Node, sympy.Expr, int]]:
    """The operators at off-chip memory, how many tiles they move, and the bytes of one."""
    for node in graph:
        for access, types, scalar in (
            (node.operator.reads(node), node.output_types, loaded),
            (node.operator.writes(node), node.input_types, COMPUTED),
        ):
            if access is not None:
                yield node, types[access.port].count, int(access.tile.elements) * scalar


def _on_chip(node: Node) -> sympy.Expr:
    """Bytes of one operator."""
    read, written = node.operator.reads(node), node.operator.writes(node)
    if read is not None:
        return read.tile.elements * LOADED
    if written is not None:
        return written.tile.elements * COMPUTED
    element = node.output_types[0].element if node.output_types else None
    if isinstance(element, Tile) and trait(node, "COMPUTES"):
        return element.elements * COMPUTED
    return sympy.Integer(0)


def _total(expressions: Iterable[sympy.Expr], values: Mapping[str, int], graph: Graph) -> int:
    return sum(int(evaluate(each, values, graph)) for each in expressions)
