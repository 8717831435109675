"""A stream that an operator from outside of the tree keeps back, which is a meaning and a rule."""

from __future__ import annotations

import numpy as np

from step import INT32, FabricConfig, Graph, Program, Tile


def program() -> Program:
    """Two rows of tiles of three words each, and a slow stream beside them."""
    graph = Graph("paced")
    pace = graph.source("pace", Tile(INT32), [2, 1]).expand_static(2)
    graph.source("tiles", Tile(INT32, 1, 3), [2, 2]).paced(pace).sink("passed")
    data = np.arange(12, dtype=np.int32).reshape(2, 2, 1, 3)
    return Program(graph, {"pace": [[1], [1]], "tiles": data}, FabricConfig(link_bytes=4))
