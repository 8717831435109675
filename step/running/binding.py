"""Symbols get their values from input data: run the program, and measure."""

from __future__ import annotations

from step.errors import UnboundSymbol
from step.language.dims import DimKind
from step.language.symbols import evaluate, measure
from step.programs.prepare import Inputs, Openable, open_program
from step.running.interpreter import interpret


def bind(program: Openable, inputs: Inputs | None = None) -> dict[str, int]:
    """Value of every symbol of ``program`` on its own data, or on ``inputs``: name -> extent (ragged: total extent).

    Raises `UnboundSymbol` where data shows only a sum or a product of several symbols.

    >>> step.bind(program), step.bind(graph, {"x": [[1, 2, 3]]})
    ({'N': 2}, {'N': 1})
    """
    opened = open_program(program, inputs=inputs)
    checkers = interpret(opened.graph, opened.inputs).checkers
    values = measure(opened.graph, checkers)
    for stream in opened.graph.streams():
        for dim, seen in zip(reversed(stream.shape), checkers[str(stream)].extents, strict=True):
            if dim.kind is DimKind.DYNAMIC and seen and {evaluate(dim.extent, values, opened.graph)} != seen:
                names = ", ".join(sorted(str(each) for each in dim.extent.free_symbols))
                raise UnboundSymbol(f"the data shows that {dim} is {min(seen)}, but not what each of {names} is")
    return values
