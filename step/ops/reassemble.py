"""Reassemble: gathers chunks from the streams that selectors name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from step.language.chunks import common_chunk, expect_equal_chunks, together
from step.language.dims import DimKind
from step.language.draft import HIGHEST_RANK, Draft
from step.language.expecting import expect_selectors
from step.language.faults import Fault
from step.language.graph import Graph, graph_method
from step.language.operator import Names, Operator, Placed, StreamType, expect
from step.language.padding import Padding
from step.language.stream import Stream
from step.language.useful import merged

Order = Literal["arrival", "index"]


@dataclass(frozen=True)
class Reassemble(Operator):
    """Per selector, one chunk of rank ``rank`` from each selected input, never interleaved.

    Inputs 0 .. n-1 are the data, input n the selectors. ``order="arrival"`` takes the chunks in the order in which they
    become available (ties: lowest index), ``"index"`` in the order of the inputs. The last chunk's stop is raised by 1
    plus the selector's own; a selector of no target gives an empty tensor. Without times, arrival order is index order,
    unless the run replays the order of a timed one, as far as that came. Done goes on as soon as the selectors are
    done, and that of the data is taken afterwards, so that a loop can end.

    >>> graph = Graph("reassemble")
    >>> parts = [graph.source(name, Tile(FP32), [2]) for name in "ab"]
    >>> graph.reassemble(parts, graph.selectors("which", 2, [4])).sink("y")
    """

    rank: int
    order: Order = "arrival"

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 2, f"reassemble takes data and selectors, not {len(inputs)} streams")
        *data, selector = inputs
        expect_selectors(selector, "last", len(data), "data streams")
        expect_equal_chunks(data, self.rank)
        chosen = names.symbol("selected", DimKind.RAGGED)
        return (together(data, (*selector.shape, chosen, *common_chunk(data, names)), names),)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        return (merged(node, inputs, range(len(inputs) - 1)),)

    def decides_on(self, inputs: int) -> Sequence[int]:
        return (inputs - 1,)

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return range(inputs - 1)

    def arrival_ports(self, inputs: int) -> Sequence[int]:
        return range(inputs - 1) if self.order == "arrival" else ()

    def fault_ports(self, fault: Fault, inputs: int) -> tuple[int, ...]:
        return tuple(range(inputs)) if fault is Fault.LEFTOVER_DATA else (inputs - 1,)


@graph_method
def reassemble(
    graph: Graph,
    inputs: Sequence[Stream],
    selector: Stream,
    *,
    rank: int = 0,
    order: Order = "arrival",
    name: str | None = None,
) -> Stream:
    """Gather, per selector, one chunk of rank ``rank`` from each of the ``inputs`` that it names."""
    return graph.add(Reassemble(rank, order), [*inputs, selector], name=name)[0]


WEIGHT = 2


def sample(draft: Draft) -> None:
    """Chunks from anywhere, for selectors that take them all."""
    if first := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK - 1):
        others = [each for each in draft.pool if not each.timed and each.has_chunks_of(first)] or [first]
        pieces = [first, *draft.random.choices(others, k=draft.random.randint(0, 2))]
        left, masks = [len(each.nested) for each in pieces], list[int]()
        while any(left) or draft.chance(0.2):
            chosen = [port for port, count in enumerate(left) if count and not draft.chance(0.4)]
            masks.append(sum(1 << port for port in chosen))
            for port in chosen:
                left[port] -= 1
        rank = draft.random.choice([0, 0, 1, 2]) if first.rank < 3 else 0
        nested = draft.grouped(masks, rank)
        outermost = len(nested) if draft.chance(0.3) else draft.graph.symbol(draft.name("N"))
        dims = [outermost, *(draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(rank))]
        which = draft.selectors(len(pieces), nested, dims)
        draft.gather([draft.read(each) for each in pieces], which, first.rank, timed=False)
