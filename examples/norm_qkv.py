"""RMSNorm and the projections behind it, q, k, v = norm(x) (Wq, Wk, Wv), with fewer heads of k and v than of q.

The weights are read from memory once, and stay on chip: every tile of rows ``[rows, hidden]`` reads them there
(`step_models.projection`).
"""

from __future__ import annotations

from step import FabricConfig, MemoryConfig, Program
from step_models import projection


def program(
    tokens: int = 8,
    hidden: int = 64,
    heads: int = 4,
    groups: int = 2,
    head: int = 16,
    *,
    rows: int = 4,
    depth: int = 16,
    columns: int = 16,
) -> Program:
    """The norm and the projections of ``tokens`` rows: ``heads`` heads of q, and ``groups`` of k and v."""
    return projection.program(
        tokens,
        hidden,
        heads,
        groups,
        head,
        rows=rows,
        depth=depth,
        columns=columns,
        fabric=FabricConfig(link_bytes=32, matmul_lanes=32, memory=MemoryConfig(beat_bytes=32)),
        name="norm_qkv",
    )
