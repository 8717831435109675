"""Every operator, and every function in every operator that applies it, once and plainly, between long streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from step.errors import RegistrationError
from step.language.draft import Piece
from step.language.dtypes import BF16, BOOL
from step.language.function import NUMBER, Function
from step.language.graph import Graph, Node
from step.language.types import ElementType, Selector, Tile, Tuple
from step.lowering.netlist import insert_broadcasts
from step_check.samples.draft import GrowingDraft
from step_check.samples.known import SampledOperator, functions, operators
from step_check.samples.plain import Plain
from step_check.samples.values import random_value

COLUMNS = 8
EACH = 10
"""Values of a row of a stream."""


class UnitDraft(GrowingDraft):
    """A draft of one unit: what it picks are sources of ``elements`` that play ``values`` values.

    Only functions of the class ``function`` are applied; ``asked`` is what kind of function was asked for.
    """

    largest_tile = widest = 1 << 20

    def __init__(
        self, graph: Graph, values: int, elements: list[ElementType], function: type[Function] | None = None
    ) -> None:
        super().__init__(Plain(), graph)
        self.values, self.elements, self.function = values, elements, function
        self.asked: type[Any] | None = None

    def functions(self, kind: type[Any]) -> list[type[Function]]:
        self.asked = kind
        return [] if self.function is None else [self.function]

    def tile(self) -> Tile:
        return next(each for each in self.elements if isinstance(each, Tile))

    def source(self) -> Piece:
        return self._source(self.elements[0], [self.values])

    def pick(self, fits: Callable[[Piece], bool] = lambda _: True, *, factor: int = 1) -> Piece | None:
        """A source whose piece ``fits``: as simple a stream as can be."""
        for element in self.elements:
            for dims in ([self.values], [self.values // EACH, EACH], [self.values, 1]):
                if fits(Piece(Graph("trial").source("x", element, dims), [], False)):
                    return self._source(element, dims)
        return None

    def _source(self, element: ElementType, dims: list[int]) -> Piece:
        value = random_value(self.random, element)

        def nested(extent: int, *inner: int) -> list[Any]:
            return [nested(*inner) if inner else value for _ in range(extent)]

        return self.play("x", element, nested(*dims), dims)


@dataclass(frozen=True)
class StandardUnit:
    """An ``operator``, applying a ``function`` or none, on values of ``element``."""

    operator: SampledOperator
    function: type[Function] | None
    elements: tuple[ElementType, ...]

    @property
    def label(self) -> str:
        return self.operator.name if self.function is None else f"{self.operator.name}_{self.function.name}"

    def build(self, graph: Graph, values: int) -> dict[str, Any]:
        """Put the unit into ``graph``, with sinks behind it; returns the inputs of a run."""
        draft = UnitDraft(graph, values, [*self.elements], self.function)
        self.operator.sample(draft)
        for piece in draft.pool:
            piece.stream.sink(draft.name("y"))
        return draft.inputs

    def node(self, nodes: Iterator[Node]) -> Node | None:
        """The unit itself, the last one of its kind among the ``nodes`` of its program; None where it is not there."""
        found = [each for each in nodes if each.operator.name == self.operator.name]
        function = self.function
        if function is not None:
            found = [each for each in found if isinstance(each.operator.function, function)]
        return found[-1] if found else None

    def alone(self, values: int = EACH) -> Node | None:
        """The unit in a program of its own."""
        graph = Graph("unit")
        self.build(graph, values)
        return self.node(iter(insert_broadcasts(graph)))


def units(rows: int) -> Iterator[StandardUnit]:
    """All units, for values that are tiles of BF16 of so many ``rows`` wherever that fits.

    Raises `RegistrationError` for an operator or a function whose sample fits nothing.
    """
    tile = Tile(BF16, rows, COLUMNS)
    elements: list[ElementType] = [tile, Tile(BF16, 1, COLUMNS), NUMBER, Tile(BOOL), Tuple((tile, tile)), Selector(2)]
    applied, kinds = set[str](), set[type[Any]]()
    for operator in operators():
        draft = UnitDraft(Graph("unit"), EACH, elements)
        operator.sample(draft)
        if draft.asked is None:
            unit = StandardUnit(operator, None, tuple(elements))
            if unit.alone() is None:
                raise RegistrationError(f"the sample of the operator {operator.name!r} never adds it to a program")
            yield unit
            continue
        kinds.add(draft.asked)
        for function in functions(draft.asked):
            candidates = (StandardUnit(operator, function, (each,)) for each in elements)
            if found := next((each for each in candidates if each.alone() is not None), None):
                applied.add(function.name)
                yield found
    for function in (each for kind in kinds for each in functions(kind) if each.name not in applied):
        raise RegistrationError(f"the sample of the function {function.name!r} fits no stream: {function.__module__}")
