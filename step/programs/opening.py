"""The subject of a run, a comparison or a measurement, as a `Program`."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from step.errors import FormatError
from step.host.paths import named_file
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.programs.inputs import BoundInputs, as_data
from step.programs.npz import load_inputs
from step.programs.program import Program, load_program

Inputs = Mapping[str, Any] | BoundInputs | Path | str
"""Data by name, or the name of an .npz file (docs/inputs.md)."""

Openable = Program | Graph | Path | str
"""A program, a graph without data, or the name of a file as the command line takes it (see `load_program`)."""


def open_program(
    program: Openable,
    *,
    inputs: Inputs | None = None,
    fabric: FabricConfig | None = None,
) -> Program:
    """``program`` as a `Program`, with ``inputs`` and ``fabric`` in the place of its own where they are given.

    Other inputs have other outputs, so nothing is expected of these then. Raises `FormatError` for what is no program,
    and what `load_program` raises.
    """
    if isinstance(program, Graph):
        program = Program(program)
    elif isinstance(program, Path | str):
        program = load_program(str(program))
    elif not isinstance(program, Program):
        raise FormatError(f"a program must be a Program, a Graph or the name of a file, not {program!r}")
    if fabric is not None:
        program = replace(program, fabric=fabric)
    if inputs is not None:
        program = replace(program, inputs=_data(inputs, program.graph), expected={}, tolerance=0.0)
    return program


def _data(inputs: Inputs, graph: Graph) -> MutableMapping[str, Any]:
    if isinstance(inputs, Path | str):
        return load_inputs(named_file(inputs, "input data"), graph)
    return as_data(inputs)
