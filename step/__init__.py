"""Streaming tensor programs: the language.

A program is a `Graph` of operators joined by streams of tiles with stop tokens. `interpret` says what it means,
`metrics` what it costs; the other floors turn it into RTL and time it.
"""

from __future__ import annotations

from step import functions, ops
from step.binding import bind
from step.dims import Dim, DimKind
from step.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32, DType
from step.errors import StepError
from step.fabric import FabricConfig, MemoryConfig
from step.graph import Graph, Tensor
from step.interpreter import interpret
from step.metrics import metrics
from step.netlist import lower
from step.program import Program, load_program
from step.stream import Stream
from step.types import Buffer, Selector, Tile, Tuple

__all__ = [
    "BF16",
    "BOOL",
    "FP32",
    "INT8",
    "INT32",
    "UINT32",
    "Buffer",
    "DType",
    "Dim",
    "DimKind",
    "FabricConfig",
    "Graph",
    "MemoryConfig",
    "Program",
    "Selector",
    "StepError",
    "Stream",
    "Tensor",
    "Tile",
    "Tuple",
    "bind",
    "functions",
    "interpret",
    "load_program",
    "lower",
    "metrics",
    "ops",
]
