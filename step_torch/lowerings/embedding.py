"""Rows of a table by their numbers: of tokens, or of positions. They give whole rows."""

from __future__ import annotations

from typing import Any

from step import BF16
from step_torch.importing import Importer
from step_torch.layouts import TileLayout, Value, whole
from step_torch.registry import lowers
from step_torch.sources import Stored, supported


@lowers("aten.embedding.default")
def embedding(
    at: Importer,
    table: Any,
    numbers: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    """Row ``numbers`` of the table."""
    supported(isinstance(table, Stored) and table.is_parameter, "the table is no parameter of the module")
    supported(isinstance(numbers, Stored), "numbers of rows that are computed")
    stream = at.sources.embedded(table, numbers)
    axes = at.axes(at.node.name, at.meta.shape)
    columns = axes[-1][0] if axes[-1] else None
    supported(not any(axes[:-1]), "several rows at once; one has a lowering")
    return Value(stream, axes, TileLayout((), at.sources.rows, whole(columns)), BF16)
