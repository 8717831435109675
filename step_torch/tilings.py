"""Tilings that an import can have: tiles, steps of the depth, sums, products side by side, and what is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from step import FabricConfig, Program
from step.errors import InputError, expect
from step.host.nearest import among
from step.lowering.fabric import with_settings
from step.lowering.settings import check_settings
from step_explore.fitting.fitter import as_wide
from step_explore.sweeps.axis import Axis, Point, Value
from step_models.fabrics import PUBLISHED
from step_torch.archive import read_archive
from step_torch.choosing import products
from step_torch.generating import LanguageModel, is_step
from step_torch.imported import load
from step_torch.layouts import fitting
from step_torch.nodes import Nodes, nodes_of
from step_torch.tiling import Tiling

LINKS = 256
"""Bytes of the widest links and ports of memory."""

NAMES = ("rows", "columns", "depth", "sum", "side_by_side", "heads", "held", "cache_rows")
"""The parameters of `Tiling` that are chosen; a depth of 0 is all of it."""

WRITTEN = 2
"""Tokens that a whole language model writes."""

MOST_ROWS = (4, 8, 16, 32, 64)
ROWS = 3
"""So many numbers of rows are tried, the largest near these."""

FIRST, TIMES, MOST_COLUMNS = 16, 4, 1024
"""Columns that are tried: the first, and so many times more up to the widest weight."""


@dataclass(frozen=True)
class Tilings:
    """Programs of the captured module at ``path`` with any of its tilings, on a fabric of so many ``bytes_per_cycle``
    (None: those that an import comes with) and ``settings``."""

    path: Path
    bytes_per_cycle: float | None = None
    settings: tuple[str, ...] = ()

    def program(self, point: Point) -> Program:
        """The program at ``point``, on the widest hardware; raises as `load`."""
        if is_step(nodes_of(read_archive(self.path))):
            model = LanguageModel.load(self.path)
            program = model.program(model.begins(), WRITTEN, tiling=tiling(point))
        else:
            program = load(self.path, tiling=tiling(point)).program
        return replace(program, fabric=self.fabric(program.fabric))

    def fabric(self, fabric: FabricConfig = PUBLISHED) -> FabricConfig:
        """``fabric`` with the widest links, and what was given; raises `FabricError`, and `InputError` for what one
        setting leaves nothing of."""
        bandwidth = [] if self.bytes_per_cycle is None else [f"memory.bandwidth={self.bytes_per_cycle:g}"]
        check_settings([*bandwidth, *self.settings])
        return with_settings(as_wide(with_settings(fabric, bandwidth), LINKS), self.settings)

    def axes(self, over: Mapping[str, Sequence[Value]]) -> list[Axis]:
        """The values of every parameter that has several: those of ``over``, else those that the module can have.

        Raises `InputError` for other parameters.
        """
        for name in over:
            expect(name in NAMES, f"an import has no choice of {name!r}; {among(name, NAMES, 'there are')}", InputError)
        found: dict[str, Sequence[Value]] = {**self._derived(), **over}
        return [Axis(name, tuple(values)) for name, values in found.items()]

    def _derived(self) -> dict[str, list[Value]]:
        """Values that divide what the module has."""
        nodes = nodes_of(archive := read_archive(self.path))
        found = products(nodes, archive.weights)
        depths, widths = [each.depth for each in found], [each.columns for each in found]
        columns = [FIRST]
        while columns[-1] < min(max(widths, default=FIRST), MOST_COLUMNS):
            columns.append(columns[-1] * TIMES)
        return {
            "rows": [*_rows(nodes)],
            "columns": [*columns],
            "depth": [0, FIRST] if max(depths, default=0) > FIRST else [0],
            "sum": ["ordered", "fused"],
            "side_by_side": [1, TIMES] if widths else [1],
            "held": [False, True] if widths else [True],
        }


def _rows(nodes: Nodes) -> list[int]:
    """Rows of a tile that fit those of the first input."""
    *outer, _ = nodes.metas[nodes.inputs[0]].shape
    extent = next((each for each in reversed(outer) if each > 1), 1)
    return sorted({fitting(extent, each) for each in MOST_ROWS})[-ROWS:]


def tiling(point: Point) -> Tiling:
    """The tiling at ``point``."""
    return Tiling(**{**point, **({"depth": point["depth"] or None} if "depth" in point else {})})  # type: ignore[arg-type]
