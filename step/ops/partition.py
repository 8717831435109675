"""Partition: routes chunks of a stream to the outputs that selectors name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.language.dims import format_shape, if_equal
from step.language.draft import Draft
from step.language.expecting import expect_selectors
from step.language.operator import Names, Operator, Placed, StreamType, expect, expect_rank
from step.language.padding import UNKNOWN, Padding, has_padding
from step.language.stream import Stream, stream_method

DATA, SELECTOR = 0, 1


@dataclass(frozen=True)
class Partition(Operator):
    """Per selector, the data up to the first stop >= ``rank`` (rank 0: one element) goes to every selected output.

    There it ends with a stop of level ``rank``: the outer structure is dropped. A selector of no target drops the
    chunk; an empty of the selectors stands for an empty of the data that has ``rank`` more dimensions.

    The same selector stream gives the same symbols to every Partition that it drives.

    >>> graph = Graph("partition")
    >>> x, which = graph.source("x", Tile(FP32), [4]), graph.selectors("which", 2, [4])
    >>> for name, part in zip("ab", x.partition(which, targets=2)): part.sink(name)
    """

    rank: int
    targets: int

    control = (SELECTOR,)
    data = (DATA,)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(str(target) for target in range(self.targets))

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) == 2, f"partition takes data and selectors, not {len(inputs)} streams")
        data, selector = inputs
        expect_selectors(selector, "second", self.targets, "outputs")
        expect_rank(self.rank, 0, data.rank)
        outer = data.shape[: len(data.shape) - self.rank]
        expect(
            selector.shape == outer,
            f"with rank {self.rank} there must be one selector per element of {format_shape(outer)}, "
            f"but the selectors are {format_shape(selector.shape)}{if_equal(outer, selector.shape)}",
        )
        inner, key = data.shape[len(data.shape) - self.rank :], ("partition", *names.drivers[SELECTOR])
        counts = names.shared(key, lambda: tuple(names.symbol(f"D{target}") for target in range(self.targets)))
        return tuple(
            StreamType(data.element, (count, *(names.apart(dim, (*key, at, dim), f"{dim}_{at}") for dim in inner)))
            for at, count in enumerate(counts)
        )

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        data, selectors = inputs
        kept = selectors is not None and selectors.flags and self.rank == 0  # by SelectValid: data is what is selected
        return (UNKNOWN if has_padding(data) and not kept else None,) * self.targets


@stream_method
def partition(
    stream: Stream, selector: Stream, *, targets: int, rank: int = 0, name: str | None = None
) -> tuple[Stream, ...]:
    """Route chunks of rank ``rank`` to ``targets`` streams as ``selector`` says."""
    return stream.graph.add(Partition(rank, targets), [stream, selector], name=name)


def sample(draft: Draft) -> None:
    """Chunks to targets, which go their own ways."""
    if piece := draft.pick():
        draft.route(piece)
