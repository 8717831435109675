"""Symbols get their values from input data: run the program, and measure."""

from __future__ import annotations

from step.language.symbols import measure
from step.programs.opening import Inputs, Openable, open_program
from step.running.interpreter import interpret


def bind(program: Openable, inputs: Inputs | None = None) -> dict[str, int]:
    """Value of every symbol of ``program`` on its own data, or on ``inputs``: name -> extent (ragged: total extent)."""
    opened = open_program(program, inputs=inputs)
    return measure(opened.graph, interpret(opened.graph, opened.inputs).checkers)
