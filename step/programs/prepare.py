"""Programs as runs, comparisons and measurements are given them, and as back ends take them: `Prepared`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from step.errors import FabricError, FormatError
from step.host.paths import named_file
from step.language.graph import Graph
from step.language.location import is_of_user
from step.language.validate import check
from step.lowering.fabric import FabricConfig
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist, lower_checked
from step.programs.data.inputs import BoundInputs, as_data, bind_inputs
from step.programs.data.npz import load_inputs
from step.programs.program import Program, load_program, with_inputs

Inputs = Mapping[str, Any] | BoundInputs | Path | str
"""Data by name, or the name of an .npz file (docs/inputs.md)."""

Openable = Program | Graph | Path | str
"""A program, a graph without data, or the name of a file as the command line takes it (see `load_program`)."""


class ProgramWarning(UserWarning):
    """Doubts about a program: a load that races with a store, a stream that nobody reads.

    `run`, `compare` and `metrics` warn of what ``step check`` tells, each with the lines of the program that it is
    about. ``"error"`` makes errors of these, ``"ignore"`` nothing.

    >>> import warnings
    >>> warnings.simplefilter("ignore", step.ProgramWarning)
    """


@dataclass(eq=False)
class Prepared:
    """``graph`` on ``fabric`` with data, as all back ends take it: checked, lowered and bound once, when first asked.

    So who needs less pays for less, and everybody raises what is wrong at the place where it is needed.
    """

    graph: Graph
    given: Mapping[str, Any] | BoundInputs = field(repr=False)
    fabric: FabricConfig

    @cached_property
    def doubts(self) -> list[str]:
        """Doubts about the graph; raises `GraphError` for what is wrong (see `check`)."""
        return check(self.graph)

    @cached_property
    def netlist(self) -> Netlist:
        """Units and channels; raises what `step.lowering.netlist.lower` and `memory_map` raise."""
        _ = self.doubts
        netlist = lower_checked(self.graph, self.fabric)
        memory_map(netlist)
        return netlist

    @cached_property
    def data(self) -> BoundInputs:
        """The data of tensors and sources; raises `InputError`."""
        return bind_inputs(self.graph, self.given)

    def warn(self) -> None:
        """A `ProgramWarning` for all that is doubtful, at the line of the user that led here."""
        for text in self.doubts:
            warn(text)


def prepare(
    program: Openable | Netlist | Prepared, inputs: Inputs | None = None, fabric: FabricConfig | None = None
) -> Prepared:
    """``program`` for back ends, with ``inputs`` and ``fabric`` in the place of its own; what is prepared stays so.

    Raises what `open_program` raises, and `FabricError` for a netlist that was made for another fabric.
    """
    if isinstance(program, Prepared):
        return program
    if isinstance(program, Netlist):
        if fabric not in (None, program.fabric):
            raise FabricError("the netlist was made for another fabric; lower the graph again")
        prepared = Prepared(program.graph, _data(inputs, program.graph), program.fabric)
        prepared.netlist = program
        return prepared
    if isinstance(program, Graph):
        return Prepared(program, _data(inputs, program), fabric or FabricConfig())
    opened = open_program(program, inputs=inputs, fabric=fabric)
    return Prepared(opened.graph, opened.inputs, opened.fabric)


def open_program(program: Openable, *, inputs: Inputs | None = None, fabric: FabricConfig | None = None) -> Program:
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
    return program if inputs is None else with_inputs(program, as_data(_data(inputs, program.graph)))


def warn(text: str) -> None:
    """A `ProgramWarning` at the line of the user that led here."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and not is_of_user(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, ProgramWarning, stacklevel=depth)


def _data(inputs: Inputs | None, graph: Graph) -> Any:
    """Data by name."""
    if isinstance(inputs, Path | str):
        return load_inputs(named_file(inputs, "input data"), graph)
    return {} if inputs is None else inputs
