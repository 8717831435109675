"""Files about a program that fails: the program, and a report beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from step.errors import FormatError
from step.host.files import write_atomically
from step.host.paths import named_file
from step.host.sources import source_digest
from step.programs.files.json_file import format_of, json_bytes, read_json
from step.programs.program import Program


@dataclass(frozen=True)
class FuzzFinding:
    """A disagreement of ``kind`` and its ``text``, and the ``program`` that has it, as small as it could be made.

    ``seeds`` are those of the programs that stand side by side in it, for RTL, or the one of it; ``fabric`` that of the
    fabric.
    """

    seeds: tuple[int, ...]
    fabric: int
    operators: tuple[int, int]
    rtl: bool
    kind: str
    text: str
    program: Program | None

    @property
    def name(self) -> str:
        return ("rtl-" if self.rtl else "") + f"seed-{self.seeds[0]}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the schema ``fuzz`` describes it."""
        file = None if self.program is None else f"{self.name}.json"
        return {"format": format_of("fuzz"), "version": version(), **vars(self), "program": file}

    def save(self, directory: Path | str) -> Path:
        """Write the report, and the program beside it, to ``directory``; returns the path of the report."""
        directory = named_file(directory, "a directory")
        if self.program is not None:
            self.program.save(directory / f"{self.name}.json")
        path = directory / f"{self.name}.report.json"
        write_atomically(path, json_bytes(self.to_json()))
        return path


def load_report(path: Path | str) -> dict[str, Any]:
    """The report in ``path`` as plain data; raises `FormatError` for other files, and for those of other versions."""
    path = named_file(path, "a report")
    data: dict[str, Any] = read_json(path, "fuzz")
    if data["version"] != version():
        file = data["program"]
        hint = f"; the program itself can be run: step compare {path.parent / file}" if file else ""
        raise FormatError(
            f"{path} was written by version {data['version']} of the generator, and this is {version()}, "
            f"whose seeds give other programs{hint}"
        )
    return data


@cache
def version() -> str:
    """The version of the package, and a digest of the generator: with another one a seed gives another program."""
    return f"{version_of('step-fabric')}+{source_digest('fuzz')[:8]}"
