"""Symbols get their values from input data: run the program, and measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from step.language.graph import Graph
from step.language.symbols import measure
from step.running.interpreter import interpret


def bind(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Value of every symbol of ``graph`` on ``inputs``: name -> extent (ragged: total extent)."""
    return measure(graph, interpret(graph, inputs).checkers)
