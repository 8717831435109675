"""A file of programs with parameters, for sweeps."""

from __future__ import annotations

PROGRAM = """
from step import FP32, Graph, Program, Tile
from step.functions import Add, Mul

def program(rows=2, deep=True, kind="plain", scale=1.0):
    if rows == 7:
        raise ValueError("seven")
    graph = Graph(f"sums{rows}")
    x = graph.source("x", Tile(FP32), [graph.symbol("N"), 3])
    x.buffered(4 if deep else 2).accum(Add()).sink("y")
    return Program(graph, {"x": [[scale] * 3] * rows})

def stuck(room=2):
    graph = Graph("stuck")
    rows = graph.source("rows", Tile(FP32), [2, 9])
    sums = rows.accum(Add()).reshape(1)[0].expand(rows.buffered(room))
    rows.buffered(room).map(Mul(), sums).sink("y")  # a row waits for its sum
    return Program(graph, {"rows": [[1] * 9] * 2})
"""
