"""Input data: what a program's tensors and sources get, once it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from step.errors import InputError
from step.host.nearest import did_you_mean
from step.language.graph import Graph
from step.language.tokens import Token
from step.programs.equality import same_arrays, same_tokens
from step.programs.given import Data
from step.programs.streams import bind_stream
from step.programs.tensors import bind_tensor, cut_tiles


@dataclass(frozen=True, eq=False)
class BoundInputs:
    """Data that was checked against a program's declarations; equal if it is so bit for bit."""

    tensors: Mapping[str, np.ndarray]
    streams: Mapping[str, Sequence[Token]]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundInputs)
            and same_arrays(self.tensors, other.tensors)
            and set(self.streams) == set(other.streams)
            and all(same_tokens(tokens, other.streams[name]) for name, tokens in self.streams.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def tiles(self, tensor: str, tile: tuple[int, int]) -> np.ndarray:
        """``tensor`` in tiles of ``tile`` (rows, cols): ``[tiles, rows, cols]``."""
        return cut_tiles(self.tensors[tensor], tile)


def bind_inputs(graph: Graph, inputs: Mapping[str, Any] | BoundInputs) -> BoundInputs:
    """Check ``inputs`` against the tensors and sources of ``graph``; what is bound already stays as it is.

    A tensor takes an array of its shape. A source takes an array whose leading dimensions are the stream's, nested
    sequences as deep, or a list of tokens. What is taken for an array says `step.programs.given`, what for a number
    `step.programs.scalars`, what for a selector `step.programs.selectors`. Raises `InputError`.
    """
    if isinstance(inputs, BoundInputs):
        return inputs
    given = as_data(inputs)
    # As declared: what else is assumed of a source is a promise, which runs check.
    sources = {node.name: stream for node in graph if (stream := node.operator.given()) is not None}
    wanted = [*graph.tensors, *sources]
    for name in sources:
        if name in graph.tensors:
            raise InputError(f"{name!r} is a tensor and a source: rename one, so that each can have its data")
    for name in given:
        if name not in wanted:
            hint = did_you_mean(str(name), wanted)
            raise InputError(
                f"the program has no tensor or source {name!r}; {hint}it has {', '.join(wanted) or 'none'}"
            )
    for name in wanted:
        if name not in given:
            raise InputError(f"there is no input {name!r}; the program needs {', '.join(wanted)}")
    tensors = {name: bind_tensor(tensor, given[name]) for name, tensor in graph.tensors.items()}
    streams = {name: bind_stream(given[name], stream, name) for name, stream in sources.items()}
    return BoundInputs(tensors, streams)


def as_data(inputs: Any) -> Data:
    """``inputs``, data by name, as nobody else can change it; raises `InputError` for what is something else."""
    if isinstance(inputs, BoundInputs):
        return Data.of({**inputs.tensors, **inputs.streams})
    if not isinstance(inputs, Mapping):
        raise InputError(f"inputs must be data by name, or the name of an .npz file, not {inputs!r}")
    return Data(inputs)
