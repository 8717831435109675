"""Many programs side by side in one graph, so that one build of the simulator serves them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from step.language.dims import Dim
from step.language.graph import Feedback, Graph, Tensor
from step.language.operator import Operator
from step.language.stream import Stream


@dataclass(eq=False)
class _Prefixed(Graph):
    """A graph that puts ``prefix`` before every name it is given, or makes up."""

    prefix: str = ""

    def add(self, operator: Operator, *others: Any, name: str | None = None, **named: Any) -> tuple[Stream, ...]:
        return super().add(operator, *others, name=self.prefix + (name or self._next_name(operator.name)), **named)

    def tensor(self, name: str, *others: Any, **named: Any) -> Tensor:
        return super().tensor(self.prefix + name, *others, **named)

    def feedback(self, *others: Any, name: str, **named: Any) -> Feedback:
        return super().feedback(*others, name=self.prefix + name, **named)

    def symbol(self, name: str, **named: Any) -> Dim:
        return super().symbol(self.prefix + name, **named)


def side_by_side(name: str, builders: Iterable[Callable[[Graph], Mapping[str, Any]]]) -> tuple[Graph, dict[str, Any]]:
    """A graph in which every builder has put its program, with the prefix ``sN_``, and the inputs of them all."""
    graph = _Prefixed(name)
    inputs: dict[str, Any] = {}
    for number, build in enumerate(builders):
        graph.prefix = f"s{number}_"
        inputs |= {graph.prefix + key: value for key, value in build(graph).items()}
    return graph, inputs
