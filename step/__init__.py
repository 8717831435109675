"""Streaming tensor programs: the language.

A program is a `Graph` of operators joined by streams of tiles with stop tokens. `interpret` says what it means,
`metrics` what it costs; the other floors turn it into RTL and time it.
"""

from __future__ import annotations

from step import functions, ops
from step.errors import StepError
from step.language.dims import Dim, DimKind
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32, DType
from step.language.graph import Graph, Tensor
from step.language.stream import Stream
from step.language.types import Buffer, Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig, MemoryConfig
from step.lowering.netlist import lower
from step.programs.metrics import metrics
from step.programs.program import Program, load_program
from step.programs.spellings import bits, masks
from step.running.binding import bind
from step.running.comparing import compare
from step.running.interpreter import interpret
from step.running.run import Run, run

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
    "Run",
    "Selector",
    "StepError",
    "Stream",
    "Tensor",
    "Tile",
    "Tuple",
    "bind",
    "bits",
    "compare",
    "functions",
    "interpret",
    "load_program",
    "lower",
    "masks",
    "metrics",
    "ops",
    "run",
]
