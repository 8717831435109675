"""Many programs side by side in one graph, so that one build of the simulator serves them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from step.language.dims import Dim
from step.language.dtypes import DType
from step.language.graph import Feedback, Graph, Tensor
from step.language.location import Location
from step.language.operator import Operator
from step.language.stream import Stream
from step.language.types import ElementType


@dataclass(eq=False)
class _Prefixed(Graph):
    """A graph that puts ``prefix`` before every name it is given, or makes up."""

    prefix: str = ""

    def add(
        self,
        operator: Operator,
        inputs: Sequence[Stream] = (),
        *,
        name: str | None = None,
        location: Location | None = None,
    ) -> tuple[Stream, ...]:
        return super().add(
            operator, inputs, name=self.prefix + (name or self._next_name(operator.name)), location=location
        )

    def tensor(self, name: str, dims: Iterable[int], dtype: DType | str) -> Tensor:
        return super().tensor(self.prefix + name, dims, dtype)

    def feedback(
        self, element: ElementType, dims: Iterable[Dim | int], *, name: str, location: Location | None = None
    ) -> Feedback:
        return super().feedback(element, dims, name=self.prefix + name, location=location)

    def symbol(self, name: str, *, ragged: bool = False, location: Location | None = None) -> Dim:
        return super().symbol(self.prefix + name, ragged=ragged, location=location)


def side_by_side(name: str, builders: Iterable[Callable[[Graph], Mapping[str, Any]]]) -> tuple[Graph, dict[str, Any]]:
    """A graph in which every builder has put its program, with the prefix ``sN_``, and the inputs of them all."""
    graph = _Prefixed(name)
    inputs: dict[str, Any] = {}
    for number, build in enumerate(builders):
        graph.prefix = f"s{number}_"
        inputs |= {graph.prefix + key: value for key, value in build(graph).items()}
    return graph, inputs
