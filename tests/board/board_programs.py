"""A program with a load, a store and streams, small enough to be built for a test; docs/board.md has it too, so both
have one simulator in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program

FABRIC = FabricConfig(link_bytes=4, memory=MemoryConfig(beat_bytes=8))


def moved() -> Program:
    """A tensor is loaded and stored, and a ragged stream goes from memory to memory."""
    graph = Graph("moved")
    graph.load(graph.tensor("x", (8, 16), BF16), tile=(4, 16), name="load").store("y")
    graph.source("s", Tile(BF16, 1, 4), [2, graph.symbol("R", ragged=True)]).sink("t")
    return Program(graph, data(0), fabric=FABRIC)


def data(seed: int) -> dict[str, Any]:
    """Other rows and other numbers with each ``seed``."""
    random = np.random.default_rng(seed)
    rows = [random.integers(0, 4) for _ in range(2)]
    return {
        "x": random.integers(-99, 99, (8, 16)).astype(np.float32),
        "s": [[random.integers(-99, 99, (1, 4)).astype(np.float32) for _ in range(each)] for each in rows],
    }
