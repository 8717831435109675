"""Depths of a program's channels as a file, with the fabric and the data that they were found for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from step.errors import FormatError
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.programs.files.digest import data_digest, graph_digest
from step.programs.files.json_file import JsonFile
from step.programs.program import Program


@dataclass(frozen=True)
class DataSet:
    """Input data by its ``digest``, the ``cycles`` of a run with it, and its file, or None for the program's own."""

    name: str | None
    digest: str
    cycles: int


@dataclass(frozen=True)
class DepthBinding(JsonFile):
    """``depths`` of the channels of the lowered program, by name.

    ``most_rows``: of the tiles of dynamic size that begin at operators, by name, where channels behind these have room
    for fewer than the fabric allows. ``graph`` is a digest of the program called ``program``, ``fabric`` and ``data``
    what the depths were found for.
    """

    schema: ClassVar = "binding"
    noun: ClassVar = "a binding"

    program: str
    graph: str
    fabric: Mapping[str, Any]
    data: tuple[DataSet, ...]
    depths: Mapping[str, int]
    most_rows: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def _of_json(cls, data: Mapping[str, Any]) -> DepthBinding:
        """The opposite of `to_json`, for data that fits the schema."""
        return super()._of_json({**data, "data": tuple(DataSet(**each) for each in data["data"])})

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the schema describes it."""
        data = super().to_json()
        if not self.most_rows:
            del data["most_rows"]
        return data

    def applied(self, program: Program) -> Program:
        """``program`` with these depths; raises `FormatError` where they are those of another program."""
        if graph_digest(program.graph) != self.graph:
            raise FormatError(
                f"the depths are those of another program called {self.program}, or of {program.name} before it was "
                "changed: `step fifos` finds new ones"
            )
        return replace(program, graph=replace(program.graph, depths=dict(self.depths), most_rows=dict(self.most_rows)))

    def doubts(self, program: Program) -> Iterator[str]:
        """Why the depths may lose cycles, or deadlock, in a run of ``program``."""
        if program.fabric.to_json() != self.fabric:
            yield "the depths were found for another fabric: they may lose cycles, or deadlock"
        if program.inputs and not lower(program.graph, program.fabric).is_fixed:
            digest = data_digest(program.graph, bind_inputs(program.graph, program.inputs))
            if digest not in {each.digest for each in self.data}:
                rows = ", or have no room for the rows of its tiles" if self.most_rows else ""
                yield f"the depths were found for other data: they may lose cycles, or deadlock{rows}"
