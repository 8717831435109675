"""Symbols get their values from input data: run the program, and measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from step.graph import Graph
from step.interpreter import interpret
from step.symbols import measure


def bind(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Value of every symbol of ``graph`` on ``inputs``: name -> extent (ragged: total extent)."""
    return measure(graph, interpret(graph, inputs).checkers)
