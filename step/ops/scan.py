"""Scan: the state of a reduction after every element, or before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.language.dims import dim
from step.language.draft import Draft
from step.language.function import AccumFunction
from step.language.operator import Names, Placed, StreamType, expect
from step.language.padding import UNKNOWN, Padding
from step.language.reduction import _Reduction
from step.language.stream import Stream, stream_method
from step.language.types import ElementType
from step.language.useful import static_product


@dataclass(frozen=True)
class Scan(_Reduction):
    """The state of ``function`` after every element, or before it if ``exclusive``, in the shape of the inputs.

    It begins with its initial value again behind every stop of level ``rank`` or more. Empties stay what they are.

    >>> graph = Graph("scan")
    >>> x = graph.source("x", Tile(FP32), [2, 3])
    >>> x.scan(Add()).sink("running_sums")
    """

    exclusive: bool = False

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        state, shape = self.state(inputs)
        expect(
            not self.function.indices,
            f"scan does not check the indices of {self.function.name}, as accum does: reduce with accum",
        )
        expect(
            state == self.function.state_type((), *(each.element for each in inputs))
            and state.accepts(self.function.initial(state)),
            f"scan needs a state of one size, but that of {self.function.name} grows",
        )
        expect(
            state.is_static or not self.exclusive,
            f"an exclusive scan needs an initial state of known size, not {state}",
        )
        return (StreamType(state, shape),)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        (made,) = super().padding(node, inputs)
        if made is None or made.rows is None:
            return (made,)
        count = static_product(node.input_types[0].shape[-self.rank :])
        return (UNKNOWN if count is None or self.exclusive else made.times(count, made.alike + self.rank),)


@stream_method
def scan(
    stream: Stream,
    function: AccumFunction,
    *others: Stream,
    rank: int = 1,
    exclusive: bool = False,
    name: str | None = None,
) -> Stream:
    """Reduce the inner ``rank`` dimensions of this stream and ``others`` of the same shape, and show every state.

    That after an element stands in its place, or with ``exclusive`` that before it.
    """
    return stream.graph.add(Scan(function, rank, exclusive), [stream, *others], name=name)[0]


WEIGHT = 3


def sample(draft: Draft) -> None:
    """Any function whose states are of one size, over any innermost dimensions."""
    if piece := draft.pick(lambda each: each.rank > 0):
        rank = draft.random.randint(1, piece.rank)
        if found := draft.applied(piece, AccumFunction, _state_of):
            function, (first, *others) = found
            states = first.scan(function, *others, rank=rank, exclusive=draft.chance(0.5))
            draft.keep(states, timed=piece.timed)


def _state_of(function: AccumFunction, *elements: ElementType) -> ElementType:
    state = function.state_type((dim(2),), *elements)
    expect(not function.indices, "a scan checks no indices")
    expect(state == function.state_type((), *elements), "a scan needs a state of one size")
    return state
