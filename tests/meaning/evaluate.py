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
from step.language.tokens import Token, from_nested, to_nested
from step.lowering.passes.broadcast import insert_broadcasts
from step.programs.inputs import BoundInputs, bind_inputs


@dataclass
class Evaluation:
    """The nested lists of every stream (the names are those of the interpreter's), and of what leaves the program."""

    streams: dict[str, Nested] = field(default_factory=dict)
    outputs: dict[str, Nested] = field(default_factory=dict)


def evaluate(
    graph: Graph, inputs: Mapping[str, Any] | BoundInputs, arrivals: Mapping[str, Sequence[int]] | None = None
) -> Evaluation:
    """The meaning of ``graph``, which has no feedback edges, on ``inputs``.

    ``arrivals`` has the order in which a timed run took its data, as `step.running.result.RunResult` has it.
    """
    bound = bind_inputs(graph, inputs)
    full = insert_broadcasts(graph)
    found = Evaluation()
    for node in full:
        streams = [found.streams[str(each)] for each in node.inputs]
        results = meaning_at(node, bound, streams, (arrivals or {}).get(node.name))
        if not node.operator.outputs:
            (found.outputs[node.name],) = results
        for port in range(len(node.output_types)):
            found.streams[full.stream_name(node.name, port)] = results[port]
    return found


def meaning_at(
    node: Node, bound: BoundInputs, streams: Sequence[Nested], arrivals: Sequence[int] | None = None
) -> list[Nested]:
    """What ``node`` makes of the nested lists ``streams``."""
    played = bound.streams.get(node.name)
    given = Given(
        input_types=node.input_types,
        output_types=node.output_types,
        stream=None if played is None else to_nested(played, node.output_types[0].rank),
        tensors=bound.tensors,
        arrivals=arrivals,
    )
    results: list[Nested] = importlib.import_module(f"meaning.{node.operator.name}").meaning(
        node.operator, given, *streams
    )
    return results


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
