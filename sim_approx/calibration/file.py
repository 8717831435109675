"""A calibration as a file: what was measured, on which fabric, by which tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sim_approx.calibration.entries import HeldOut, PlainMemory, Unit
from step.errors import FabricError
from step.host.files import write_atomically
from step.host.paths import named_file
from step.host.sources import source_digest
from step.lowering.fabric import OWN, FabricConfig
from step.programs.files.json_file import header, json_bytes, read_json

PARAMETERS = ("matmul_lanes", "vector_lanes", "stages", "link_bytes", "arithmetic")
"""Of the fabric: what the cycles of functions depend on. The rules of the fast model know the others."""


def rtl_digest() -> str:
    """Digest of the RTL as it is now."""
    return source_digest("rtl")[:16]


def parameters_of(fabric: FabricConfig) -> dict[str, Any]:
    """The `PARAMETERS` of ``fabric``."""
    return {name: getattr(fabric, name) for name in PARAMETERS}


@dataclass
class Calibration:
    """Entries by what they are of, for fabrics with these `PARAMETERS`; ``path`` is the file.

    ``seed`` is that of the numbers in the micro-programs, ``tools`` are versions.
    """

    path: Path
    fabric: Mapping[str, Any]
    seed: int = 0
    tools: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    memory: PlainMemory | None = None
    held_out: dict[str, HeldOut] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str) -> Calibration:
        """The calibration in ``path``; raises `FormatError` for other files."""
        path = named_file(path, "a calibration")
        data = read_json(path, "calibration")
        units = [Unit.from_json(each) for each in data["units"]]
        return cls(
            path,
            data["fabric"],
            data["seed"],
            data["tools"],
            data["date"],
            {each.applied.key: each for each in units},
            data["memory"] and PlainMemory(**data["memory"]),
            {each["program"]: HeldOut(**each) for each in data["held_out"]},
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the schema ``calibration`` describes it."""
        return {
            **header("calibration"),
            "date": self.date,
            "seed": self.seed,
            "tools": dict(self.tools),
            "fabric": dict(self.fabric),
            "units": [each.to_json() for each in self.units.values()],
            "memory": self.memory and asdict(self.memory),
            "held_out": [asdict(each) for each in self.held_out.values()],
        }

    def save(self) -> None:
        """Write the file, all of it or nothing; raises `OSError` where that can not be."""
        write_atomically(self.path, json_bytes(self.to_json()))

    def check_fabric(self, fabric: FabricConfig) -> None:
        """Raise `FabricError` unless this is a calibration of ``fabric``, whose operators have no parameters of their
        own."""
        for kind in OWN:
            for name in getattr(fabric, kind):
                raise FabricError(
                    f"{self.path} is of a fabric whose operators have the same {kind}, and this one has {kind}.{name}; "
                    "run it without a calibration, by formulas"
                )
        for name, value in parameters_of(fabric).items():
            if self.fabric[name] != value:
                raise FabricError(
                    f"{self.path} is of a fabric with {name} = {self.fabric[name]}, and this one has {value}; "
                    "measure this one into another file: "
                    f"step calibrate PROGRAM --set fabric.{name}={value} -o OTHER.json"
                )

    def check_memory(self, fabric: FabricConfig) -> None:
        """Raise `FabricError` unless the memory that was measured, if any, is that of ``fabric``."""
        measured = {} if self.memory is None else self.memory.parameters
        for name, value in measured.items():
            wanted = getattr(fabric.memory, name)
            if wanted != value:
                raise FabricError(
                    f"{self.path} is of a memory with {name} = {value}, and this one has {wanted}; measure this one "
                    f"into another file: step calibrate PROGRAM --set memory.{name}={wanted} -o OTHER.json"
                )
