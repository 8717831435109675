"""Contents of declared tensors during a run, some of which the program stores."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from step.language.graph import Graph, Node
from step.language.tiling import accessed, stored
from step.language.tokens import UNKNOWN, Token, from_nested
from step.programs.data.inputs import BoundInputs


@dataclass
class Tensors:
    """The tensors of one run of ``graph``, which begin with what is in ``data``."""

    graph: Graph
    data: BoundInputs
    _stored: dict[str, list[np.ndarray]] = field(init=False)

    def __post_init__(self) -> None:
        self._tilings = stored(self.graph)
        self._stored = {name: list(self.data.tiles(name, each.tile)) for name, each in self._tilings.items()}

    def tiles(self, node: Node, *, known: bool = True) -> MutableSequence[Any]:
        """The tiles that the operator at ``node`` reads or writes; of a tensor that is stored the same list for all.

        Unless ``known``, nobody wants the values of what it reads.
        """
        access = accessed(node)
        assert access is not None and access.tensor is not None
        if access.tensor in self._stored:
            return self._stored[access.tensor]
        if not known:
            return [UNKNOWN] * (access.tiles or 0)
        return list(self.data.tiles(access.tensor, access.tile.shape))

    def outputs(self) -> dict[str, list[Token]]:
        """Contents of the stored tensors, as outputs of the run."""
        return {name: as_output(self._tilings[name].extents, tiles) for name, tiles in self._stored.items()}


def as_output(extents: Sequence[int], tiles: Iterable[np.ndarray]) -> list[Token]:
    """The ``tiles`` as a stream of the shape ``extents``, without Done."""
    nested: list[object] = list(tiles)
    for extent in reversed(extents[1:]):
        nested = [nested[start : start + extent] for start in range(0, len(nested), extent)]
    return from_nested(nested, len(extents) - 1)[:-1]
