"""Reassemble: gathers chunks from the streams that selectors name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from step.language.chunks import common_chunk, expect_equal_chunks, together
from step.language.dims import DimKind
from step.language.faults import Fault, Violation
from step.language.graph import Graph, graph_method
from step.language.operator import (
    Kind,
    Names,
    Operator,
    Placed,
    Process,
    StreamType,
    Surroundings,
    expect,
)
from step.language.stream import Stream
from step.language.tokens import empty
from step.language.types import Selector

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

    kind = Kind.ROUTING

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) >= 2, f"reassemble takes data and selectors, not {len(inputs)} streams")
        *data, selector = inputs
        expect(isinstance(selector.element, Selector), f"the last stream must carry selectors, not {selector.element}")
        expect(
            selector.element == Selector(len(data)),
            f"{len(data)} data streams need Selector({len(data)}), not {selector.element}",
        )
        expect_equal_chunks(data, self.rank)
        chosen = names.symbol("selected", DimKind.RAGGED)
        inner = common_chunk(data, names)
        return (together(data, (*selector.shape, chosen, *inner), names),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        count = len(node.input_types) - 1
        arrivals = around.arrivals() if self.order == "arrival" else ()
        taken = 0
        while True:
            selector = yield count
            if selector.done:
                break
            end = self.rank + 1 + selector.stop
            if selector.is_empty:
                around.emit(0, empty(self.rank + 1 + selector.rank, end))
                continue
            chosen = [port for port in range(count) if selector.value >> port & 1]
            if not chosen:
                around.emit(0, empty(self.rank + 1, end))
            while chosen:
                port = arrivals[taken] if taken < len(arrivals) else chosen[0]
                while True:
                    token = yield port
                    taken += 1
                    if token.done:
                        raise Violation(Fault.MISSING_DATA)
                    ends = token.stop >= self.rank
                    around.emit(0, token._replace(stop=end) if ends and len(chosen) == 1 else token)
                    if ends:
                        break
                chosen.remove(port)
        around.emit(0, selector)
        last = []
        for port in range(count):
            last.append((yield port))
        if not all(token.done for token in last):
            raise Violation(Fault.LEFTOVER_DATA)

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
