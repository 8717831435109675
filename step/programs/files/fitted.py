"""The fabric that was fitted to a program, as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

from step.errors import FormatError
from step.lowering.fabric import FABRIC, OWN, FabricConfig, with_settings
from step.programs.files.digest import graph_digest
from step.programs.files.json_file import JsonFile
from step.programs.program import Program


@dataclass(frozen=True)
class FittedFile(JsonFile):
    """``settings`` of the fabric, by name, and ``depths`` of channels that were fitted to the program called
    ``program``, and the ``area`` and ``cycles`` that it has with them. ``graph`` is a digest of the program."""

    schema: ClassVar = "fitted"
    noun: ClassVar = "a fitted fabric"

    program: str
    graph: str
    settings: Mapping[str, float]
    cycles: int
    area: Mapping[str, int]
    depths: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, program: Program, fabric: FabricConfig, depths: Mapping[str, int], cycles: int, area: Mapping[str, int]
    ) -> FittedFile:
        """Settings that make ``fabric`` of the one that ``program`` has, with these ``depths``."""
        before, after = program.fabric.to_json(), fabric.to_json()
        changed = (
            name for name, value in after.items() if isinstance(value, int | float) and before.get(name) != value
        )
        settings = {f"{FABRIC}{name}": after[name] for name in changed}
        settings |= {f"{kind}.{name}": own for kind in OWN for name, own in getattr(fabric, kind).items()}
        return cls(program.name, graph_digest(program.graph), settings, cycles, dict(area), dict(depths))

    @property
    def text(self) -> str:
        """All of it in a line, which `of_text` reads."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of_text(cls, text: str) -> FittedFile:
        """Fitted fabric of this `text`."""
        return cls(**json.loads(text))

    def applied(self, program: Program) -> Program:
        """``program`` on this fabric, with these depths; raises `FormatError` where they are those of another one."""
        fabric = with_settings(program.fabric, self.of_program(program))
        depths = {**program.graph.depths, **self.depths}
        return replace(program, fabric=fabric, graph=replace(program.graph, depths=depths))

    def of_program(self, program: Program) -> Iterator[str]:
        """The settings as `step.lowering.fabric.with_settings` takes them; raises `FormatError` where they are those of
        another program."""
        if graph_digest(program.graph) != self.graph:
            raise FormatError(
                f"the fabric was fitted to another program called {self.program}, or to {program.name} before it was "
                "changed: `step fit` finds a new one"
            )
        return (f"{name}={value}" for name, value in self.settings.items())
