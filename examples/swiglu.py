"""One SwiGLU expert, y = (silu(x Wg) * (x Wu)) Wd, and a sweep over its tile sizes.

Everything is at the fabric's scale: a tile of rows, ``[rows, D]``, is one token; the weights stream by in tiles of
``[inner, columns]``, and the loops over them are dimensions of the streams (`step_models.swiglu`).
"""

from __future__ import annotations

from step import FabricConfig, Program
from step_models import swiglu


def program(
    batch: int = 16, hidden: int = 64, inner: int = 64, rows: int = 4, depth: int = 16, columns: int = 16
) -> Program:
    """The expert on a batch [batch, hidden], in tiles of ``rows`` rows."""
    return swiglu.program(
        batch,
        hidden,
        inner,
        rows=rows,
        depth=depth,
        columns=columns,
        fabric=FabricConfig(),
        name=f"swiglu_rows{rows}_columns{columns}",
    )


def sweep() -> list[Program]:
    """Row tiles of 1, 2 and 4 rows, times weight tiles of 8 and 16 columns: fewer rows read the weights more often."""
    return [program(rows=rows, columns=columns) for rows in (1, 2, 4) for columns in (8, 16)]
