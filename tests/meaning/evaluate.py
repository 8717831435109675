"""A whole program on nested lists, operator by operator."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meaning.given import Given
from meaning.nested import Nested
from step.language.graph import Graph, Node
from step.language.tiling import stored
from step.language.tokens import Token, from_nested, to_nested
from step.lowering.netlist import insert_broadcasts
from step.programs.data.inputs import BoundInputs, bind_inputs


@dataclass
class Evaluation:
    """What every stream carries (under its name in the interpreter), and what leaves the program, as nested lists.

    A tensor that is stored and read has to be read by operators that stand behind those that store it.

    ``played`` are the nested lists of the sources. ``arrivals`` has the order in which a timed run took its data, as
    `step.running.result.RunResult` has it.
    """

    played: Mapping[str, Nested]
    tensors: Mapping[str, np.ndarray]
    arrivals: Mapping[str, Sequence[int]] = field(default_factory=dict)
    streams: dict[str, Nested] = field(default_factory=dict)
    outputs: dict[str, Nested] = field(default_factory=dict)

    def add(self, graph: Graph, node: Node) -> None:
        """Evaluate ``node`` of ``graph``; those that it reads must be there."""
        given = Given(
            input_types=node.input_types,
            output_types=node.output_types,
            stream=self.played.get(node.name),
            tensors=self.tensors,
            arrivals=self.arrivals.get(node.name),
        )
        streams = [self.streams[str(each)] for each in node.inputs]
        results = importlib.import_module(f"meaning.{node.operator.name}").meaning(node.operator, given, *streams)
        if not node.operator.outputs:
            (self.outputs[node.name],) = results
        for port in range(len(node.output_types)):
            self.streams[graph.stream_name(node.name, port)] = results[port]


def evaluate(
    graph: Graph,
    inputs: Mapping[str, Any] | BoundInputs,
    arrivals: Mapping[str, Sequence[int]] | None = None,
    recorded: Mapping[str, Sequence[Token]] | None = None,
) -> Evaluation:
    """The meaning of ``graph`` on ``inputs``.

    Where it has feedback edges, what is read before it is there is taken from the streams ``recorded`` in a run; that
    they are what they mean then, the comparison with the run has to tell.
    """
    bound = bind_inputs(graph, inputs)
    played = {name: to_nested(tokens, graph.nodes[name].output_types[0].rank) for name, tokens in bound.streams.items()}
    found = Evaluation(played, {name: each.copy() for name, each in bound.tensors.items()}, arrivals or {})
    full = insert_broadcasts(graph)
    if graph.feedbacks and recorded is not None:
        found.streams = {str(each): to_nested(recorded[str(each)], each.rank) for each in full.streams()}
    for node in full:
        found.add(full, node)
    for name, tiling in stored(graph).items():
        found.outputs[name] = _tiles(found.tensors[name], *tiling.tile)
    return found


def _tiles(tensor: np.ndarray, rows: int, cols: int) -> Nested:
    """``tensor`` as nested lists of its tiles."""
    if tensor.ndim > 2:
        return [_tiles(each, rows, cols) for each in tensor]
    height, width = tensor.shape
    return [
        [tensor[down : down + rows, right : right + cols] for right in range(0, width, cols)]
        for down in range(0, height, rows)
    ]


def difference(found: Sequence[Token], meant: Nested, rank: int) -> str | None:
    """Where the tokens ``found`` of a stream of ``rank`` are not those of the nested lists ``meant``; None if nowhere.

    Values are equal bit for bit. Without a Done at its end, ``found`` is what left a program.
    """
    wanted = from_nested(meant, rank)
    if not found or not found[-1].done:
        del wanted[-1]
    for position, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one._replace(value=None) != other._replace(value=None) or not equal(one.value, other.value):
            return f"token {position} is {one}, but means {other}"
    if len(found) != len(wanted):
        return f"has {len(found)} tokens, but means {len(wanted)}"
    return None


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal to the last bit."""
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and (one.dtype, one.shape) == (other.dtype, other.shape)
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)
