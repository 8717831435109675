"""Until: a stream that ends where a selector says so."""

from __future__ import annotations

from dataclasses import dataclass

from step.language.draft import Draft
from step.language.faults import Fault
from step.language.operator import Names, Operator, StreamType, expect
from step.language.stream import Stream, stream_method
from step.language.types import Selector

DATA, SELECTOR = 0, 1


@dataclass(frozen=True)
class Until(Operator):
    """The tensors of a stream up to the first one whose selector, of one target, selects nothing: that is the last.

    A tensor (rank 0: an element) passes before its selector is there, so what leaves may decide how long a loop goes
    on. Done follows at once; what else comes is taken, and dropped. Selectors that end before is a fault, unless the
    data ends with them.

    >>> graph = Graph("until")
    >>> x, more = graph.source("x", Tile(FP32), [4]), graph.selectors("more", 1, [4])
    >>> x.until(more).sink("y")
    """

    control = (SELECTOR,)
    data = (DATA,)

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 2, f"until takes data and selectors, not {len(inputs)} streams")
        data, selector = inputs
        expect(
            selector.element == Selector(1) and selector.rank == 0,
            f"the second stream must be [N] of {Selector(1)}, not {selector}",
        )
        length, *inner = data.shape
        key = "until", *names.drivers[SELECTOR]
        (count,) = names.shared((*key, length), lambda: (names.symbol("D0"),))
        kept = (names.apart(each, (*key, each), str(each)) for each in inner)  # as some tensors are dropped
        return (StreamType(data.element, (count, *kept)),)

    def fault_ports(self, fault: Fault, inputs: int) -> tuple[int, ...]:
        return (SELECTOR,)

    def fault_text(self, fault: Fault) -> str:
        return "its selectors end before they say which tensor is the last"


@stream_method
def until(stream: Stream, selector: Stream, *, name: str | None = None) -> Stream:
    """The tensors of this stream up to the first one whose ``selector`` selects nothing."""
    return stream.graph.add(Until(), [stream, selector], name=name)[0]


def sample(draft: Draft) -> None:
    """A stream that may end before its last tensor."""
    if piece := draft.pick(lambda each: not each.timed):
        which = draft.selectors(1, [int(not draft.chance(0.2)) for _ in piece.nested], piece.stream.shape[:1])
        draft.keep(draft.read(piece).until(draft.read(which)), timed=False)
