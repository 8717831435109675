"""Accum: reduces the inner dimensions of one or more streams of equal shape."""

from __future__ import annotations

from step.language.dims import Dim, DimKind, Shape, at_most_one, element_count, mean, product
from step.language.draft import Draft
from step.language.function import AccumFunction
from step.language.operator import Names, Placed, StreamType
from step.language.reduction import _Reduction
from step.language.stream import Stream, stream_method
from step.language.types import Tile, is_dynamic


class Accum(_Reduction):
    """Reduces the inner ``rank`` dimensions with ``function``; an empty reduction emits its initial state.

    An empty of a rank above ``rank`` holds no reduction at all: it stays an empty, of the dimensions that are left.

    >>> graph = Graph("accum")
    >>> x = graph.source("x", Tile(FP32), [2, 3])
    >>> x.accum(Add()).sink("sums")
    """

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        state, shape = self.state(inputs)
        if isinstance(state, Tile) and self.rows_kept(inputs) is not None:
            state = Tile(state.dtype, self._rows(state.rows, shape, names), state.cols)
        return (StreamType(state, shape[: -self.rank]),)

    def makes_rows(self, node: Placed) -> bool:
        return is_dynamic(node.output_types[0].element) and self.rows_kept(node.input_types) is None

    def _rows(self, rows: Dim, shape: Shape, names: Names) -> Dim:
        """Rows of the states of all reductions; one has the ``rows`` of its elements, or none without any.

        Reductions of streams of one ``shape`` have the same ones.
        """
        inner = shape[-self.rank :]
        if any(each.is_ragged for each in inner) or (product(inner) == 0 and not rows.is_ragged):
            key = ("accum", rows, shape, self.rank)
            (all_rows,) = names.shared(key, lambda: (names.symbol("rows", DimKind.RAGGED),))
            return mean(all_rows.extent, element_count(shape[: -self.rank]))
        # All reductions have as many elements: if none, there are no ragged rows at all.
        return rows if rows.is_ragged else Dim(rows.extent * at_most_one(product(inner)), rows.kind)

    @property
    def distinct(self) -> int:
        """Bound of the indices of a reduction, which differ from each other; 0: it has none."""
        return self.function.bound(0) if self.function.indices else 0


@stream_method
def accum(stream: Stream, function: AccumFunction, *others: Stream, rank: int = 1, name: str | None = None) -> Stream:
    """Reduce the inner ``rank`` dimensions of this stream and ``others``, which have the same shape."""
    return stream.graph.add(Accum(function, rank), [stream, *others], name=name)[0]


WEIGHT = 8


def sample(draft: Draft) -> None:
    """Any function, over any innermost dimensions."""
    if piece := draft.pick(lambda each: each.rank > 0):
        rank = draft.random.randint(1, piece.rank)
        reduced = piece.stream.shape[-rank:]
        state = lambda function, *elements: function.state_type(reduced, *elements)  # noqa: E731
        if found := draft.applied(piece, AccumFunction, state):
            function, (first, *others) = found
            draft.keep(first.accum(function, *others, rank=rank), timed=piece.timed)
