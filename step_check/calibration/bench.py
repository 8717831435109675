"""Units side by side in one graph, each between sources that never pause and sinks that always take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from step.language.dtypes import BOOL, DType
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.tokens import from_nested
from step.language.types import ElementType, Selector, Tile
from step.lowering.fabric import FabricConfig
from step.programs.program import Program
from step_check.samples.values import random_value

EACH = 10
"""Values of a row of a stream, or pieces of a value."""

Fill = int | range | None
"""What all scalars of a source are, or are by turns; of selectors how many targets, the first ones. None: anything."""

SLOTS = 3
"""Depth of all channels: with two, a slot whose words are as long in passing as the unit takes comes free too late."""


@dataclass
class Bench:
    """A graph in which units stand, and the data of their sources.

    ``values`` values pass each unit, or a few more, `EACH` in a row of a stream. Numbers are random, from ``seed``.
    The unit that is put is called ``label``.
    """

    graph: Graph
    values: int
    seed: int = 0
    inputs: dict[str, Any] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    label: str = ""

    def play(self, element: ElementType, dims: Sequence[int], fill: Fill = None, name: str | None = None) -> Stream:
        """A source of shape ``dims``, all of whose scalars are ``fill`` if it is given; other selectors go by turns."""
        name = name or f"{self.label}_{len(self.inputs)}"
        if isinstance(element, Selector):
            self.inputs[name] = np.arange(np.prod(dims)).reshape(dims) % element.targets
            if isinstance(fill, int) and fill:
                self.inputs[name] = np.broadcast_to(np.arange(element.targets) < fill, (*dims, element.targets))
            return self.graph.selectors(name, element.targets, list(dims)).buffered(SLOTS)
        if isinstance(element, Tile):
            self.inputs[name] = self._scalars(element.dtype, (*dims, *element.shape), fill)
        else:
            random = Random(f"{self.seed} {name}")
            self.inputs[name] = from_nested(_nested(dims, lambda: random_value(random, element)), len(dims) - 1)
        return self.graph.source(name, element, list(dims)).buffered(SLOTS)

    def _scalars(self, dtype: DType, shape: tuple[int, ...], fill: Fill) -> np.ndarray:
        if fill is not None:
            return np.resize(fill, shape).astype(dtype.numpy)
        random = np.random.default_rng([self.seed, len(self.inputs)])
        return random.integers(0, 2 if dtype is BOOL else 100, shape).astype(dtype.numpy)

    def put(self, label: str, build: Build) -> None:
        """Add the unit that ``build`` builds."""
        self.label = label
        build(self)
        self.labels.append(label)

    def program(self, fabric: FabricConfig) -> Program:
        """All units, with a sink behind every stream that nobody reads."""
        read = self.graph.readers()
        for number, stream in enumerate([each for each in self.graph.streams() if not read[each.key]]):
            stream.buffered(SLOTS).sink(f"end{number}")
        return Program(self.graph, self.inputs, fabric)


Build = Callable[[Bench], Any]
"""Puts the unit, with the label as its name, into the graph."""


def _nested(dims: Sequence[int], make: Callable[[], Any]) -> Any:
    extent, *inner = dims
    return [_nested(inner, make) if inner else make() for _ in range(extent)]
