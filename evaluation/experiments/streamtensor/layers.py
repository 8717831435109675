"""Intermediates of a layer of StreamTensor's models that joins keep on chip, of a prompt that goes through at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from experiments.rows import digest
from experiments.streamtensor import models
from experiments.streamtensor.models import GROUP, MODELS, module_of
from experiments.work import Experiment
from step_torch import Tiling
from step_torch.imported import Imported, load
from step_torch.sources import STREAMS

ROWS = 128
"""Tokens of the prompt."""
ON_CHIP = 1 << 17
"""Bytes that a buffer may have: what is larger, as keys and values of many heads, goes through memory, as a cache."""
LARGE = ("quantized_linear", "attention")
"""Products and attention: what would be written if all else were part of these."""
MOVES = ("view", "permute", "transpose", "clone", "split", "slice", "expand", "unsqueeze", "cat", "alias", "_to_copy")
"""Operators that only move data, or copy them to another format."""


@dataclass(frozen=True)
class Point:
    """A layer of a model of `MODELS`."""

    name: str


def layers() -> Iterator[Point]:
    """A layer of each."""
    return map(Point, MODELS)


def measured(point: Point) -> dict[str, object]:
    """Bytes that joins hold, also where all may stay on chip, and those of the results of operators."""
    import torch

    import step_torch

    made = module_of(replace(MODELS[point.name], captured=1)).to(torch.bfloat16).eval()
    step_torch.quantize(made, weights=4, group=GROUP)
    rows = torch.randn(1, ROWS, MODELS[point.name].hidden, dtype=torch.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        args = rows, *step_torch.tables(made, range(ROWS))
        path = step_torch.capture(step_torch.Layers(made), args, Path(folder) / "layer.pt2")
        imported, whole = (load(path, tiling=each) for each in (Tiling(on_chip=ON_CHIP), Tiling()))
    results = _bytes_by_operator(imported)
    return {
        "rows": ROWS,
        "joins": len(imported.joins()),
        "held": sum(each.bytes for each in imported.joins()),
        "whole": sum(each.bytes for each in whole.joins()),
        "computed": sum(size for name, size in results.items() if name not in MOVES),
        "large": sum(results[name] for name in LARGE),
    }


def _bytes_by_operator(imported: Imported) -> dict[str, int]:
    """Bytes of the results of operators of torch, by their names."""
    found = dict[str, int]()
    for node in imported.nodes.nodes:
        name = node.op.split(".")[1]
        metas = (imported.nodes.metas.get(each) for each in node.results)
        sizes = (prod(each.shape) * STREAMS[each.dtype].bytes for each in metas if each and each.dtype in STREAMS)
        found[name] = found.get(name, 0) + sum(sizes)
    return found


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("torch", __file__, models.__file__)


COLUMNS = (
    *("point", "rows", "joins", "held", "whole", "computed", "large"),
    *("cpu_seconds", "sources", "version"),
)
CAMPAIGN = Experiment(
    "streamtensor", COLUMNS, {"layers": layers}, measured, sources, lambda row: f"{int(row['held']):,} bytes held"
)
