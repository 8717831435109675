"""Rows of a table by their numbers: of tokens, of positions, or of anything that data says. They give whole rows."""

from __future__ import annotations

from typing import Any

from step_torch import numbered
from step_torch.importing import Importer
from step_torch.layouts import TileLayout, Value, sizes, whole
from step_torch.lowerings.rows import largest, mean, total
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter, supported
from step_torch.views import in_shape


@lowers("aten.embedding.default")
def embedding(
    at: Importer, table: Any, numbers: Any, padding_idx: int = -1, scale_grad_by_freq: Any = False, sparse: Any = False
) -> Value:
    """Row ``numbers`` of the table."""
    supported(is_parameter(table), "the table is no parameter of the module")
    stream = at.sources.embedded(table, numbers) if isinstance(numbers, Stored) else None
    if stream is None:
        return numbered.rows(at, table, numbers)
    axes = at.axes(at.node.name, at.meta.shape)
    columns = axes[-1][0] if axes[-1] else None
    supported(not any(axes[:-1]), "several rows at once; one has a lowering")
    return Value(stream, axes, TileLayout((), at.sources.rows, whole(columns)), stream.element.tiles[0].dtype)


@lowers("aten._embedding_bag.default")
def embedding_bag(
    at: Importer, weight: Any, indices: Any, offsets: Stored, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Value]:  # fmt: skip
    """Sums, means or the largest of rows of the table, of bags with as many numbers each."""
    starts, count = offsets.data.tolist() if offsets.is_constant else [], sizes(indices.dims)[0]
    size = count // max(1, len(starts))
    is_even = starts == [*range(0, count, size)] and not include_last_offset
    supported(is_even, "bags of unlike sizes, or that data decides")
    supported(per_sample_weights is None, "weights of single rows")
    supported(padding_idx < 0, "rows that do not count (padding_idx); bags of which all count have a lowering")
    rows = numbered.rows(at, weight, in_shape(at, indices, (len(starts), size)))
    return ((total, mean, largest)[mode](at, rows, [1]),)
